"""The error tree. The class of an error, never its message, decides the next step.

SoormaError
├── ConfigError               wrong set-up; raised before anything runs
│   └── ModelBlocked            a model refuses our set-up               -> the plan rests until an operator resumes it
├── ProtocolError             a rule of the conversation is broken     -> dead letter
│   ├── LocalProtocolError      by us
│   │   ├── IllegalTransition
│   │   └── InvalidResult         against the promised schema
│   └── RemoteProtocolError     by the peer
├── DecisionError             the model's answer is not usable         -> asked again, then the plan fails
│   ├── MalformedDecision
│   ├── UnknownEvent
│   ├── PayloadMismatch
│   ├── NotAllowed
│   └── InvalidPlan
├── ModelRefused              the model declines                       -> never asked again
├── ContentFiltered           the provider declines                    -> never asked again
├── ModelUnreadable           answers that nothing can read, in a row  -> never asked again
├── LimitExceeded             a budget is spent                        -> never asked again
├── OutcomeUnknown            done or not is unknown                   -> a person is asked
├── Held                      a person must approve the request first
├── NotFound                                                           -> dead letter
├── Unauthenticated           an unknown caller                        -> HTTP 401
├── Forbidden                 the caller may not                       -> HTTP 403
├── DeadlineExceeded                                                   -> dead letter
├── PlanFailed                raised by `result()` for a plan without a result
│   └── PlanCancelled
└── TransientError            may work next time                       -> again with back-off, then dead letter
    ├── BusUnavailable
    ├── StoreUnavailable
    ├── ServerUnavailable       a server of ours, over HTTP
    ├── ModelUnavailable
    │   ├── RateLimited
    │   ├── UnreadableAnswer    not JSON, or no answer in it
    │   └── Outage              of a plan's model                      -> the plan rests, which is no attempt
    ├── Overloaded              too much work is waiting
    ├── HandlerTimeout          a handler did not end in its time
    └── VersionConflict         another writer saved first
        └── LeaseLost             another process owns the delivery
Retry, Reject                 raised by handlers: a say in the outcome, not a fault
Fatal                         ends every wait and every handling
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

    `code` is the stable, lower-case name in failure replies. `paid` is the cost of a model's call with this error as
    its end.
    """

    code = "error"
    paid = Paid()


class ConfigError(SoormaError):
    """The set-up is wrong, found before anything ran. To do: correct the named setting; `soorma doctor` prints each
    setting with its origin."""

    code = "config"


class ModelBlocked(ConfigError):
    """A model cannot be called before an operator fixes its set-up: a refused key, an exhausted quota, an unknown name,
    or a missing library. A running plan rests. To do: fix the named fault, then `soorma plans resume`; a start of the
    process resumes as well."""

    code = "model_blocked"


class ProtocolError(SoormaError):
    """A rule of the conversation between agents is broken; the event is set aside as a dead letter. To do: fix the
    named agent, then redrive the dead letter."""

    code = "protocol"


class LocalProtocolError(ProtocolError):
    """This program made a forbidden call, such as a call of the platform inside a handler. To do: follow the
    message."""

    code = "local_protocol"


class IllegalTransition(LocalProtocolError):
    """An object was moved after its end, or before its start. To do: check its status first (`soorma plans show`);
    nothing was changed."""

    code = "illegal_transition"


class InvalidResult(LocalProtocolError):
    """A handler returned a result against its own response schema. To do: return a result within the schema, or change
    the schema."""

    code = "invalid_result"


class RemoteProtocolError(ProtocolError):
    """Another agent, or a server, sent unreadable data, or data against its schema. To do: fix the sender; for a
    server, check that the URL is that of a platform."""

    code = "remote_protocol"


class DecisionError(SoormaError):
    """The model's answer is not usable. The model gets the message and is asked again, twice at most. To do: if
    frequent, sharpen the instructions or the events' descriptions; `soorma why` shows the answers."""

    code = "decision"


class MalformedDecision(DecisionError):
    """The model's answer is not the requested JSON. To do: use a model with structured output, or give it more room
    (`max_output_tokens`)."""

    code = "malformed_decision"


class UnknownEvent(DecisionError):
    """The model chose an event outside of its offer. To do: start the agent for it, or name the existing events in the
    instructions."""

    code = "unknown_event"


class PayloadMismatch(DecisionError):
    """The data of a request does not fit the schema of its receiver; the message has the place. To do: describe the
    fields in the schema; make fields optional that the model cannot know."""

    code = "payload_mismatch"


class NotAllowed(DecisionError):
    """The model's choice is not allowed now, by the plan's policy or its state. To do: usually nothing, since it is
    asked again; else check the planner's declarations, such as `external_events`."""

    code = "not_allowed"


class InvalidPlan(DecisionError):
    """A whole plan, drawn by a model or written by the author of a state machine, could not run to an end. To do: fix
    the listed faults; the list is complete."""

    code = "invalid_plan"


class ModelRefused(SoormaError):
    """The model declined to answer, finally for that model. To do: change the task or its wording, or add a fallback
    model (`fallbacks=`)."""

    code = "model_refused"
    paid = Paid(uncounted=1)


