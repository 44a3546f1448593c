"""Tasks as they are kept: found by their ids, and followed until they are over."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import AbstractContextManager, aclosing

from a2a.types import TaskState

from soorma_ai.agents.mounts import Visit
from soorma_ai.context_parts.progress import ActionStatus
from soorma_ai.errors import NotFound
from soorma_ai.features.tracking.progress import action
from soorma_ai.gateways.a2a.tasks import TURN_OVER, PlanTaskState, SentRequest, mark_of
from soorma_ai.gateways.goals import GoalState, rejection_of, request_of, state_of_held, state_of_plan
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, ExpectationStatus, Wait
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.replies import content_of
from soorma_ai.kernel.rules.authority import check
from soorma_ai.kernel.rules.waits.gates import gate_id
from soorma_ai.kernel.runtime.client.client import REQUESTS, Client
from soorma_ai.kernel.runtime.handling.process.signals import until
from soorma_ai.kernel.runtime.views.plans import own_plan

# What came is told at once; this is for what no event told. Only the reply of a request wakes.
LOOK_AGAIN_SECONDS = 5.0
LOOK_AT_REQUEST_SECONDS = 1.0


async def find(client: Client, task_id: str) -> PlanTaskState:
    """Return the state of a task: a plan, a goal before its approval by people, or a request. Raise NotFound."""
    try:
        plan = await own_plan(client.services, client.person, task_id)
    except NotFound:
        return await _find_sent(client, task_id)
    return await _plan_task_state(client, plan, task_id)


async def follow(
    visit: Visit, client: Client, task_id: str, seconds: float | None = None
) -> AsyncGenerator[PlanTaskState, None]:
    """Yield the state of a task now, and after every change, until its end or the end of the time."""
    clock = client.services.clock
    end = None if seconds is None else clock.monotonic() + seconds
    begun, last = await find(client, task_id), None
    longest = LOOK_AT_REQUEST_SECONDS if begun.is_request else LOOK_AGAIN_SECONDS
    with _changes(visit, client, begun) as woken:
        while True:
            standing = await find(client, task_id)
            mark = mark_of(standing)
            if mark != last:
                last = mark
                yield standing
            left = longest if end is None else min(longest, end - clock.monotonic())
            if standing.is_final or left <= 0:
                return
            await until(woken, clock, left)


def _changes(visit: Visit, client: Client, standing: PlanTaskState) -> AbstractContextManager[asyncio.Event]:
    """An event that is set when a task may have changed."""
    if standing.is_request:
        return client.services.signals.notice_of(standing.task_id)
    return visit.follow(standing.plan.root_plan_id)


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


async def _plan_task_state(client: Client, plan: PlanRecord, task_id: str) -> PlanTaskState:
    return _task_state(await state_of_plan(client, plan), task_id)


def _task_state(state: GoalState, task_id: str) -> PlanTaskState:
    return PlanTaskState(task_id, state.plan, state.waits, state.rejected)


async def _find_sent(client: Client, sent_id: str) -> PlanTaskState:
    """Return the state of a request, or of a goal with an approval, known by its own id from the beginning."""
    plans, missing = client.services.store.plans, f"no task {sent_id} of {client.person.user_id}"
    reply, gate = await plans.expectation(sent_id), await plans.expectation(gate_id(sent_id))
    if reply is None or reply.kind is not ExpectationKind.CLIENT:
        raise NotFound(missing)
    check(client.person, REQUESTS["reply"], reply, missing)
    sent = request_of(gate) or await client.services.store.events.event(sent_id)
    if sent is None or (sent.target and gate is None):
        raise NotFound(missing)
    if sent.target is None or gate is None:
        return await _request_task_state(client, sent, reply, gate)
    return _task_state(await state_of_held(client, sent, sent.target, gate), sent_id)


async def _request_task_state(
    client: Client, request: EventEnvelope, expected: Expectation, gate: Expectation | None
) -> PlanTaskState:
    """Return the state of a request to a tool or a worker."""
    store = client.services.store
    reply = await store.events.event(expected.met_by) if expected.met_by else None
    handed = await store.events.receivers_of([request.id])
    found = action(request, expected, reply, handed, None)
    result = content_of(reply.data) if reply and found.status is ActionStatus.COMPLETED else None
    sent = SentRequest(request, found, result)
    rejected = rejection_of(gate) if gate and found.status is ActionStatus.FAILED else None
    asked = [] if found.status.is_final else await _questions_of(client, request.id, gate)
    return PlanTaskState(request.id, sent, _questions(asked), rejected)


async def _questions_of(client: Client, request_id: str, gate: Expectation | None) -> list[Expectation]:
    """Return the open approval of a request, and the open questions of its workers."""
    plans = client.services.store.plans
    found = [gate] if gate is not None and gate.status is ExpectationStatus.OPEN else []
    for agent in await plans.agents_of_task(request_id):
        found += await plans.task_expectations(agent, request_id)
    return found


def _questions(found: Sequence[Expectation]) -> tuple[Wait, ...]:
    return tuple(wait for one in found if (wait := Wait.of(one)))
