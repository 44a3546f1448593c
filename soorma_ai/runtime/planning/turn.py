"""A planner's turn: what the delivered event means for its plan, before anything is decided."""

from contextlib import suppress
from dataclasses import dataclass, replace

from soorma_ai.core.deciding.judge import Situation, judge
from soorma_ai.core.deciding.offer import make_offer
from soorma_ai.core.deciding.prompt import HISTORY_STEPS
from soorma_ai.core.expecting.wakeups import ANSWERED, DEADLINE_REACHED, STRANDED
from soorma_ai.core.plan.joins import as_branch, came_mark, fire, fired_mark, need_of, receive_branch
from soorma_ai.core.plan.lifecycle import PARENT_CANCELLED, begin, cancel, fail, is_overdue
from soorma_ai.core.plan.outcome import Outcome, step
from soorma_ai.core.plan.requests import delegate, request
from soorma_ai.core.plan.status import moved
from soorma_ai.core.plan.triggers import Trigger, receive
from soorma_ai.domain.decisions import DelegateAction, PlannerDecision, PublishAction
from soorma_ai.domain.effects import Expect
from soorma_ai.domain.events import SYSTEM, EventEnvelope
from soorma_ai.domain.expectations import Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.domain.history import StepKind
from soorma_ai.domain.limits import Limits
from soorma_ai.domain.people import Proposal
from soorma_ai.domain.plans import PlanRecord, PlanStatus
from soorma_ai.domain.replies import Failure
from soorma_ai.errors import ConfigError, LimitExceeded, NotFound
from soorma_ai.runtime.handling.handling import Handling


@dataclass(frozen=True)
class Beginner:
    """What a new plan gets from its planner."""

    limits: Limits
    version: str
    prompt_id: str | None = None


async def begin_turn(handling: Handling, beginner: Beginner) -> Trigger | None:
    """For a goal: makes its plan. None: it was cancelled before it began."""
    await _begin(handling, beginner)
    if handling.plan.cancel_requested is not None:
        handling.apply(cancel(handling.plan, handling.plan.cancel_requested, [], handling.moment()))
        return None
    _must_have_time(handling)
    return Trigger("The goal came.")


async def goal_of(handling: Handling) -> EventEnvelope:
    """The goal of the plan in hand."""
    goal = await handling.services.store.event(handling.plan.goal_id)
    if goal is None:
        raise NotFound(f"the goal {handling.plan.goal_id} of plan {handling.plan.plan_id} is not stored any more")
    return goal


async def continue_turn(handling: Handling) -> Trigger | None:
    """For what a plan was waiting for. None: there is nothing to decide (any more)."""
    plan = await handling.services.store.plan(handling.delivery.owner)
    if plan is None:
        raise NotFound(f"no plan {handling.delivery.owner} for {handling.event.type!r}")
    if plan.status.is_final:
        return None
    handling.load(plan)
    if plan.cancel_requested is not None:
        done = [step.name for step in await handling.history(HISTORY_STEPS) if step.kind is StepKind.REPLIED]
        handling.apply(cancel(plan, plan.cancel_requested, await handling.open_now(), handling.moment(), done=done))
        return None
    _must_have_time(handling)
    if handling.event.type == STRANDED and handling.event.source == SYSTEM:
        return await _set_going(handling)
    event = await _closing_event(handling)
    met = await handling.services.store.met_by(plan.plan_id, event.id)
    if met is None:
        return None
    if met.kind is ExpectationKind.JOIN:
        return await _overdue(handling, met)
    if met.branch_of is not None:
        return await _branch_came(handling, met, met.branch_of, event)
    handling.closed = (met, event)
    outcome, trigger = receive(plan, met, event, handling.moment())
    handling.apply(outcome)
    return await _released(handling, trigger.released) if trigger.released else trigger


async def _branch_came(handling: Handling, met: Expectation, join_id: str, event: EventEnvelope) -> Trigger | None:
    """A trigger only if it makes the join's count full. At its deadline a join is fired by the timer's word, which
    stands in line behind what came before."""
    store = handling.services.store
    fired = next(iter(await store.marked(handling.plan.plan_id, fired_mark(join_id))), None)
    outcome, trigger = receive_branch(handling.plan, met, event, handling.moment(), fired=fired)
    handling.apply(outcome)
    if trigger.released:
        return await _released(handling, trigger.released, branch=met)
    join = None if fired else await store.expectation(join_id)
    if join is None or join.status is not ExpectationStatus.OPEN:
        return None
    # This one's step is recorded, and not stored yet.
    if await store.repeats(handling.plan.plan_id, came_mark(join_id)) + 1 < need_of(join):
        return None
    return await _fired(handling, join)


async def _overdue(handling: Handling, join: Expectation) -> Trigger | None:
    return None if await _has_fired(handling, join.id) else await _fired(handling, join)


async def _has_fired(handling: Handling, join_id: str) -> bool:
    return await handling.services.store.repeats(handling.plan.plan_id, fired_mark(join_id)) > 0


