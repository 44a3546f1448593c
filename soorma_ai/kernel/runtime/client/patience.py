"""Bounds of a client's calls: the timeout, and in tests the patience with an unavailable model."""

import asyncio
from time import monotonic
from types import TracebackType

from soorma_ai.errors import DeadlineExceeded, ModelUnavailable
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.ports import Clock
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.handling.process.circuits import patience
from soorma_ai.kernel.runtime.handling.process.signals import until
from soorma_ai.kernel.runtime.views.plans import tree_plans

# Seconds of real time: a virtual clock stands still while a test waits.
LOOK_SECONDS = 0.5
# Seconds after its timeout by which a call says by itself what it waited for.
GRACE = 0.5


class PatientCall:
    """Call with a wait for a plan. A test's patience begins with the call."""

    def __init__(self, services: Services, plan_id: str) -> None:
        self._services = services
        self._plan_id = plan_id
        self._begun = monotonic()

    async def wait(self, woken: asyncio.Event, seconds: float, plan: PlanRecord | None) -> None:
        """Wait until woken or, by the platform's clock, for these seconds. `plan` is None before its beginning.

        Raise ModelUnavailable at a test's bound.
        """
        most, clock = patience(), self._services.clock
        if most is None:
            await until(woken, clock, seconds)
            return
        waiting = asyncio.ensure_future(until(woken, clock, seconds))
        try:
            while not (await asyncio.wait({waiting}, timeout=LOOK_SECONDS))[0]:
                await self._check(plan, most)
                if plan is None:
                    return  # its caller looks whether it has begun
        finally:
            waiting.cancel()

    async def _check(self, plan: PlanRecord | None, most: float) -> None:
        failing, now = self._services.circuits.failing, monotonic()
        away = {who: one.reason for who, one in failing.items() if now - max(self._begun, one.since) >= most}
        for who in [self._plan_id, *(await self._tree(plan))] if away else ():
            if who in away:
                raise ModelUnavailable(
                    f"plan {who} rests: its model has been away for {most:g} s of this test: {away[who]}. Script its "
                    "answer; a test that waits for longer sets soorma_model_patience (seconds; 0: no bound)"
                )

    async def _tree(self, plan: PlanRecord | None) -> list[str]:
        if plan is None:
            return []
        found = await tree_plans(self._services, plan.lineage.tenant_id, plan.root_plan_id)
        return [one.plan_id for one in found]


class TimeLimit:
    """End the block after these seconds; None: never. Raise DeadlineExceeded then."""

    def __init__(self, clock: Clock, seconds: float | None, subject: str) -> None:
        self._clock, self._seconds, self._subject = clock, seconds, subject

    async def __aenter__(self) -> None:
        if self._seconds is None:
            return
        self._limit, loop = asyncio.timeout(None), asyncio.get_running_loop()
        await self._limit.__aenter__()
        self._forget = self._clock.call_later(self._seconds + GRACE, lambda: self._limit.reschedule(loop.time()))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._seconds is None:
            return
        self._forget()
        try:
            await self._limit.__aexit__(kind, error, trace)
        except TimeoutError as ended:
            raise self._too_late(self._seconds) from ended
        if isinstance(error, TimeoutError) and self._limit.expired():
            raise self._too_late(self._seconds) from error

    def _too_late(self, seconds: float) -> DeadlineExceeded:
        return DeadlineExceeded(
            f"the store did not answer within {seconds:g} s, which {self._subject} may take: look whether its database "
            "is there; the same idempotency_key finds what was taken"
        )