class ContentFiltered(SoormaError):
    """The provider's filter stopped the question or the answer, finally for that provider. To do: change the wording,
    or add a fallback model (`fallbacks=`)."""

    code = "content_filtered"
    paid = Paid(uncounted=1)


class ModelUnreadable(SoormaError):
    """Five answers of a model's provider in a row could not be read, so its plan fails. To do: check that the URL is
    that of the model's API, and what stands between; then submit the goal again."""

    code = "model_unreadable"


class LimitExceeded(SoormaError):
    """A limit of the plan is spent; `limit` names the field of `Limits`. To do: look at the plan's decisions (`soorma
    why`), then raise that limit, or make the goal smaller."""

    code = "limit_exceeded"

    def __init__(self, limit: str, detail: str) -> None:
        super().__init__(f"limit_exceeded: {limit} ({detail})")
        self.limit = limit


class OutcomeUnknown(SoormaError):
    """The end of a handler with a single run was not seen. To do: check outside whether it was done, and answer the
    question about it; a `reconcile` hook does so automatically."""

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
    """It does not exist, or the caller may not see it. To do: compare the name with those in the message; `soorma
    registry` and `soorma plans ls` list the existing ones."""

    code = "not_found"


class Unauthenticated(SoormaError):
    """The caller is unknown. The message names the fault of the token, and nothing about other tokens. To do: send a
    valid token: from `soorma keys create`, or of your identity provider."""

    code = "unauthenticated"


class Forbidden(SoormaError):
    """The caller sees it, but has no right to this action. An invisible object is NotFound. To do: ask a person with
    the named role; docs/identity.md has the table."""

    code = "forbidden"


class DeadlineExceeded(SoormaError):
    """It was not done by its deadline. To do: give it more time, or look at its open wait (`soorma plans show`)."""

    code = "deadline_exceeded"


class PlanFailed(SoormaError):
    """The plan ended without its result. `reason` is the plan's own reason, as stored with it, and `code` that of the
    error behind its end, such as `limit_exceeded` or `gave_up`; else `plan_failed`. To do: see
    `soorma why` for its decisions and the code for the reason."""

    code = "plan_failed"

    def __init__(self, plan_id: str, reason: str, code: str | None = None) -> None:
        super().__init__(f"plan {plan_id}: {reason}")
        self.plan_id = plan_id
        self.reason = reason
        if code is not None:
            self.code = code


class PlanCancelled(PlanFailed):
    """The plan was cancelled. To do: nothing; `reason` says why."""

    code = "plan_cancelled"


class TransientError(SoormaError):
    """It may work the next time, and is retried automatically. `retry_after` is the wait named by its source, if any.
    To do: nothing at first; if it lasts, check that the named service is running."""

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
    """The server at the named URL gave no answer. The call may have been done, unless the message reads that the server
    cannot be reached. To do: start the server, or correct the URL; call again with the same key."""

    code = "server_unavailable"


class ModelUnavailable(TransientError):
    """The model's provider gave no usable answer. To do: nothing at first: the call is repeated, and the plan rests
    meanwhile; then check the provider's status, the URL and the key."""

    code = "model_unavailable"


class RateLimited(ModelUnavailable):
    """The model's provider takes no more calls for a while. To do: nothing: the call is repeated later; for a higher
    rate ask the provider."""

    code = "rate_limited"


class UnreadableAnswer(ModelUnavailable):
    """The answer of a model's provider is no answer of a model: a web page, an empty body, half a body. It counts as a
    call. To do: nothing at first; if it lasts, check that the URL is that of the model's API."""

    code = "unreadable_answer"


class Outage(ModelUnavailable):
    """A model of a plan is unavailable, and the plan rests. `retry_after` is the time to the next try. To do: nothing:
    the plan goes on after the model's return, or ends at its deadline."""

    code = "outage"


class Overloaded(TransientError):
    """Too much is waiting already, so new goals are refused. To do: try later, start more agents, or raise
    SOORMA_MAX_BACKLOG."""

    code = "overloaded"


class HandlerTimeout(TransientError):
    """A handler did not end within its agent's `handler_timeout`. To do: fix the hanging call, or give the agent a
    longer `handler_timeout`."""

    code = "handler_timeout"


class VersionConflict(TransientError):
    """Another writer saved first. With `counts` it is one of the attempts of its handling. To do: nothing: the handler
    runs again on the current state."""

    code = "version_conflict"

    def __init__(self, message: str, *, counts: bool = True) -> None:
        super().__init__(message)
        self.counts = counts


class LeaseLost(VersionConflict):
    """Another process owns the delivery now, since this one took too long. To do: nothing: the other goes on; move
    blocking code of a handler into a thread."""

    code = "lease_lost"


class Retry(Exception):
    """Raised by a handler to get this delivery again, `after` that long (or by the usual back-off). With
    `counts=False`, as in a wait for a certain event, it is no attempt."""

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
    """Root of errors fatal to every handling, such as a call missing in its recording: all waits end with it. It is no
    Exception, since clients turn those into errors to try again."""
