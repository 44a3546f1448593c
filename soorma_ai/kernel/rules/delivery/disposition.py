"""End of a failed handling, by the class of the error, and the options for a dead letter."""

from datetime import timedelta
from zlib import crc32

from msgspec import Struct

from soorma_ai.errors import (
    BusUnavailable,
    ConfigError,
    ContentFiltered,
    DecisionError,
    LimitExceeded,
    LocalProtocolError,
    ModelBlocked,
    ModelRefused,
    ModelUnreadable,
    Outage,
    OutcomeUnknown,
    Reject,
    RemoteProtocolError,
    Retry,
    SoormaError,
    StoreUnavailable,
    TransientError,
    VersionConflict,
)
from soorma_ai.kernel.domain.effects import Ack, DeadLetter, Disposition, Hold, InDoubt, RetryAfter
from soorma_ai.kernel.domain.replies import Failure
from soorma_ai.kernel.domain.values import LONGEST_WAIT_SECONDS, account_of, message_of
from soorma_ai.kernel.rules.delivery.transient import may_pass, pause_asked

MAX_ATTEMPTS = 5
BREAKERS = ("max_nesting", "max_hops", "max_events", "events_per_handling", "max_event_bytes")
FIRST_DELAY = timedelta(milliseconds=500)
LONGEST_DELAY = timedelta(minutes=1)
# Between two that want to write the same, which takes them some milliseconds.
FIRST_PAUSE = timedelta(milliseconds=10)
LONGEST_PAUSE = timedelta(seconds=2)
LONGEST_ASKED = timedelta(seconds=LONGEST_WAIT_SECONDS)

_FAULT = "a fault in the agent: asking again will not help"
_UNMENDED = "asking again helps once an operator has mended it"


class Tries(Struct, frozen=True):
    """A handler's own settings for repetition: its number of attempts, and its temporary errors beside the known
    ones."""

    attempts: int = MAX_ATTEMPTS
    retry_on: tuple[type[Exception], ...] = ()


USUAL = Tries()


class Disposal(Struct, frozen=True):
    """End of a failed handling. `failure` is the reply for the requester; None while the delivery is still to be tried
    again. `rests`: until the return of an absent service, without an attempt."""

    disposition: Disposition
    failure: Failure | None = None
    rests: bool = False


def dispose(
    error: Exception,
    attempt: int,
    tries: Tries = USUAL,
    *,
    claims: int = 1,
    is_asked: bool = True,
    can_rest: bool = False,
) -> Disposal:
    """`attempt` counts from 1, as `claims`, the number of times it was handed over in all. Without an asker (`is_asked`
    is False) a tripped breaker stays as a dead letter. `can_rest`: the delivery is for a plan, which may rest until
    an operator resumes it."""
    said = message_of(error)
    match error:
        case Retry(counts=False):
            return Disposal(RetryAfter(_delay(error.after, attempt), said, undone=True, counts=False))
        case Retry():
            return _again(said, error.after, attempt, tries.attempts, "spent", undone=True)
        case VersionConflict():
            return _again(said, timedelta(0), attempt, max(tries.attempts, MAX_ATTEMPTS), error.code)
        case Outage():
            pause = LONGEST_DELAY if error.retry_after is None else error.retry_after
            return Disposal(RetryAfter(pause, said, counts=False), rests=True)
        case StoreUnavailable() | BusUnavailable():
            return Disposal(again_after_outage(error, claims))
        case TransientError():
            return _again(said, error.retry_after, attempt, tries.attempts, error.code)
        case Reject():
            return Disposal(Ack(), Failure(error.code, said))
        case OutcomeUnknown():
            return Disposal(InDoubt(said))
        case LimitExceeded(limit=name) if name in BREAKERS and not is_asked:
            advice = f"{said}; look for a circle (soorma registry check)"
            return Disposal(DeadLetter(advice), Failure(error.code, said, ends_plan=True))
        case DecisionError() | ModelRefused() | ContentFiltered() | ModelUnreadable() | LimitExceeded():
            return Disposal(Ack(), Failure(error.code, said, ends_plan=True))
        case _ if isinstance(error, tries.retry_on) or may_pass(error):
            return _again(account_of(error), pause_asked(error), attempt, tries.attempts, TransientError.code)
        case RemoteProtocolError():
            return _hopeless(error.code, said, "asking again in the same way will not help")
        case ModelBlocked():
            return Disposal(Hold(said), rests=True) if can_rest else _hopeless(error.code, said, _UNMENDED)
        case LocalProtocolError() | ConfigError():
            return _hopeless(error.code, said, _FAULT)
        case SoormaError():
            return _hopeless(error.code, said, "asking again will not help")
        case _:
            return _hopeless("handler_error", account_of(error), _FAULT)


