"""Runs: a plan from its goal, or from answers to its questions, up to its end or to the next questions."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Sequence

from ag_ui.core import BaseEvent, ResumeEntry
from msgspec import Struct

from soorma_ai.agents.mounts import Visit
from soorma_ai.errors import IllegalTransition, LocalProtocolError, NotFound
from soorma_ai.gateways.ag_ui.events import OF_EITHER, OpenActivities, end_of, events_of, run_error, run_interrupt
from soorma_ai.gateways.ag_ui.inputs import GivenAnswer, RunInput, answer_of
from soorma_ai.gateways.goals import GoalState, begin_goal, payload_of, request_of, state_of_held, state_of_plan
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, Wait
from soorma_ai.kernel.domain.history import Step, StepKind
from soorma_ai.kernel.domain.people import ACCEPTED, INVALID
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus, plan_id_of
from soorma_ai.kernel.domain.values import clip, derived_id
from soorma_ai.kernel.rules.authority import can_answer
from soorma_ai.kernel.rules.waits.gates import gate_id
from soorma_ai.kernel.rules.waits.substitutes import answering_as
from soorma_ai.kernel.runtime.client.client import Client
from soorma_ai.kernel.runtime.client.intake import goal_taken
from soorma_ai.kernel.runtime.client.people import absent_of, own_question
from soorma_ai.kernel.runtime.handling.process.signals import until
from soorma_ai.kernel.runtime.views.plans import PAGE, own_plan

# What came is told at once; this is for what no event told, such as the refusal of a goal.
LOOK_AGAIN_SECONDS = 5.0
LOOK_AT_GOAL_SECONDS = 1.0
MOST_RESUMED = 50
_CURE = "give the fields of the goal in `forwardedProps`"


class Run(Struct, frozen=True):
    """Part of a plan's story, behind the step of the number `since`; -1: from the beginning on."""

    thread_id: str
    run_id: str
    goal_id: str
    plan_id: str
    root_plan_id: str
    since: int = -1


async def begin(client: Client, goal: str, given: RunInput) -> Run:
    """Submit the goal of a run; the same run again is the same plan. Raise as `submit` does."""
    taken = await goal_taken(client.services.store.registry, client.person.tenant_id, goal, None)
    payload = payload_of(given.words, given.data, taken.definition.payload_schema, _CURE)
    key = derived_id("ag-ui run", given.thread_id, given.run_id)
    begun = await begin_goal(client, goal, payload, session_id=given.thread_id, idempotency_key=key)
    return Run(given.thread_id, given.run_id, begun.goal_id, begun.plan_id, begun.plan_id)


async def resume(client: Client, goal: str, given: RunInput) -> Run:
    """Answer the questions of a run; the same run again gives the same answers.

    Raise NotFound for a question outside of this thread, LocalProtocolError for an answer that does not count, and
    IllegalTransition for one that came too late.
    """
    if len(given.resumed) > MOST_RESUMED:
        raise LocalProtocolError(f"resume: {len(given.resumed)} entries; give up to {MOST_RESUMED}")
    questions = [await _question(client, goal, given.thread_id, one.interrupt_id) for one in given.resumed]
    runs = {run.plan_id: run for run, _ in questions}
    if len(runs) > 1:
        raise LocalProtocolError("resume: the questions are of several plans; answer those of one plan in one run")
    if len({asked.id for _, asked in questions}) < len(questions):
        raise LocalProtocolError("resume: a question is answered twice; give one answer to each")
    # All of them are read before the first one counts.
    answers = [(asked, _read_answer(asked, entry)) for entry, (_, asked) in zip(given.resumed, questions, strict=True)]
    for asked, said in answers:
        person = client.person
        outcome = await client.answer(
            asked.id,
            said.payload,
            decision=said.decision,
            note=said.note,
            answer_id=derived_id("ag-ui answer", person.tenant_id, person.user_id, given.thread_id, asked.id),
        )
        if outcome == INVALID:
            raise LocalProtocolError(f"the answer to {asked.id} does not count: {outcome.detail}")
        if outcome != ACCEPTED:
            raise IllegalTransition(f"the answer to {asked.id} came {outcome}: {outcome.detail}")
    (run,) = runs.values()
    since = await _place_of(client, run.plan_id, [asked for asked, _ in answers])
    return Run(given.thread_id, given.run_id, run.goal_id, run.plan_id, run.root_plan_id, since)


async def follow(
    visit: Visit, client: Client, run: Run, after: int
) -> AsyncGenerator[tuple[int | None, BaseEvent] | None]:
    """Yield the events of a run behind the step of this number, the last one of each step with its number; None every
    few seconds without any."""
    services, opened = client.services, OpenActivities()
    begin = first = max(after, run.since) + 1
    with visit.follow(run.root_plan_id) as woken:
        while True:
            services.signals.check()
            # The steps last: an end or a question is told behind all of them.
            now = await _look(client, run)
            async for ordinal, told in _told_steps(client, run.plan_id, first):
                first = ordinal + 1
                opened.note(told)
                for event in told:
                    yield ordinal if event is told[-1] else None, event
            ends = await _end(client, run, now) if now is not None else []
            if now is not None and now.plan.status.is_final:
                ends = [*await _closings(client, now.plan, begin, opened), *ends]
            for event in ends:
                yield None, event
            if ends:
                return
            has_begun = now is not None and now.plan.status is not PlanStatus.PENDING
            await until(woken, services.clock, LOOK_AGAIN_SECONDS if has_begun else LOOK_AT_GOAL_SECONDS)
            yield None


