"""Handle of a plan, for clients."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from datetime import timedelta
from typing import Any, Protocol, TypeVar, overload

from soorma_ai.errors import DeadlineExceeded, LocalProtocolError, NotFound, PlanCancelled, PlanFailed
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Untaken, Wait
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus
from soorma_ai.kernel.domain.values import LONGEST_WAIT_SECONDS, Json, read_as
from soorma_ai.kernel.rules.plans.waiting import describe_state
from soorma_ai.kernel.runtime.client.patience import PatientCall, TimeLimit
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.handling.process.signals import questions_of
from soorma_ai.kernel.runtime.views.plans import blocked_of, untaken_of_tree

T = TypeVar("T")

POLL_SECONDS = 1.0


class PlanSteering(Protocol):
    """Calls for a plan's handle."""

    person: Person

    @property
    def services(self) -> Services: ...

    async def cancel(self, plan_id: str, reason: str = ...) -> bool: ...


class PlanHandle:
    """Handle of a plan. Its id derives from the `goal_id`, and is known before a planner takes it. Calls act for the
    person of the `client`."""

    def __init__(self, plan_id: str, goal_id: str, client: PlanSteering) -> None:
        self.plan_id = plan_id
        self.goal_id = goal_id
        self._client = client
        self._services = client.services
        self._tenant_id = client.person.tenant_id

    async def status(self) -> PlanStatus:
        """Return the status of the plan; pending before a planner takes it. Raise NotFound for a removed plan."""
        plan = await self._find()
        return plan.status if plan else PlanStatus.PENDING

    async def cancel(self, reason: str = "") -> bool:
        """Ask the plan to stop, for this `reason`. False for an ended plan. Raise NotFound, Forbidden."""
        return await self._client.cancel(self.plan_id, reason)

    @overload
    async def result(self, timeout: float | timedelta | None = None) -> Any: ...

    @overload
    async def result(self, timeout: float | timedelta | None = None, *, as_: type[T]) -> T: ...

    async def result(self, timeout: float | timedelta | None = None, *, as_: type[object] | None = None) -> object:
        """Return the result of the completed plan.

        Raise PlanFailed, PlanCancelled, DeadlineExceeded (the plan itself continues), NotFound for a removed plan, and
        RemoteProtocolError for a result off the model.

        Args:
            timeout: seconds or a span; None waits until the plan's end.
            as_: a model for the result; by default it is JSON.
        """
        clock = self._services.clock
        at_most = None if timeout is None else seconds(timeout)
        until_when = None if at_most is None else clock.monotonic() + at_most
        async with TimeLimit(clock, at_most, f"the result of plan {self.plan_id}"):
            return read_as(f"the result of plan {self.plan_id}", as_, await self._result(until_when, timeout))

    async def _result(self, until_when: float | None, timeout: float | timedelta | None) -> Json:
        clock, waiting = self._services.clock, PatientCall(self._services, self.plan_id)
        with self._services.signals.notice_of(self.plan_id) as ended:
            while True:
                self._services.signals.check()
                plan = await self._find()
                if plan is not None and plan.status.is_final:
                    return _result_of(plan)
                left = POLL_SECONDS if until_when is None else min(POLL_SECONDS, until_when - clock.monotonic())
                if left <= 0:
                    raise await self._too_late("result", timeout)
                await waiting.wait(ended, left, plan)

    async def events(self) -> AsyncIterator[EventEnvelope]:
        """Yield every event of the plan's tree, from its goal on, as they arrive, until the plan's end. Raise NotFound
        for a removed plan."""
        store, seen = self._services.store, 0
        async with aclosing(self._looks()) as looks:
            async for plan in looks:
                root = plan.root_plan_id if plan else self.plan_id
                while rows := await store.events.events(after=seen, tenant_id=self._tenant_id, root_plan_id=root):
                    for row in rows:
                        seen = row.seq
                        yield row.event
                if plan is not None and plan.status.is_final:
                    return

    async def next_wait(self, timeout: float | timedelta | None = None) -> Wait | None:
        """Return the next open question to a person in this plan's tree; None at the plan's end. `timeout` in seconds,
        or a span; None waits until the plan's end.

        Raise DeadlineExceeded (the plan itself continues), and NotFound for a removed plan.
        """
        clock = self._services.clock
        at_most = None if timeout is None else seconds(timeout)
        until_when = None if at_most is None else clock.monotonic() + at_most
        async with TimeLimit(clock, at_most, f"the next question of plan {self.plan_id}"):
            return await self._next_wait(until_when, timeout)

    async def _next_wait(self, until_when: float | None, timeout: float | timedelta | None) -> Wait | None:
        services, root, clock = self._services, self.plan_id, self._services.clock
        waiting = PatientCall(services, self.plan_id)
        while True:
            services.signals.check()
            with services.signals.notice_of(self.plan_id, questions_of(root)) as woken:
                plan = await self._find()
                if plan is not None and plan.root_plan_id != root:
                    root = plan.root_plan_id
                    continue
                open_now = await services.store.plans.open_in_tree(root)
                question = next((wait for wait in map(Wait.of, open_now) if wait), None)
                if question or (plan is not None and plan.status.is_final):
                    return question
                left = POLL_SECONDS if until_when is None else min(POLL_SECONDS, until_when - clock.monotonic())
                if left <= 0:
                    raise await self._too_late("question", timeout)
                await waiting.wait(woken, left, plan)

    async def untaken(self) -> list[Untaken]:
        """Return the requests of the plan and its children without a taker, oldest first."""
        plan = await self._services.store.plans.plan(self.plan_id)
        root = plan.root_plan_id if plan else self.plan_id
        return await untaken_of_tree(self._services, self._tenant_id, root)

    async def _find(self) -> PlanRecord | None:
        """Return the plan, None before a planner takes it. Raise NotFound when its goal is gone too: then it will never
        begin."""
        store = self._services.store
        plan = await store.plans.plan(self.plan_id)
        if plan is None and await store.events.event(self.goal_id) is None:
            raise NotFound(
                f"plan {self.plan_id} is gone, with its goal: it was pruned, or its user was forgotten; "
                "`soorma plans ls` lists those that are there"
            )
        return plan

    async def describe(self) -> str:
        """Return the state of the plan as a sentence, with its waits or the reason of its sleep."""
        store, now = self._services.store, self._services.clock.now()
        plan = await store.plans.plan(self.plan_id)
        open_now = await store.plans.expectations(plan_id=self.plan_id)
        rest = await store.queue.find_rest(plan.agent, self.plan_id, now) if plan else None
        blocked = await blocked_of(self._services, plan) if plan else ()
        return describe_state(plan.status if plan else None, open_now, await self.untaken(), rest, blocked)

    async def _too_late(self, what: str, timeout: float | timedelta | None) -> DeadlineExceeded:
        return DeadlineExceeded(f"plan {self.plan_id} has no {what} after {timeout} s; {await self.describe()}")

    async def _looks(self) -> AsyncGenerator[PlanRecord | None]:
        """Yield the plan, None before a planner takes it, and again after every possible change."""
        services = self._services
        watcher, waiting = services.signals.watch(), PatientCall(services, self.plan_id)
        try:
            while True:
                services.signals.check()
                plan = await self._find()
                yield plan
                await waiting.wait(watcher, POLL_SECONDS, plan)
        finally:
            services.signals.unwatch(watcher)


def _result_of(plan: PlanRecord) -> Json:
    match plan.status:
        case PlanStatus.COMPLETED:
            return plan.result
        case PlanStatus.CANCELLED:
            raise PlanCancelled(plan.plan_id, plan.reason or "cancelled")
        case _:
            raise PlanFailed(plan.plan_id, plan.reason or "failed", plan.failure)


def seconds(timeout: object) -> float:
    """Return the seconds of a client's wait, 0 for no wait. Raise LocalProtocolError for an invalid span."""
    given = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
    if isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given <= LONGEST_WAIT_SECONDS:
        return given
    raise LocalProtocolError(f"timeout={timeout!r}: give a number of seconds, from 0 up to {LONGEST_WAIT_SECONDS}")
