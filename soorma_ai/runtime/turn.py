"""A planner's turn: what the delivered event means for its plan, before anything is decided."""

from dataclasses import dataclass, replace

from soorma_ai.core.asking import request
from soorma_ai.core.ending import Failure, begin, cancel, fail, is_overdue
from soorma_ai.core.offer import make_offer
from soorma_ai.core.receive import Trigger, receive
from soorma_ai.core.validate import Situation, judge
from soorma_ai.core.wake import ANSWERED, DEADLINE_REACHED, SOURCE
from soorma_ai.domain.decisions import PlannerDecision, PublishAction
from soorma_ai.domain.events import EventEnvelope
from soorma_ai.domain.limits import Limits
from soorma_ai.domain.plans import PlanRecord
from soorma_ai.domain.waits import Proposal
from soorma_ai.errors import LimitExceeded, NotFound
from soorma_ai.runtime.context import Handling


@dataclass(frozen=True)
class Beginner:
    """What a new plan gets from its planner."""

    limits: Limits
    version: str


async def begin_turn(handling: Handling, beginner: Beginner) -> Trigger | None:
    """For a goal: makes its plan. None: it was cancelled before it began."""
    await _begin(handling, beginner)
    if handling.plan.cancel_requested is not None:
        handling.apply(cancel(handling.plan, handling.plan.cancel_requested, [], handling.moment()))
        return None
    _must_have_time(handling)
    return Trigger("The goal came.")


async def continue_turn(handling: Handling) -> Trigger | None:
    """For what a plan was waiting for. None: there is nothing to decide (any more)."""
    plan = await handling.services.store.plan(handling.delivery.owner)
    if plan is None:
        raise NotFound(f"no plan {handling.delivery.owner} for {handling.event.type!r}")
    if plan.status.is_final:
        return None
    handling.load(plan)
    if plan.cancel_requested is not None:
        handling.apply(cancel(plan, plan.cancel_requested, await handling.open_now(), handling.moment()))
        return None
    _must_have_time(handling)
    event = await _closing_event(handling)
    met = await handling.services.store.met_by(plan.plan_id, event.id)
    if met is None:
        return None
    outcome, trigger = receive(plan, met, event, handling.moment())
    handling.apply(outcome)
    return await _released(handling, trigger.released) if trigger.released else trigger


def _must_have_time(handling: Handling) -> None:
    """The timer's word counts as well: clocks step back, and its row is gone."""
    called = handling.event.type == DEADLINE_REACHED and handling.event.source == SOURCE
    if called or is_overdue(handling.plan, handling.services.clock.now()):
        raise LimitExceeded("deadline", f"the plan had until {handling.plan.deadline}")


async def _closing_event(handling: Handling) -> EventEnvelope:
    """The event that closed an expectation: this one, or the one it points at. An event that came before its wait,
    and that this agent handled then as a subscriber, can come to the plan only by such a wake-up."""
    event = handling.event
    if event.type == ANSWERED and event.source == SOURCE and event.causation_id is not None:
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


async def _begin(handling: Handling, beginner: Beginner) -> None:
    goal = handling.event
    parent: PlanRecord | None = None
    if goal.plan_id is not None:
        named = await handling.services.store.plan(goal.plan_id)
        parent = named if named and named.lineage.tenant_id == goal.tenant_id else None
    begun = begin(goal, parent, beginner.limits, beginner.version, handling.moment())
    reason = await handling.services.store.cancellation(begun.plan.plan_id)
    handling.apply(replace(begun, plan=replace(begun.plan, cancel_requested=reason)))


async def _released(handling: Handling, proposal: Proposal) -> Trigger | None:
    """Publish what a person let go. Every check runs again, but for the gate: that is what they answered.
    An agent that is away for the moment is no reason to lose an approval, so the known events are the offer."""
    store, plan = handling.services.store, handling.plan
    offer = make_offer(plan.agent, await store.known_events(plan.lineage.tenant_id), (), None)
    action = PublishAction(event_type=proposal.event_type, data=proposal.data)
    situation = Situation(
        plan,
        offer,
        await store.spent(plan.root_plan_id),
        handling.services.clock.now(),
        in_flight=len(await handling.open_now()),
    )
    judged = judge(PlannerDecision(next_action=action), situation)
    handling.apply(request(plan, action, judged.definition, handling.moment()))
    return None
