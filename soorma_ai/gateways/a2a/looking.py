"""Tasks as they are kept: found by their ids, and followed until they are over."""

from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing

from a2a.types import TaskState

from soorma_ai.agents.mounts import Visit
from soorma_ai.errors import NotFound
from soorma_ai.gateways.a2a.tasks import TURN_OVER, PlanTaskState
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, ExpectationStatus, Wait
from soorma_ai.kernel.domain.people import AnswerDecision
from soorma_ai.kernel.domain.plans import PlanRecord, plan_id_of
from soorma_ai.kernel.rules.authority import check
from soorma_ai.kernel.rules.plans.lifecycle import before_it_began
from soorma_ai.kernel.rules.waits.gates import gate_id
from soorma_ai.kernel.runtime.client.client import REQUESTS, Client
from soorma_ai.kernel.runtime.handling.process.signals import until
from soorma_ai.kernel.runtime.views.plans import own_plan

# What came is told at once; this is for what no event told.
LOOK_AGAIN_SECONDS = 5.0


async def find(client: Client, task_id: str) -> PlanTaskState:
    """Return the state of a task: a plan, or a goal before its approval by people. Raise NotFound."""
    try:
        plan = await own_plan(client.services, client.person, task_id)
    except NotFound:
        return await _find_held(client, task_id)
    return await _plan_task_state(client, plan, task_id)


async def follow(
    visit: Visit, client: Client, task_id: str, seconds: float | None = None
) -> AsyncGenerator[PlanTaskState, None]:
    """Yield the state of a task now, and after every change, until its end or the end of the time."""
    clock = client.services.clock
    end = None if seconds is None else clock.monotonic() + seconds
    root, last = (await find(client, task_id)).plan.root_plan_id, None
    with visit.follow(root) as woken:
        while True:
            standing = await find(client, task_id)
            mark = (standing.state, tuple(wait.wait_id for wait in standing.asked))
            if mark != last:
                last = mark
                yield standing
            left = LOOK_AGAIN_SECONDS if end is None else min(LOOK_AGAIN_SECONDS, end - clock.monotonic())
            if standing.is_final or left <= 0:
                return
            await until(woken, clock, left)


async def turn_of(
    visit: Visit, client: Client, task_id: str, seconds: float, over: Collection[TaskState] = TURN_OVER
) -> PlanTaskState:
    """Return the state of a task at the end of its turn, or of the time."""
    standing: PlanTaskState | None = None
    async with aclosing(follow(visit, client, task_id, seconds)) as changes:
        async for standing in changes:
            if standing.state in over:
                break
    return standing or await find(client, task_id)


def request_of(gate: Expectation | None) -> EventEnvelope | None:
    """Return the request of a gate, open or closed, as it was made."""
    return gate.ask.proposal.request if gate and gate.ask and gate.ask.proposal else None


async def _plan_task_state(client: Client, plan: PlanRecord, task_id: str) -> PlanTaskState:
    if plan.status.is_final:
        return PlanTaskState(task_id, plan)
    is_root = plan.plan_id == plan.root_plan_id
    found = await client.services.store.plans.open_in_tree(plan.root_plan_id)
    return PlanTaskState(task_id, plan, _questions([one for one in found if is_root or one.plan_id == plan.plan_id]))


async def _find_held(client: Client, goal_id: str) -> PlanTaskState:
    """Return the state of a goal with an approval, known by its own id from the beginning."""
    plans, missing = client.services.store.plans, f"no task {goal_id} of {client.person.user_id}"
    reply, gate = await plans.expectation(goal_id), await plans.expectation(gate_id(goal_id))
    goal = request_of(gate)
    if reply is None or reply.kind is not ExpectationKind.CLIENT or gate is None or goal is None or not goal.target:
        raise NotFound(missing)
    check(client.person, REQUESTS["reply"], reply, missing)
    begun = await plans.plan(plan_id_of(goal.id, goal.target))
    if begun is not None:
        return await _plan_task_state(client, begun, goal_id)
    plan = before_it_began(goal, goal.target)
    if gate.status is ExpectationStatus.OPEN:
        return PlanTaskState(goal_id, plan, _questions([gate]))
    return PlanTaskState(goal_id, plan, rejected=_rejection(gate))


def _rejection(gate: Expectation) -> str | None:
    """Return the reason of a goal's refusal; None without one."""
    if gate.answer is None:
        waited = gate.status is ExpectationStatus.EXPIRED and gate.ask is not None
        silence = gate.ask.on_expiry if gate.ask else AnswerDecision.REJECT
        return "it was not approved in time" if waited and silence is AnswerDecision.REJECT else None
    if gate.answer.decision in (AnswerDecision.APPROVE, AnswerDecision.EDIT):
        return None
    said = gate.answer.note or gate.answer.payload.get("note")
    return f"rejected by {gate.answer.by}" + (f": {said}" if said else "")


def _questions(found: Sequence[Expectation]) -> tuple[Wait, ...]:
    return tuple(wait for one in found if (wait := Wait.of(one)))
