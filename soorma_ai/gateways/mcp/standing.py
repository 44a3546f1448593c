"""Standing of a goal: its plan, or before an approval its gate; found by its id, and followed for some time."""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from msgspec import Struct

from soorma_ai.agents.mounts import Visit
from soorma_ai.errors import NotFound
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, ExpectationStatus, Wait
from soorma_ai.kernel.domain.people import AnswerDecision
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus, plan_id_of
from soorma_ai.kernel.rules.authority import check
from soorma_ai.kernel.rules.plans.lifecycle import before_it_began
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
    return await _of_plan(client, plan, task_id)


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


async def _of_plan(client: Client, plan: PlanRecord, task_id: str) -> Standing:
    if plan.status.is_final:
        return Standing(task_id, plan)
    is_root = plan.plan_id == plan.root_plan_id
    found = await client.services.store.plans.open_in_tree(plan.root_plan_id)
    return Standing(task_id, plan, _questions([one for one in found if is_root or one.plan_id == plan.plan_id]))


async def _find_held(client: Client, goal_id: str) -> Standing:
    """Return the standing of a goal with an approval by people, known by its own id from the beginning."""
    plans, missing = client.services.store.plans, f"no plan {goal_id} of {client.person.user_id}"
    reply, gate = await plans.expectation(goal_id), await plans.expectation(gate_id(goal_id))
    held = gate.ask.proposal.request if gate and gate.ask and gate.ask.proposal else None
    if reply is None or reply.kind is not ExpectationKind.CLIENT or gate is None or held is None or not held.target:
        raise NotFound(missing)
    check(client.person, REQUESTS["reply"], reply, missing)
    begun = await plans.plan(plan_id_of(held.id, held.target))
    if begun is not None:
        return await _of_plan(client, begun, goal_id)
    waiting = before_it_began(held, held.target)
    if gate.status is ExpectationStatus.OPEN:
        return Standing(goal_id, waiting, _questions([gate]))
    return Standing(goal_id, waiting, rejected=_rejection(gate))


def _rejection(gate: Expectation) -> str | None:
    if gate.answer is None:
        waited = gate.status is ExpectationStatus.EXPIRED and gate.ask is not None
        silence = gate.ask.on_expiry if gate.ask else AnswerDecision.REJECT
        return "it was not approved in time" if waited and silence is AnswerDecision.REJECT else None
    if gate.answer.decision in (AnswerDecision.APPROVE, AnswerDecision.EDIT):
        return None
    said = gate.answer.note or gate.answer.payload.get("note")
    return f"rejected by {gate.answer.by}" + (f": {said}" if said else "")


def _questions(found: list[Expectation]) -> tuple[Wait, ...]:
    return tuple(wait for one in found if (wait := Wait.of(one)))
