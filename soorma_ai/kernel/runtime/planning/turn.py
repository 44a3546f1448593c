"""Turn of a planner: the meaning of the delivered event for its plan, before any decision."""

from contextlib import suppress
from datetime import datetime

from msgspec.structs import replace

from soorma_ai.errors import ConfigError, DecisionError, NotFound
from soorma_ai.kernel.domain.decisions import AcceptedDecision
from soorma_ai.kernel.domain.effects import Disposition, Hold, PlanChange
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind
from soorma_ai.kernel.domain.history import JoinProgress, StepKind
from soorma_ai.kernel.domain.people import Answer, AnswerDecision, Proposal
from soorma_ai.kernel.domain.plan_state import PlanState
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.domain.replies import Failure
from soorma_ai.kernel.rules.choices.offer import make_offer
from soorma_ai.kernel.rules.decisions.judge import Situation, judge
from soorma_ai.kernel.rules.fold import progress_of
from soorma_ai.kernel.rules.plans.blocking import block, unblock
from soorma_ai.kernel.rules.plans.forks import refuse_to_send
from soorma_ai.kernel.rules.plans.give_up import asks_for_help
from soorma_ai.kernel.rules.plans.joins import branches_left_behind, fire
from soorma_ai.kernel.rules.plans.lifecycle import PARENT_CANCELLED, begin, cancel, fail
from soorma_ai.kernel.rules.plans.requests import decision_of
from soorma_ai.kernel.rules.plans.status import StatusTrigger, move
from soorma_ai.kernel.rules.plans.triggers import Trigger
from soorma_ai.kernel.rules.plans.turns import (
    Turn,
    TurnFacts,
    asks_anew,
    enters_phase,
    is_stranded,
    must_have_time,
    refuse_release,
    release,
    take_turn,
)
from soorma_ai.kernel.rules.prompting.history import tell_earlier
from soorma_ai.kernel.rules.waits.sentences import title_of
from soorma_ai.kernel.runtime.handling.handling import Handling, Services
from soorma_ai.kernel.runtime.handling.requests import closing_event, read_reply
from soorma_ai.kernel.runtime.planning.decide import check_decision_ahead
from soorma_ai.kernel.runtime.planning.forks import next_trigger
from soorma_ai.kernel.runtime.planning.settings import PlannerSettings

# Of what was done before a cancellation, the answers among so many last steps are told.
LAST_STEPS = 40
# Of a session, so many of the last plans are looked at: some go on still, or are parts of others.
MOST_OF_A_SESSION = 50
MOST_RESUMED = 10_000
EARLIER = "earlier in this session"


async def begin_turn(handling: Handling, settings: PlannerSettings) -> Trigger | None:
    """Make the plan of a goal, or go on with one that rested at its first step. None: it was cancelled before it
    began."""
    stored = await handling.services.store.plans.state(handling.delivery.owner)
    if stored is None:
        await _begin(handling, settings)
    elif stored.plan.status.is_final:
        return None
    else:
        handling.load(stored)
        handling.apply(PlanChange(move(handling.plan, StatusTrigger.GO, handling.services.clock.now())))
    plan, moment = handling.plan, handling.moment()
    if plan.cancel_requested is not None:
        handling.apply(cancel(plan, plan.cancel_requested, [], moment))
        return None
    must_have_time(plan, moment)
    return Trigger("The goal came.")


async def goal_of(handling: Handling) -> EventEnvelope:
    """The goal of the plan in hand."""
    goal = await handling.services.store.events.event(handling.plan.goal_id)
    if goal is None:
        raise NotFound(f"the goal {handling.plan.goal_id} of plan {handling.plan.plan_id} is not stored any more")
    return goal


async def recall_session(handling: Handling, most: int) -> None:
    """Keep with a new plan the results of its session's earlier plans, for its prompt."""
    lineage, values = handling.plan.lineage, handling.values
    if not most or lineage.session_id is None or EARLIER in values.session:
        return
    before = await handling.services.store.plans.plans(
        tenant_id=lineage.tenant_id,
        status=None,
        root_plan_id=None,
        limit=MOST_OF_A_SESSION,
        session_id=lineage.session_id,
        user_id=lineage.user_id,
    )
    if told := tell_earlier(handling.plan, before, most):
        values.session[EARLIER] = told


