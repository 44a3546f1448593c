"""Standing of a goal: its plan, or before an approval its gate; found by its id, and followed for some time."""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from msgspec import Struct

from soorma_ai.agents.mounts import Visit
from soorma_ai.errors import NotFound
from soorma_ai.gateways.goals import GoalState, request_of, state_of_held, state_of_plan
from soorma_ai.kernel.domain.expectations import ExpectationKind, Wait
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus
from soorma_ai.kernel.rules.authority import check
from soorma_ai.kernel.rules.waits.gates import gate_id
from soorma_ai.kernel.runtime.client.client import REQUESTS, Client
from soorma_ai.kernel.runtime.handling.process.signals import until
from soorma_ai.kernel.runtime.views.plans import own_plan

if TYPE_CHECKING:
    import asyncio

# Events of a plan wake at once; this is for changes without one, as the answer to a gate.
LOOK_AGAIN_SECONDS = 1.0


class Standing(Struct, frozen=True):
    """State of a goal. `task_id` is the plan's id, or the goal's where people approve it first. `rejected` is the
    reason for the goal's refusal."""

    task_id: str
    plan: PlanRecord
    asked: tuple[Wait, ...] = ()
    rejected: str | None = None

    @property
    def is_over(self) -> bool:
        return self.rejected is not None or self.plan.status.is_final

    @property
    def failure(self) -> str | None:
        """Return the reason of a failure; None without one."""
        if self.rejected is not None:
            return self.rejected
        if self.plan.status in (PlanStatus.FAILED, PlanStatus.CANCELLED):
            return self.plan.reason or str(self.plan.status)
        return None

    @property
    def words(self) -> str:
        if self.is_over:
            return str(self.plan.status) if self.rejected is None else "rejected"
        return "input required" if self.asked else "working"


async def find(client: Client, task_id: str) -> Standing:
    """Return the standing of a goal by the id of its plan, or of its own. Raise NotFound."""
    try:
        plan = await own_plan(client.services, client.person, task_id)
    except NotFound:
        return await _find_held(client, task_id)
    return _standing(await state_of_plan(client, plan), task_id)


async def turn_of(visit: Visit, client: Client, task_id: str, seconds: float) -> Standing:
    """Return the standing at the end of the goal, at a question, or after this time."""
    clock = client.services.clock
    end = clock.monotonic() + seconds
    standing = await find(client, task_id)
    with _changes(visit, standing) as woken:
        while True:
            standing = await find(client, task_id)
            left = min(LOOK_AGAIN_SECONDS, end - clock.monotonic())
            if standing.is_over or standing.asked or left <= 0:
                return standing
            await until(woken, clock, left)


def _changes(visit: Visit, standing: Standing) -> "AbstractContextManager[asyncio.Event]":
    return visit.follow(standing.plan.root_plan_id)


async def _find_held(client: Client, goal_id: str) -> Standing:
    """Return the standing of a goal with an approval by people, known by its own id from the beginning."""
    plans, missing = client.services.store.plans, f"no plan {goal_id} of {client.person.user_id}"
    reply, gate = await plans.expectation(goal_id), await plans.expectation(gate_id(goal_id))
    held = request_of(gate)
    if reply is None or reply.kind is not ExpectationKind.CLIENT or gate is None or held is None or not held.target:
        raise NotFound(missing)
    check(client.person, REQUESTS["reply"], reply, missing)
    return _standing(await state_of_held(client, held, held.target, gate), goal_id)


def _standing(state: GoalState, task_id: str) -> Standing:
    return Standing(task_id, state.plan, state.waits, state.rejected)