def again_after_conflict(conflict: VersionConflict, event_id: str, claims: int) -> RetryAfter:
    """Handle it again on the present state: at once the first time, and after a pause growing with its claims from then
    on. Competitors pause for different times, derived from their events."""
    pause = timedelta(0)
    if claims > 1:
        share = crc32(f"{event_id} {claims}".encode()) / 2**32
        pause = min(FIRST_PAUSE * 2 ** min(claims - 2, 16), LONGEST_PAUSE) * (0.5 + share)
    return RetryAfter(pause, str(conflict), counts=conflict.counts)


def again_after_outage(away: TransientError, claims: int) -> RetryAfter:
    """Handle it again after the end of an outage of every handler's needs, without an attempt of this one. The pause is
    the requested one, or grows with its claims."""
    return RetryAfter(_delay(away.retry_after, claims), message_of(away), counts=False)


def dispose_in_doubt(error: Exception, attempt: int, *, can_find_out: bool, claims: int = 1) -> Disposal:
    """Dispose for a handler that must not run twice, and has begun. Only its own words are known: Retry and Reject.
    `can_find_out`: at a new delivery, it looks up the outcome before anything else."""
    if isinstance(error, Retry | Reject):
        return dispose(error, attempt)
    if can_find_out and isinstance(error, StoreUnavailable | BusUnavailable):
        return Disposal(again_after_outage(error, claims))
    if can_find_out and not isinstance(error, OutcomeUnknown) and attempt < MAX_ATTEMPTS:
        asked = error.retry_after if isinstance(error, TransientError) else pause_asked(error)
        return Disposal(RetryAfter(_delay(asked, attempt), message_of(error)))
    return Disposal(InDoubt(account_of(error)))


def dispose_of_spent(attempt: int, *, in_doubt: bool) -> Disposal:
    """Dispose of a delivery with too many attempts without an end: its handling may be the killer of the process."""
    what = f"handed over {attempt - 1} times without an end"
    if in_doubt:
        return Disposal(InDoubt(what))
    return _hopeless("spent", what, "it may be what kills the agent; do not ask for it again")


def outlook(disposition: Disposition, seq: int) -> str:
    """Describe the future of a failed delivery, for the agent's operator; `seq` is its number."""
    match disposition:
        case RetryAfter():
            return f"it is tried again in {disposition.delay.total_seconds():g} s"
        case Hold():
            return "its plan rests until an operator resumes it (soorma plans resume)"
        case DeadLetter():
            return f"it is a dead letter (soorma dead-letters show {seq})"
        case InDoubt():
            return "people are asked what became of it (soorma inbox)"
        case Ack():
            return "whoever asked is told"


def _again(said: str, asked: timedelta | None, attempt: int, most: int, code: str, *, undone: bool = False) -> Disposal:
    if attempt >= most:
        often = "once" if attempt == 1 else f"{attempt} times"
        return _hopeless(code, said, f"tried {often}; it may work later", undone=undone)
    return Disposal(RetryAfter(_delay(asked, attempt), said, undone))


def _delay(asked: timedelta | None, attempt: int) -> timedelta:
    if asked is None:
        return min(FIRST_DELAY * 2 ** min(attempt - 1, 16), LONGEST_DELAY)
    return min(max(asked, timedelta(0)), LONGEST_ASKED)


def _hopeless(code: str, what: str, advice: str, *, undone: bool = False) -> Disposal:
    """Return the advice for the requester, with the option to ask again: a model, above all. Dead letters show the
    number of tries to the people able to repair the agent."""
    return Disposal(DeadLetter(f"{code}: {what}", undone), Failure(code, f"{what} ({advice})"))