async def continue_turn(handling: Handling) -> Trigger | None:
    """Continue a plan at the end of a wait. None: there is nothing to decide (any more)."""
    event = await closing_event(handling.services.store.events, handling.event)
    state = await _state_at(handling, event)
    if state.plan.status.is_final:
        return None
    if not handling.has_plan:
        handling.load(state)
    plan, met = handling.plan, state.met.get(event.id)
    if met is not None:
        handling.met[handling.event.id] = met
    facts = await _facts(handling, event, met)
    turn = take_turn(plan, facts, handling.moment())
    if facts.met and facts.met.kind is not ExpectationKind.JOIN and facts.met.branch_of is None:
        handling.closed = (facts.met, facts.event)
    if turn.outcome:
        handling.apply(turn.outcome)
    if turn.released and facts.met:
        turn = await _release(handling, turn.released, facts.met)
    if turn.trigger is not None and asks_anew(handling.event):
        return await next_trigger(handling)
    return await _fire(handling, turn.fires) if turn.fires else turn.trigger


async def fail_turn(handling: Handling, failure: Failure, settings: PlannerSettings) -> None:
    """The plan fails with this reason, and its caller is told. A goal that never got a plan gets one to fail."""
    stored = await handling.services.store.plans.state(handling.delivery.owner)
    if stored is None:
        await _begin(handling, settings)
    elif stored.plan.status.is_final:
        return
    else:
        handling.load(stored)
    await fail_plan(handling, failure)


async def rest_turn(handling: Handling, disposition: Disposition, settings: PlannerSettings) -> None:
    """Let the plan sleep, with its deadline, until this delivery is handed over again: its model is away, or an
    operator has to resume it."""
    stored = await handling.services.store.plans.state(handling.delivery.owner)
    plan = stored.plan if stored else None
    if stored is None or plan is None:
        await _begin(handling, settings)
    elif plan.status in (PlanStatus.PENDING, PlanStatus.RUNNING) or isinstance(disposition, Hold) or plan.blocked:
        if plan.status.is_final:
            return
        handling.load(stored)
    else:
        return
    if isinstance(disposition, Hold):
        handling.apply(block(handling.plan, disposition.reason, handling.moment()))
    else:
        handling.apply(PlanChange(unblock(handling.plan, handling.services.clock.now())))


async def resume_at_start(services: Services, agent: str) -> None:
    """Let the plans of a planner in need of an operator ask again: a repaired key comes with a new process."""
    now, plans = services.clock.now(), services.store.plans
    for plan in await plans.blocked_plans(MOST_RESUMED, agent=agent):
        await plans.resume(plan.plan_id, now)


async def fail_taken_up(handling: Handling, failure: Failure) -> None:
    """The plan that the handler of another event had taken up."""
    stored = await handling.services.store.plans.state(handling.taken_up) if handling.taken_up else None
    if stored is not None and not stored.plan.status.is_final:
        handling.load(stored)
        await fail_plan(handling, failure)


async def fail_plan(handling: Handling, failure: Failure) -> None:
    handling.apply(fail(handling.plan, failure, handling.open_now, handling.moment()))


async def _state_at(handling: Handling, event: EventEnvelope) -> PlanState:
    """Return the state of the plan, as one before in the same run has left it; `met` has the expectation that this
    event closed."""
    plans, plan_id = handling.services.store.plans, handling.delivery.owner
    if not handling.has_plan:
        stored = await plans.state(plan_id, event.id)
        if stored is None:
            raise NotFound(f"no plan {plan_id} for {handling.event.type!r}")
        return stored
    if event.id not in handling.state.met and (met := await plans.find_met(plan_id, event.id)):
        handling.see_met(met)
    return handling.state


async def _facts(handling: Handling, event: EventEnvelope, met: Expectation | None) -> TurnFacts:
    """Read as little as the kind of the event allows: a branch of a hundred reads none of the others."""
    store, plan = handling.services.store, handling.plan
    if plan.cancel_requested is not None:
        last = await store.plans.steps(plan.plan_id, max(0, plan.steps - LAST_STEPS))
        done = [step.name for step in [*last, *handling.steps_recorded] if step.kind is StepKind.REPLIED]
        return TurnFacts(handling.event, open_now=handling.open_now, done=done)
    if is_stranded(handling.event) or enters_phase(handling.event) or asks_anew(handling.event):
        return TurnFacts(handling.event, open_now=handling.open_now)
    if met is not None:
        event = await read_reply(store.registry, met, event)
    join_id = None if met is None else met.id if met.kind is ExpectationKind.JOIN else met.branch_of
    if join_id is None:
        may_end = met is not None and asks_for_help(met)
        return TurnFacts(event, met, open_now=handling.open_now if may_end else ())
    return TurnFacts(event, met, progress=progress_of(handling.state, join_id))