def _read_answer(asked: Expectation, entry: ResumeEntry) -> GivenAnswer:
    wait = Wait.of(asked)
    assert wait is not None, f"{asked.id} is asked of people"
    return answer_of(wait, entry)


async def _place_of(client: Client, plan_id: str, asked: Sequence[Expectation]) -> int:
    """Return the number of the first step that asked one of these questions; -1 where a child or a worker asked one:
    then all steps are told again."""
    plan = await client.services.store.plans.plan(plan_id)
    if plan is None or any(one.plan_id != plan_id or one.task_id is not None for one in asked):
        return -1
    places, wanted, end = dict[str, int](), {one.id for one in asked}, plan.steps
    # From the end on: a question was mostly asked by one of the last steps.
    while end > 0 and places.keys() < wanted:
        for step in await _page(client, plan_id, max(0, end - PAGE), end):
            if step.kind in (StepKind.ASKED, StepKind.HELD) and step.expectation_id in wanted:
                places.setdefault(step.expectation_id, step.ordinal)
        end -= PAGE
    return min((places.get(one, -1) for one in wanted), default=-1)


async def _told_steps(
    client: Client, plan_id: str, first: int, end: int | None = None
) -> AsyncGenerator[tuple[int, list[BaseEvent]]]:
    """Yield steps as their numbers and events, up to a number or all of them, read in pages."""
    while end is None or first < end:
        steps = await _page(client, plan_id, first, None if end is None else min(end, first + PAGE))
        if not steps:
            return
        first = steps[-1].ordinal + 1
        kinds = await _kinds_of(client, steps)
        for step in steps:
            yield step.ordinal, events_of(step, kinds.get(step.expectation_id or ""))


async def _closings(client: Client, plan: PlanRecord, begin: int, opened: OpenActivities) -> list[BaseEvent]:
    """Return the last states of all that an ended plan left open, also of the steps before the begin of the run."""
    before = OpenActivities()
    async for _, told in _told_steps(client, plan.plan_id, 0, begin):
        before.note(told)
    return opened.closings(before, plan)


async def _page(client: Client, plan_id: str, first: int, end: int | None = None) -> list[Step]:
    """Return up to a page of steps, behind a turn of the loop."""
    await asyncio.sleep(0)
    return await client.services.store.plans.steps_at(plan_id, range(first, first + PAGE if end is None else end))


async def _kinds_of(client: Client, steps: Collection[Step]) -> dict[str, ExpectationKind]:
    """Return the kinds of the expectations of steps about requests and questions alike, by their ids."""
    ids = [step.expectation_id for step in steps if step.kind in OF_EITHER and step.expectation_id]
    found = await client.services.store.plans.expectations_by_id(ids) if ids else ()
    return {one.id: one.kind for one in found}


async def _look(client: Client, run: Run) -> GoalState | None:
    """Return the state of a run's goal; None before its begin. Raise NotFound for a removed plan."""
    store = client.services.store
    plan = await store.plans.plan(run.plan_id)
    if plan is not None:
        return await state_of_plan(client, plan)
    gate = await store.plans.expectation(gate_id(run.goal_id))
    sent = request_of(gate)
    if gate is not None and sent is not None and sent.target is not None:
        return await state_of_held(client, sent, sent.target, gate)
    if await store.events.event(run.goal_id) is None:
        raise NotFound("the plan is gone: it was removed")
    return None


async def _end(client: Client, run: Run, now: GoalState) -> list[BaseEvent]:
    """Return the last events of a run, empty while it goes on: while others have to answer, it goes on."""
    if now.rejected is not None:
        return [run_error(now.rejected, "rejected")]
    if now.plan.status.is_final:
        return end_of(now.plan, run.thread_id, run.run_id)
    asked = [wait for one in await _to_answer(client, now.asked) if (wait := Wait.of(one))]
    return [run_interrupt(run.thread_id, run.run_id, asked)] if asked else []


async def _to_answer(client: Client, asked: Sequence[Expectation]) -> list[Expectation]:
    """Return the questions that this caller may answer, by an own right or as the substitute of an absent person."""
    person, now = client.person, client.services.clock.now()
    absent = await absent_of(client.services.store, person, now) if asked else ()
    return [one for one in asked if can_answer(answering_as(one, person, absent, now), one, now)]


async def _question(client: Client, goal: str, thread_id: str, wait_id: str) -> tuple[Run, Expectation]:
    """Return a question of this thread, with the run of its plan. Raise NotFound for any other."""
    store, missing = client.services.store, f"no question {clip(wait_id, 80)} in this thread"
    asked = await own_question(store, client.person, wait_id, client.services.clock.now())
    sent = request_of(asked) if asked.root_plan_id is None else None
    if sent is not None and sent.target is not None:
        plan_id = plan_id_of(sent.id, sent.target)
        if (sent.type, sent.session_id, sent.user_id) != (goal, thread_id, client.person.user_id):
            raise NotFound(missing)
        return Run(thread_id, "", sent.id, plan_id, plan_id), asked
    try:
        plan = await own_plan(client.services, client.person, asked.root_plan_id or "")
    except NotFound as error:
        raise NotFound(missing) from error
    if (plan.goal_event, plan.lineage.session_id) != (goal, thread_id):
        raise NotFound(missing)
    return Run(thread_id, "", plan.goal_id, plan.plan_id, plan.root_plan_id), asked