async def _fired(handling: Handling, join: Expectation) -> Trigger:
    mark = came_mark(join.id)
    stored = await handling.services.store.marked(handling.plan.plan_id, mark)
    came = [*stored, *(step for step in handling.steps_recorded if step.fingerprint == mark)]
    outcome, trigger = fire(handling.plan, join, came, await handling.open_now(), handling.moment())
    handling.apply(outcome)
    return trigger


async def _set_going(handling: Handling) -> Trigger | None:
    if await handling.will_be_woken():
        return None
    happened = "Nothing is left that the plan waits for."
    moment = handling.moment()
    running = moved(handling.plan, PlanStatus.RUNNING, moment.now)
    handling.apply(step(running, StepKind.RESUMED, moment, note=happened))
    return Trigger(happened)


def _must_have_time(handling: Handling) -> None:
    """The timer's word counts as well: clocks step back, and its row is gone."""
    called = handling.event.type == DEADLINE_REACHED and handling.event.source == SYSTEM
    if called or is_overdue(handling.plan, handling.services.clock.now()):
        raise LimitExceeded("deadline", f"the plan had until {handling.plan.deadline}")


async def _closing_event(handling: Handling) -> EventEnvelope:
    """The event that closed an expectation: this one, or the one it points at. An event that came before its wait,
    and that this agent handled then as a subscriber, can come to the plan only by such a wake-up."""
    event = handling.event
    if event.type == ANSWERED and event.source == SYSTEM and event.causation_id is not None:
        return await handling.services.store.event(event.causation_id) or event
    return event


async def fail_turn(handling: Handling, failure: Failure, beginner: Beginner) -> None:
    """The plan fails with this reason, and its caller is told. A goal that never got a plan gets one to fail."""
    plan = await handling.services.store.plan(handling.delivery.owner)
    if plan is None:
        await _begin(handling, beginner)
    elif plan.status.is_final:
        return
    else:
        handling.load(plan)
    handling.apply(fail(handling.plan, failure, await handling.open_now(), handling.moment()))


async def fail_taken_up(handling: Handling, failure: Failure) -> None:
    """The plan that the handler of another event had taken up."""
    plan = await handling.services.store.plan(handling.taken_up) if handling.taken_up else None
    if plan is not None and not plan.status.is_final:
        handling.load(plan)
        handling.apply(fail(plan, failure, await handling.open_now(), handling.moment()))


async def _begin(handling: Handling, beginner: Beginner) -> None:
    goal = handling.event
    parent: PlanRecord | None = None
    if goal.plan_id is not None:
        named = await handling.services.store.plan(goal.plan_id)
        parent = named if named and named.lineage.tenant_id == goal.tenant_id else None
    prompt = _label(handling, beginner.prompt_id)
    begun = begin(goal, parent, beginner.limits, beginner.version, handling.moment(), prompt=prompt)
    reason = await handling.services.store.cancellation(begun.plan.plan_id)
    if parent is not None and parent.status is PlanStatus.CANCELLED:
        reason = reason or PARENT_CANCELLED
    handling.apply(replace(begun, plan=replace(begun.plan, cancel_requested=reason)))


def _label(handling: Handling, prompt_id: str | None) -> str:
    """A prompt that cannot be had is told when it is needed: a plan that fails by it has to be begun as well."""
    with suppress(ConfigError):
        return handling.services.prompts.label(prompt_id) if prompt_id else ""
    return ""


async def _released(handling: Handling, proposal: Proposal, *, branch: Expectation | None = None) -> Trigger | None:
    """Publish what a person let go. Every check runs again, but for the gate: that is what they answered.
    An agent that is away for the moment is no reason to lose an approval, so the known events are the offer."""
    store, plan = handling.services.store, handling.plan
    offer = make_offer(plan.agent, await store.known_events(plan.lineage.tenant_id), (), None)
    action = _proposed(proposal)
    spent = await store.spent(plan.root_plan_id)
    if branch is not None:
        # Its action was reserved with those of the others.
        spent = replace(spent, actions=spent.actions - 1)
    situation = Situation(plan, offer, spent, handling.services.clock.now(), in_flight=await handling.in_flight())
    judged = judge(PlannerDecision(next_action=action), situation)
    match action:
        case PublishAction():
            asked = request(plan, action, judged.definition, handling.moment(), reply=proposal.reply)
        case DelegateAction():
            asked = delegate(plan, action, judged.definition, handling.moment(), reply=proposal.reply)
    if branch and branch.branch_of:
        handling.apply(as_branch(asked, branch.branch_of, branch.place))
        return None
    handling.apply(asked)
    if handling.closed and handling.closed[0].id == plan.awaits:
        opened = next(effect.expectation.id for effect in asked.effects if isinstance(effect, Expect))
        handling.apply(Outcome(replace(asked.plan, awaits=opened)))
    return None


def _proposed(proposal: Proposal) -> PublishAction | DelegateAction:
    name, data = proposal.event_type, proposal.data
    if proposal.target is None:
        return PublishAction(event_type=name, data=data)
    return DelegateAction(target_planner=proposal.target, goal_event=name, goal_data=data)
