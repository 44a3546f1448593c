"""The circuits of this process, one for each provider: nobody asks where nobody answers, and one looks whether it is
back while the others wait for what it finds."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from datetime import timedelta
from time import monotonic
from typing import TypeVar

from msgspec import Struct, field

from soorma_ai.core.deciding.circuit import Circuit, fail, is_half_open, rest_after, time_left
from soorma_ai.domain.values import account_of
from soorma_ai.errors import ModelUnavailable, Outage
from soorma_ai.ports import Clock

T = TypeVar("T")

MOST_FAILING = 1_000


class _Provider(Struct):
    circuit: Circuit = field(default_factory=Circuit)
    reason: str = ""
    probe: asyncio.Event | None = None


class Failing(Struct, frozen=True):
    """Calls of a plan that fail: since when, in seconds of real time, and why."""

    since: float
    reason: str


class Circuits:
    def __init__(self) -> None:
        self._providers: defaultdict[str, _Provider] = defaultdict(_Provider)
        # By plan, as long as its last call has failed; the latest ones.
        self.failing: dict[str, Failing] = {}

    async def call(self, provider: str, who: str, rests: int, clock: Clock, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask, or raise Outage, which says for how long `who`, having rested so often, has to rest."""
        known = self._providers[provider]
        while True:
            now = clock.now()
            if (left := time_left(known.circuit, now)) is not None:
                self._fail(who, known.reason)
                raise Outage(known.reason, retry_after=left)
            if not is_half_open(known.circuit, now):
                return await self._call(known, who, rests, clock, ask)
            if known.probe is None:
                known.probe = asyncio.Event()
                try:
                    return await self._call(known, who, rests, clock, ask)
                finally:
                    known.probe.set()
                    known.probe = None
            await known.probe.wait()

    async def _call(self, known: _Provider, who: str, rests: int, clock: Clock, ask: Callable[[], Awaitable[T]]) -> T:
        try:
            answer = await ask()
        except ModelUnavailable as away:
            self._fail(who, str(away))
            known.circuit, known.reason = fail(known.circuit, who, clock.now(), away.retry_after), str(away)
            own = rest_after(rests) if away.retry_after is None else away.retry_after
            left = time_left(known.circuit, clock.now()) or timedelta(0)
            raise Outage(str(away), retry_after=max(own, left)) from away
        except Exception as error:
            self._fail(who, account_of(error))
            raise
        known.circuit = Circuit()
        self.failing.pop(who, None)
        return answer

    def _fail(self, who: str, reason: str) -> None:
        before = self.failing.pop(who, None)
        self.failing[who] = Failing(before.since if before else monotonic(), reason)
        if len(self.failing) > MOST_FAILING:
            del self.failing[next(iter(self.failing))]