async def _fire(handling: Handling, join_id: str) -> Trigger:
    join = await handling.services.store.plans.expectation(join_id)
    if join is None:
        raise NotFound(f"join {join_id} of plan {handling.plan.plan_id} is not stored any more")
    stored = await handling.services.store.plans.branches_that_came(handling.plan.plan_id, join.id)
    came = [*stored, *(step for step in handling.steps_recorded if step.join_id == join.id and not step.fires)]
    open_now = handling.open_now
    in_tree = await handling.services.store.plans.open_in_tree(handling.plan.root_plan_id)
    vain = branches_left_behind(join.id, open_now, in_tree)
    outcome, trigger = fire(handling.plan, join, came, open_now, handling.moment(), vain)
    handling.apply(outcome)
    return trigger


async def _release(handling: Handling, released: Proposal, gate: Expectation) -> Turn:
    """Publish an approved request; one that today's checks refuse is kept back, and the plan decides again. A fork that
    does not act ends."""
    if failure := refuse_to_send(handling.plan, released):
        await fail_plan(handling, failure)
        return Turn()
    try:
        judged = await _judge_released(handling, released, gate)
    except DecisionError as error:
        progress = progress_of(handling.state, gate.branch_of) if gate.branch_of is not None else JoinProgress()
        refused = refuse_release(handling.plan, gate, str(error), progress, handling.moment())
        if refused.outcome:
            handling.apply(refused.outcome)
        if handling.closed is not None:
            handling.closed = (_as_refused(gate, error, handling.services.clock.now()), handling.closed[1])
        return refused
    handling.apply(release(handling.plan, judged, released, gate, handling.moment()))
    return Turn()


def _as_refused(gate: Expectation, error: DecisionError, now: datetime) -> Expectation:
    """Return the gate as a state machine sees it: rejected, by the registry of today."""
    return replace(gate, answer=Answer("", {}, AnswerDecision.REJECT, "today's registry", now, str(error)))


async def _judge_released(handling: Handling, released: Proposal, gate: Expectation) -> AcceptedDecision:
    """An agent that is away for the moment is no reason to lose an approval, so the known events are the offer."""
    store, plan = handling.services.store, handling.plan
    offer = make_offer(plan.agent, await store.registry.all_events(plan.lineage.tenant_id), (), None)
    spent = handling.state.spent
    if gate.branch_of is not None:
        # Its action was reserved with those of the others.
        spent = replace(spent, actions=spent.actions - 1)
    situation = Situation(plan, offer, spent, handling.services.clock.now(), in_flight=handling.in_flight)
    decision = decision_of(released.event_type, released.data, released.target)
    await check_decision_ahead(plan.lineage.tenant_id, decision, offer)
    return judge(decision, situation)


async def _begin(handling: Handling, settings: PlannerSettings) -> None:
    goal, store = handling.event, handling.services.store
    named = await store.plans.plan(goal.plan_id) if goal.plan_id is not None else None
    parent = named if named and named.lineage.tenant_id == goal.tenant_id else None
    prompt = _label(handling, settings.prompt_id)
    begun = begin(goal, parent, settings.limits, settings.version, handling.moment(), prompt=prompt)
    reason = await store.plans.cancellation(begun.plan.plan_id)
    if parent is not None and parent.status is PlanStatus.CANCELLED:
        reason = reason or PARENT_CANCELLED
    title = title_of(settings.title, goal.data)
    await handling.begin_plan(replace(begun, plan=replace(begun.plan, cancel_requested=reason, title=title)))


def _label(handling: Handling, prompt_id: str | None) -> str:
    """A prompt that cannot be had is told when it is needed: a plan that fails by it has to be begun as well."""
    with suppress(ConfigError):
        return handling.services.prompts.label(prompt_id) if prompt_id else ""
    return ""
