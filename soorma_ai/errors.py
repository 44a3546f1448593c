"""The error tree. The class of an error decides what happens to the work in hand; nobody reads messages.

SoormaError
├── ConfigError               wrong set-up; raised before anything runs
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
    """What was set up cannot work. Raised before anything runs; the message says what to give instead."""

    code = "config"


class ProtocolError(SoormaError):
    code = "protocol"


class LocalProtocolError(ProtocolError):
    """A call that the rules of the conversation do not allow, made by this program."""

    code = "local_protocol"


class IllegalTransition(LocalProtocolError):
    code = "illegal_transition"


class InvalidResult(LocalProtocolError):
    """A result that is off the schema which its maker promised."""

    code = "invalid_result"


class RemoteProtocolError(ProtocolError):
    """What another program sent is no event, or is off its schema."""

    code = "remote_protocol"


class DecisionError(SoormaError):
    """The message is shown to the model, so it is written for it: what was found, what is wanted."""

    code = "decision"


class MalformedDecision(DecisionError):
    code = "malformed_decision"


class UnknownEvent(DecisionError):
    code = "unknown_event"


class PayloadMismatch(DecisionError):
    code = "payload_mismatch"


class NotAllowed(DecisionError):
    code = "not_allowed"


class InvalidPlan(DecisionError):
    """A whole plan that could not run to an end."""

    code = "invalid_plan"


class ModelRefused(SoormaError):
    """The model said that it will not answer. It is not asked again."""

    code = "model_refused"
    paid = Paid(uncounted=1)


class ContentFiltered(SoormaError):
    """The provider kept back the question or its answer. It is not asked again."""

    code = "content_filtered"
    paid = Paid(uncounted=1)


class LimitExceeded(SoormaError):
    """`limit` names the field of `Limits` that is spent."""

    code = "limit_exceeded"

    def __init__(self, limit: str, detail: str) -> None:
        super().__init__(f"limit_exceeded: {limit} ({detail})")
        self.limit = limit


class OutcomeUnknown(SoormaError):
    """The end of a handler that must not run twice was not seen."""

    code = "in_doubt"


class Held(SoormaError):
    """The request waits for the answer to the question `wait_id`. `Client.reply(request_id)` waits for its reply, and
    so does the same call with the same `idempotency_key`."""

    code = "held"

    def __init__(self, event_type: str, wait_id: str, request_id: str) -> None:
        super().__init__(
            f"{event_type!r} waits for an approval: answer({wait_id!r}, ...), then reply({request_id!r}); "
            "whoever may approve it says so with approve=True"
        )
        self.wait_id = wait_id
        self.request_id = request_id


class NotFound(SoormaError):
    """What was named is not there, or not for who asks."""

    code = "not_found"


class Unauthenticated(SoormaError):
    """The message says what is wrong with the token, and nothing of who has another."""

    code = "unauthenticated"


class Forbidden(SoormaError):
    """The caller sees it and may not do this with it. What a caller may not see is NotFound."""

    code = "forbidden"


class DeadlineExceeded(SoormaError):
    """What was waited for has not come in time; it may come yet."""

    code = "deadline_exceeded"


class PlanFailed(SoormaError):
    """`reason` is the plan's own reason, as stored with it, and `code` that of the error that ended it, such as
    `limit_exceeded`; `plan_failed` where it has none."""

    code = "plan_failed"

    def __init__(self, plan_id: str, reason: str, code: str | None = None) -> None:
        super().__init__(f"plan {plan_id}: {reason}")
        self.plan_id = plan_id
        self.reason = reason
        if code is not None:
            self.code = code


class PlanCancelled(PlanFailed):
    """What `result()` raises for a plan that was asked to stop."""

    code = "plan_cancelled"


class TransientError(SoormaError):
    """`retry_after` is the wait that its source asked for, if any."""

    code = "unavailable"

    def __init__(self, message: str, *, retry_after: timedelta | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class BusUnavailable(TransientError):
    """The bus did not take an event; it may the next time."""

    code = "bus_unavailable"


class StoreUnavailable(TransientError):
    """The store could not be read or written; it may be the next time."""

    code = "store_unavailable"


class ServerUnavailable(TransientError):
    """The message names the URL. What was asked may have been done, unless it says that it cannot be reached."""

    code = "server_unavailable"


class ModelUnavailable(TransientError):
    """No usable answer came from a model; one may the next time."""

    code = "model_unavailable"


class RateLimited(ModelUnavailable):
    """The provider wants fewer calls; `retry_after` is how long it asks to wait."""

    code = "rate_limited"


class Outage(ModelUnavailable):
    """`retry_after` is when the plan looks again."""

    code = "outage"


class Overloaded(TransientError):
    """Too much is waiting already; it may be given again later."""

    code = "overloaded"


class HandlerTimeout(TransientError):
    code = "handler_timeout"


class VersionConflict(TransientError):
    """Somebody else saved first. With `counts` it is one of the attempts of the handling that meets it."""

    code = "version_conflict"

    def __init__(self, message: str, *, counts: bool = True) -> None:
        super().__init__(message)
        self.counts = counts


class LeaseLost(VersionConflict):
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
