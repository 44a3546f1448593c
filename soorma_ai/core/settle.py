"""How a handling ends that did not go well: the class of the error decides."""

from dataclasses import dataclass
from datetime import timedelta

from soorma_ai.core.ending import Failure
from soorma_ai.domain.effects import Ack, DeadLetter, Disposition, RetryAfter
from soorma_ai.errors import ContentFiltered as Filtered
from soorma_ai.errors import (
    DecisionError,
    LimitExceeded,
    ModelRefused,
    Reject,
    Retry,
    SoormaError,
    TransientError,
    VersionConflict,
)

MAX_ATTEMPTS = 5
FIRST_DELAY = timedelta(milliseconds=500)
LONGEST_DELAY = timedelta(minutes=1)


@dataclass(frozen=True)
class Settled:
    """`failure` is what the requester is told; None while the delivery is still to be tried again."""

    disposition: Disposition
    failure: Failure | None = None


def settle(error: Exception, attempt: int) -> Settled:
    """`attempt` counts from 1."""
    match error:
        case Retry():
            return _again(error, error.after, attempt, "spent")
        case VersionConflict():
            return _again(error, timedelta(0), attempt, error.code)
        case TransientError():
            return _again(error, error.retry_after, attempt, error.code)
        case Reject():
            return Settled(Ack(), Failure(error.code, str(error)))
        case DecisionError() | ModelRefused() | Filtered() | LimitExceeded():
            return Settled(Ack(), Failure(error.code, str(error)))
        case SoormaError():
            return _hopeless(error.code, str(error))
        case _:
            return _hopeless("handler_error", f"{type(error).__name__}: {error}")


def spent(attempt: int) -> Settled:
    """For a delivery that was handed over so often without an end that its handling may be what kills the process."""
    return _hopeless("spent", f"handed over {attempt - 1} times without an end")


def _again(error: Exception, asked: timedelta | None, attempt: int, code: str) -> Settled:
    if attempt >= MAX_ATTEMPTS:
        return _hopeless(code, f"{error} (tried {attempt} times)")
    backoff = min(FIRST_DELAY * 2 ** (attempt - 1), LONGEST_DELAY)
    return Settled(RetryAfter(asked if asked is not None else backoff, str(error)))


def _hopeless(code: str, message: str) -> Settled:
    return Settled(DeadLetter(f"{code}: {message}"), Failure(code, message))
