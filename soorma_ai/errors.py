"""The error tree. The class of an error decides what happens to the work in hand; nobody reads messages.

SoormaError
├── ConfigError               wrong set-up; raised before anything runs
│   └── ModelBlocked            a model refuses our set-up               -> the plan rests until an operator resumes it
├── ProtocolError             a rule of the conversation is broken     -> dead letter
│   ├── LocalProtocolError      by us
│   │   ├── IllegalTransition
│   │   └── InvalidResult         off the schema that its maker promised
│   └── RemoteProtocolError     by the peer
├── DecisionError             the model's answer is not usable         -> asked again, then the plan fails
│   ├── MalformedDecision
│   ├── UnknownEvent
│   ├── PayloadMismatch
│   ├── NotAllowed
│   └── InvalidPlan
├── ModelRefused              the model will not                       -> never asked again
├── ContentFiltered           the provider will not                    -> never asked again
├── LimitExceeded             a budget is spent                        -> never asked again
├── OutcomeUnknown            done or not, nobody knows                -> a person is asked
├── Held                      a person must approve the request first
├── NotFound                                                           -> dead letter
├── Unauthenticated           nobody knows who calls                   -> HTTP 401
├── Forbidden                 the caller may not                       -> HTTP 403
├── DeadlineExceeded                                                   -> dead letter
├── PlanFailed                what `result()` raises for a plan that did not complete
│   └── PlanCancelled
└── TransientError            may work next time                       -> again with back-off, then dead letter
    ├── BusUnavailable
    ├── StoreUnavailable
    ├── ServerUnavailable       a server of ours, which is called over HTTP
    ├── ModelUnavailable
    │   ├── RateLimited
    │   └── Outage              of a model that a plan needs           -> the plan rests, which is no attempt
    ├── Overloaded              too much is waiting already
    ├── HandlerTimeout          a handler did not end in its time
    └── VersionConflict         someone else saved first
        └── LeaseLost             someone else owns the delivery now
Retry, Reject                 raised by handlers: a say in the outcome, not a fault
Fatal                         ends whatever waits, and no handling survives it
"""

from datetime import timedelta
from typing import NamedTuple, cast


