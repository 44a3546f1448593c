"""Calls of a model: the number of them for one question, and the circuit breaker of a provider. While it is away, plans
rest, and one of them looks for its return."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from soorma_ai.kernel.domain.history import Ending

# Seconds after which a plan that begins asks again, where others were refused.
REFUSED_FOR = 60.0
FIRST_REST = timedelta(seconds=5)
LONGEST_REST = timedelta(minutes=5)
MAX_REASKS = 2


class Circuit(Struct, frozen=True):
    """State of a circuit: open until `open_until`, then half open until a call works. `failures` opened it in a row;
    `failed` is the caller of the last failed call."""

    failures: int = 0
    failed: str | None = None
    open_until: datetime | None = None


def rest_after(rests: int) -> timedelta:
    """Return how long to rest after so many rests, twice as long each time."""
    return min(FIRST_REST * 2 ** min(rests, 16), LONGEST_REST)


def time_left(circuit: Circuit, now: datetime) -> timedelta | None:
    """Return how long it stays open; None: it is closed, or half open."""
    return circuit.open_until - now if circuit.open_until is not None and now < circuit.open_until else None


def is_half_open(circuit: Circuit, now: datetime) -> bool:
    return circuit.open_until is not None and now >= circuit.open_until


def fail(circuit: Circuit, who: str, now: datetime, asked: timedelta | None) -> Circuit:
    """Count a failure. The circuit opens after two in a row of different callers, so a question that always fails stops
    no other caller. A pause asked for by the provider counts at once."""
    if time_left(circuit, now) is not None:  # sent before it opened, and counted then
        until = circuit.open_until if asked is None else max(now + asked, circuit.open_until or now)
        return Circuit(circuit.failures, circuit.failed, until)
    if asked is not None:
        return Circuit(circuit.failures + 1, who, now + asked)
    if circuit.failed in (None, who):
        return Circuit(circuit.failures, who, circuit.open_until)
    return Circuit(circuit.failures + 1, who, now + rest_after(circuit.failures))


class SetupRefusal(Struct, frozen=True):
    """The last answer of a model that refuses our set-up. `resumed_at` is when the plan that met it was resumed, and
    `at` the moment on a clock that only goes forward."""

    reason: str
    resumed_at: datetime | None
    at: float


def may_insist(refusal: SetupRefusal, resumed_at: datetime | None, now: float) -> bool:
    """Tell whether a plan may ask in spite of a refusal: a plan resumed since, or any plan after a while. Plans resumed
    together follow the finding of the first of them."""
    return now >= refusal.at + REFUSED_FOR or resumed_at not in (None, refusal.resumed_at)


def may_ask_again(unusable: Sequence[Ending]) -> bool:
    """Tell whether to ask after answers that ended so and could not be used, the last of them just now. One that was
    cut is asked for once more with more room, which is no re-ask; one that ended in an odd way is re-asked once, and
    one that was cut within blanks twice: as compact JSON, then in another form."""
    last = unusable[-1]
    reasks = sum(ending is not Ending.CUT for ending in unusable)
    most = {Ending.GOOD: MAX_REASKS, Ending.BLANK: 2}.get(last, 1)
    return reasks <= MAX_REASKS and unusable.count(last) <= most


def needs_other_form(unusable: Sequence[Ending]) -> bool:
    """Tell whether the next answer needs another form: in this one the model writes blanks."""
    return unusable.count(Ending.BLANK) > 1


def room_after(unusable: Sequence[Ending], usual: int) -> int:
    """Return the tokens that the next answer may take."""
    return usual * 2 if Ending.CUT in unusable else usual
