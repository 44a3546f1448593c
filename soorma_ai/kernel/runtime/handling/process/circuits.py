"""Circuits of this process, one for each provider: an absent one gets no calls, but for one to see whether it is back,
while the others wait for its result."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from datetime import datetime, timedelta
from time import monotonic
from typing import TypeVar

from msgspec import Struct, field

from soorma_ai.errors import ModelBlocked, ModelUnavailable, ModelUnreadable, Outage, UnreadableAnswer
from soorma_ai.kernel.domain.values import account_of
from soorma_ai.kernel.ports import Clock
from soorma_ai.kernel.rules.decisions.circuit import (
    Circuit,
    SetupRefusal,
    fail,
    is_half_open,
    may_insist,
    rest_after,
    time_left,
)

T = TypeVar("T")

MOST_FAILING = 1_000
# So many answers that cannot be read, one after the other, end a plan.
MOST_UNREADABLE = 5


class CircuitCaller(Struct, frozen=True):
    """A plan that asks, or a handling of none. It has rested so often; `resumed_at` finds when an operator resumed it.
    Of a provider's models it asks this one first."""

    who: str
    model: str
    rests: int
    resumed_at: Callable[[], Awaitable[datetime | None]]


class _ProviderCircuit(Struct):
    circuit: Circuit = field(default_factory=Circuit)
    reason: str = ""
    probe: asyncio.Event | None = None
    refusals: dict[str, SetupRefusal] = field(default_factory=dict[str, SetupRefusal])


class FailureRun(Struct, frozen=True):
    """Calls of a plan that fail: since when, in seconds of real time, and why. The last `unreadable` answers could not
    be read."""

    since: float
    reason: str
    unreadable: int = 0


class Circuits:
    def __init__(self) -> None:
        self._providers: defaultdict[str, _ProviderCircuit] = defaultdict(_ProviderCircuit)
        # By plan, as long as its last call has failed; the latest ones.
        self.failing: dict[str, FailureRun] = {}

    async def call(self, provider: str, asker: CircuitCaller, clock: Clock, ask: Callable[[], Awaitable[T]]) -> T:
        """Call the provider, or raise Outage with the time to rest; or ModelBlocked, as a moment ago, without an order
        to ask again."""
        known = self._providers[provider]
        while True:
            refusal = known.refusals.get(asker.model)
            if refusal is None and known.circuit.open_until is None:
                return await self._call(known, asker, None, clock, ask)
            now = clock.now()
            resumed_at = await asker.resumed_at() if refusal else None
            if refusal and not may_insist(refusal, resumed_at, clock.monotonic()):
                raise ModelBlocked(refusal.reason)
            if (left := time_left(known.circuit, now)) is not None:
                self._fail(asker.who, known.reason)
                raise Outage(known.reason, retry_after=left)
            if refusal is None and not is_half_open(known.circuit, now):
                return await self._call(known, asker, resumed_at, clock, ask)
            if known.probe is None:
                known.probe = asyncio.Event()
                try:
                    return await self._call(known, asker, resumed_at, clock, ask)
                finally:
                    known.probe.set()
                    known.probe = None
            await known.probe.wait()

    async def _call(
        self,
        known: _ProviderCircuit,
        asker: CircuitCaller,
        resumed_at: datetime | None,
        clock: Clock,
        ask: Callable[[], Awaitable[T]],
    ) -> T:
        try:
            answer = await ask()
        except ModelBlocked as blocked:
            self._fail(asker.who, str(blocked))
            known.refusals[asker.model] = SetupRefusal(str(blocked), resumed_at, clock.monotonic())
            raise
        except ModelUnavailable as away:
            self._fail(asker.who, str(away), unreadable=isinstance(away, UnreadableAnswer))
            if self.failing[asker.who].unreadable >= MOST_UNREADABLE:
                self.failing.pop(asker.who)
                raise ModelUnreadable(
                    f"{MOST_UNREADABLE} answers in a row could not be read; the last: {away}"
                ) from away
            known.refusals.pop(asker.model, None)
            known.circuit, known.reason = fail(known.circuit, asker.who, clock.now(), away.retry_after), str(away)
            own = rest_after(asker.rests) if away.retry_after is None else away.retry_after
            left = time_left(known.circuit, clock.now()) or timedelta(0)
            raise Outage(str(away), retry_after=max(own, left)) from away
        except Exception as error:
            self._fail(asker.who, account_of(error))
            raise
        known.circuit = Circuit()
        known.refusals.pop(asker.model, None)
        self.failing.pop(asker.who, None)
        return answer

    def _fail(self, who: str, reason: str, *, unreadable: bool = False) -> None:
        before = self.failing.pop(who, None)
        count = (before.unreadable if before else 0) + 1 if unreadable else 0
        self.failing[who] = FailureRun(before.since if before else monotonic(), reason, count)
        if len(self.failing) > MOST_FAILING:
            del self.failing[next(iter(self.failing))]


_bounds: list[float] = []


@contextmanager
def bound_patience(seconds: float) -> Generator[None]:
    """Inside, a call that waits for a plan raises once its model has been away for so many seconds of real time."""
    _bounds.append(seconds)
    try:
        yield
    finally:
        _bounds.remove(seconds)


def patience() -> float | None:
    """Return the bound in force; None outside of tests, where a plan may rest for days."""
    return _bounds[-1] if _bounds else None