class Paid(NamedTuple):
    """Cost of a call of a model, also of one without an answer. Of `uncounted` answers the usage is not known.
    `cost_usd` None: the price is not known. `cached_tokens` are those of the prompt that the provider had kept."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0
    uncounted: int = 0
    cached_tokens: int = 0


class SoormaError(Exception):
    """Root of all errors that this package raises on purpose.

    `code` is the stable, lower-case name that travels in failure replies. `paid` is what a model's call has cost that
    ended so.
    """

    code = "error"
    paid = Paid()


class ConfigError(SoormaError):
    """Something is set up wrongly, which was found before anything ran. To do: correct what the message names;
    `soorma doctor` says where each setting comes from."""

    code = "config"


class ModelBlocked(ConfigError):
    """A model cannot be called until an operator mends its set-up: its key is refused, its quota is used up, its name
    is not known, or a library is missing. A plan that has begun rests. To do: mend what the message names, then
    `soorma plans resume`; a start of the process resumes as well."""

    code = "model_blocked"


class ProtocolError(SoormaError):
    """A rule of the conversation between agents is broken; what came is set aside as a dead letter. To do: mend the
    agent that the message names, then redrive the letter."""

    code = "protocol"


class LocalProtocolError(ProtocolError):
    """This program did what may not be done here, such as calling the platform inside a handler. To do: do what the
    message says instead."""

    code = "local_protocol"


class IllegalTransition(LocalProtocolError):
    """What has ended, or never began, was asked to move. To do: look at its status first (`soorma plans show`);
    nothing was changed."""

    code = "illegal_transition"


class InvalidResult(LocalProtocolError):
    """A handler returned what its own response schema forbids. To do: return what the schema promises, or change the
    schema."""

    code = "invalid_result"


class RemoteProtocolError(ProtocolError):
    """Another agent, or a server, sent what cannot be read, or what its schema forbids. To do: mend the sender; for a
    server, see that the URL is that of a platform."""

    code = "remote_protocol"


class DecisionError(SoormaError):
    """The model's answer is not usable. The message is shown to the model, which is asked again, twice at most. To
    do: where it happens often, sharpen the instructions or the events' descriptions; `soorma why` shows the answers.
    """

    code = "decision"


class MalformedDecision(DecisionError):
    """The model's answer is not the JSON that was asked for. To do: take a model with structured output, or give it
    more room (`max_output_tokens`)."""

    code = "malformed_decision"


class UnknownEvent(DecisionError):
    """The model chose an event that was not offered to it. To do: start the agent that takes it, or say in the
    instructions what there is."""

    code = "unknown_event"


class PayloadMismatch(DecisionError):
    """The data of a request does not fit the schema of whoever takes it; the message says where. To do: describe the
    fields in the schema; a field that the model cannot know should not be required."""

    code = "payload_mismatch"


class NotAllowed(DecisionError):
    """What the model chose may not be done now, by the plan's policy or its state. To do: nothing, as a rule: it is
    asked again; else see what the planner declares, such as `external_events`."""

    code = "not_allowed"


class InvalidPlan(DecisionError):
    """A whole plan that was drawn by a model, or by a state machine's author, could not run to an end. To do: mend
    what the message lists; all of its faults are told at once."""

    code = "invalid_plan"


class ModelRefused(SoormaError):
    """The model declined to answer, which is final for that model. To do: change the task or its wording, or name a
    fallback model."""

    code = "model_refused"
    paid = Paid(uncounted=1)


class ContentFiltered(SoormaError):
    """The provider's filter stopped the question or the answer, which is final for that provider. To do: change what
    is said, or name a fallback model."""

    code = "content_filtered"
    paid = Paid(uncounted=1)


class LimitExceeded(SoormaError):
    """A limit of the plan is spent; `limit` names the field of `Limits`. To do: look at what it did (`soorma why`),
    then raise that limit, or let the goal be smaller."""

    code = "limit_exceeded"

    def __init__(self, limit: str, detail: str) -> None:
        super().__init__(f"limit_exceeded: {limit} ({detail})")
        self.limit = limit


class OutcomeUnknown(SoormaError):
    """A handler that must not run twice was not seen to end. To do: look outside whether it was done, and answer the
    question that people got; a `reconcile` hook does so by itself."""

    code = "in_doubt"


class Held(SoormaError):
    """The request waits for the answer to the question `wait_id`. `Client.reply(request_id)` waits for its reply, and
    so does the same call with the same `idempotency_key`. To do: have it approved (`soorma inbox`), then wait for its
    reply."""

    code = "held"

    def __init__(self, event_type: str, wait_id: str, request_id: str) -> None:
        super().__init__(
            f"{event_type!r} waits for an approval: answer({wait_id!r}, ...), then reply({request_id!r}); "
            "whoever may approve it says so with approve=True"
        )
        self.wait_id = wait_id
        self.request_id = request_id


class NotFound(SoormaError):
    """It does not exist, or the caller may not see it. To do: compare the name with those that the message offers;
    `soorma registry` and `soorma plans ls` list what there is."""

    code = "not_found"


class Unauthenticated(SoormaError):
    """Nobody knows who calls. The message says what is wrong with the token, and nothing of who has another. To do:
    send a token that is valid: `soorma keys create`, or one of your identity provider."""

    code = "unauthenticated"


class Forbidden(SoormaError):
    """The caller sees it and may not do this with it. What a caller may not see is NotFound. To do: ask whoever has
    the role that the message names; docs/identity.md has the table."""

    code = "forbidden"


class DeadlineExceeded(SoormaError):
    """It was not done by its deadline. To do: give it more time, or find out what it waited for (`soorma plans
    show`)."""

    code = "deadline_exceeded"


class PlanFailed(SoormaError):
    """The plan ended without its result. `reason` is the plan's own reason, as stored with it, and `code` that of the
    error that ended it, such as `limit_exceeded`; `plan_failed` where it has none. To do: see `soorma why` for its
    decisions and the code for the reason."""

    code = "plan_failed"

    def __init__(self, plan_id: str, reason: str, code: str | None = None) -> None:
        super().__init__(f"plan {plan_id}: {reason}")
        self.plan_id = plan_id
        self.reason = reason
        if code is not None:
            self.code = code


class PlanCancelled(PlanFailed):
    """Somebody cancelled the plan. To do: nothing; `reason` says why."""

    code = "plan_cancelled"


class TransientError(SoormaError):
    """It may work the next time, and is tried again by itself. `retry_after` is the wait that its source asked for,
    if any. To do: nothing at first; when it lasts, see that what the message names is running."""

    code = "unavailable"

    def __init__(self, message: str, *, retry_after: timedelta | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class BusUnavailable(TransientError):
    """The bus cannot be reached. To do: start it, or correct SOORMA_BUS_URL."""

    code = "bus_unavailable"
    # Places in the log of what it took all the same.
    taken: tuple[int, ...] = ()


class StoreUnavailable(TransientError):
    """The store cannot be read or written now: its disk is full, or its owner does not answer. To do: make room or
    restart the owner; `soorma doctor` says which."""

    code = "store_unavailable"


class ServerUnavailable(TransientError):
    """The server at a URL, which the message names, gave no answer. What was asked may have been done, unless it says
    that it cannot be reached. To do: start the server, or correct the URL; call again with the same key."""

    code = "server_unavailable"


class ModelUnavailable(TransientError):
    """The model's provider gave no answer of use. To do: nothing at first: it is called again, and the plan rests
    meanwhile; then see the provider's status, the URL and the key."""

    code = "model_unavailable"


class RateLimited(ModelUnavailable):
    """The model's provider takes no more calls for a while. To do: nothing: it is waited for; for more calls at once
    ask the provider."""

    code = "rate_limited"


class Outage(ModelUnavailable):
    """A model that a plan needs is away, and the plan rests. `retry_after` is when it looks again. To do: nothing:
    the plan goes on by itself when the model is back, or ends at its deadline."""

    code = "outage"


class Overloaded(TransientError):
    """Too much is waiting already, so new goals are refused. To do: try later, start more agents, or raise
    SOORMA_MAX_BACKLOG."""

    code = "overloaded"


class HandlerTimeout(TransientError):
    """A handler did not end within its agent's `handler_timeout`. To do: mend what it hangs on, or give the agent a
    longer `handler_timeout`."""

    code = "handler_timeout"


class VersionConflict(TransientError):
    """Somebody else saved first. With `counts` it is one of the attempts of the handling that meets it. To do:
    nothing: the handler runs again on what is there now."""

    code = "version_conflict"

    def __init__(self, message: str, *, counts: bool = True) -> None:
        super().__init__(message)
        self.counts = counts


class LeaseLost(VersionConflict):
    """Someone else owns the delivery now, since this one took too long. To do: nothing: the other goes on; a handler
    that blocks the event loop should use a thread."""

    code = "lease_lost"


class Retry(Exception):
    """Raised by a handler to get this delivery again, `after` that long (or by the usual back-off). Where it waits for
    what surely comes, that `counts` as no attempt."""

    def __init__(
        self, reason: str = "the handler asked for another try", *, after: timedelta | None = None, counts: bool = True
    ) -> None:
        if not isinstance(cast("object", after), timedelta | None):
            raise LocalProtocolError(f"Retry(after={after!r}): give a timedelta, or nothing for the usual back-off")
        super().__init__(reason)
        self.after = after
        self.counts = counts


class Reject(Exception):
    """Raised by a handler to answer the request with this failure, for good."""

    def __init__(self, message: str, *, code: str = "rejected") -> None:
        super().__init__(message)
        self.code = code


class Fatal(BaseException):
    """Root of what no handling may survive, such as a call that its recording does not hold: whoever waits waits in
    vain, and is told. It is no Exception, since clients turn those into errors that are tried again."""
