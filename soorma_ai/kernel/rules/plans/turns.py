"""Turn of a plan: the incoming event, its meaning, and whether there is anything to decide.

`TurnFacts` holds the rows for it; a firing join and an approved request need more rows, read by the caller before it
continues with `fire` or `release`.
"""

from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from soorma_ai.errors import LimitExceeded
from soorma_ai.kernel.domain.decisions import AcceptedDecision
from soorma_ai.kernel.domain.effects import AppendStep, PlanChange
from soorma_ai.kernel.domain.events import SYSTEM, EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind
from soorma_ai.kernel.domain.history import JoinProgress, StepKind
from soorma_ai.kernel.domain.people import Proposal
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.rules.plans.give_up import asks_for_help, failure_after
from soorma_ai.kernel.rules.plans.history import append_step
from soorma_ai.kernel.rules.plans.joins import as_branch, receive_branch
from soorma_ai.kernel.rules.plans.lifecycle import cancel, fail, has_something_to_come, is_overdue
from soorma_ai.kernel.rules.plans.requests import publish_or_hold
from soorma_ai.kernel.rules.plans.status import StatusTrigger, move
from soorma_ai.kernel.rules.plans.triggers import Trigger, receive
from soorma_ai.kernel.rules.waits.opening import Moment, first_opened
from soorma_ai.kernel.rules.waits.wakeups import DEADLINE_REACHED, FORKED, PHASE_ENTERED, STRANDED


class TurnFacts(Struct, frozen=True):
    """Stored facts about a plan, and its incoming event.

    `event` is the closing event of `met`. `open_now` is read for a plan about to end, or with nothing to come; `done`
    are the names of answered requests. `progress` is that of the join of `met`, without `met`.
    """

    event: EventEnvelope
    met: Expectation | None = None
    open_now: Sequence[Expectation] = ()
    done: Sequence[str] = ()
    progress: JoinProgress = field(default_factory=JoinProgress)


class Turn(Struct, frozen=True):
    """Result of a turn. Without an `outcome` nothing happened. `trigger` is the subject of a decision; `fires` the id
    of a join with complete results; `released` an approved request."""

    outcome: PlanChange | None = None
    trigger: Trigger | None = None
    fires: str | None = None
    released: Proposal | None = None


def is_stranded(event: EventEnvelope) -> bool:
    return event.type == STRANDED and event.source == SYSTEM


def enters_phase(event: EventEnvelope) -> bool:
    """Tell whether a plan wakes itself: the phase that it has entered begins with a turn of its own."""
    return event.type == PHASE_ENTERED and event.source == SYSTEM


def asks_anew(event: EventEnvelope) -> bool:
    """Tell whether a fork wakes itself for its next question."""
    return event.type == FORKED and event.source == SYSTEM


def take_turn(plan: PlanRecord, facts: TurnFacts, moment: Moment) -> Turn:
    """Take the turn of a plan that has not ended. Raise LimitExceeded at its deadline."""
    if plan.cancel_requested is not None:
        return Turn(cancel(plan, plan.cancel_requested, facts.open_now, moment, done=facts.done))
    must_have_time(plan, moment)
    if is_stranded(moment.cause):
        return _set_going(plan, facts.open_now, moment)
    if enters_phase(moment.cause):
        is_new = not has_something_to_come(facts.open_now)
        return Turn(PlanChange(plan), Trigger(f"You are in the phase {plan.current_state} now.")) if is_new else Turn()
    if asks_anew(moment.cause):
        is_next = plan.fork is not None and not has_something_to_come(facts.open_now)
        return Turn(PlanChange(plan), Trigger("")) if is_next else Turn()
    met = facts.met
    if met is None:
        return Turn()
    if met.kind is ExpectationKind.JOIN:
        return Turn(fires=None if facts.progress.fired else met.id)
    if met.branch_of is not None:
        return _receive_branch(plan, met, facts, moment)
    outcome, trigger = receive(plan, met, facts.event, moment)
    if asks_for_help(met) and (failure := failure_after(met)):
        return Turn(outcome.then(fail(outcome.plan, failure, facts.open_now, moment)))
    return Turn(outcome, released=trigger.released) if trigger.released else Turn(outcome, trigger)


def must_have_time(plan: PlanRecord, moment: Moment) -> None:
    """The timer's word counts as well: clocks step back, and its row is gone. A paused plan has all the time."""
    if plan.paused is not None:
        return
    called = moment.cause.type == DEADLINE_REACHED and moment.cause.source == SYSTEM
    if called or is_overdue(plan, moment.now):
        need = f"; since {plan.blocked.since} it needed an operator: {plan.blocked.reason}" if plan.blocked else ""
        raise LimitExceeded("deadline", f"the plan had until {plan.deadline}{need}")


def release(
    plan: PlanRecord, judged: AcceptedDecision, released: Proposal, gate: Expectation, moment: Moment
) -> PlanChange:
    """Publish an approved request. Every check ran again, but for the gate: the answer has passed it."""
    asked = publish_or_hold(plan, replace(judged, approval=None), moment, reply=released.reply)
    if gate.branch_of is not None:
        return as_branch(asked, gate.branch_of, gate.place)
    if gate.id != plan.awaits:
        return asked
    return replace(asked, plan=replace(asked.plan, awaits=first_opened(asked.effects).id))


def refuse_release(plan: PlanRecord, gate: Expectation, reason: str, progress: JoinProgress, moment: Moment) -> Turn:
    """Keep back an approved request that today's checks refuse. The plan decides again; of a branch, its join goes on.
    `progress` is that of the join."""
    name = gate.event_type
    text = f"{name} was approved, and today's checks refuse it, so it was not published: {reason}"
    kind = StepKind.LATE if gate.branch_of is not None and progress.fired else StepKind.EXPIRED
    kept = append_step(plan, kind, moment, name=name, note=text, expectation_id=gate.id)
    if gate.branch_of is None:
        return Turn(kept, Trigger(text, name=name, outcome="refused"))
    marked = (effect.step for effect in kept.effects if isinstance(effect, AppendStep))
    join_id = None if progress.fired else gate.branch_of
    steps = (AppendStep(replace(step, join_id=join_id, place=gate.place)) for step in marked)
    return Turn(PlanChange(kept.plan, tuple(steps)), fires=gate.branch_of if _is_full(progress) else None)


def _receive_branch(plan: PlanRecord, met: Expectation, facts: TurnFacts, moment: Moment) -> Turn:
    """Fire the join at a full count. At its deadline the timer's event fires it, in line behind the earlier ones."""
    outcome, trigger = receive_branch(plan, met, facts.event, moment, fired=facts.progress.fired)
    if trigger.released:
        return Turn(outcome, released=trigger.released)
    return Turn(outcome, fires=met.branch_of if _is_full(facts.progress) else None)


def _is_full(before: JoinProgress) -> bool:
    """Tell whether one more branch fills a join with this progress."""
    return not before.fired and before.needed is not None and before.came + 1 >= before.needed


def _set_going(plan: PlanRecord, open_now: Sequence[Expectation], moment: Moment) -> Turn:
    if has_something_to_come(open_now):
        return Turn()
    happened = "Nothing is left that the plan waits for."
    going = move(plan, StatusTrigger.GO, moment.now)
    return Turn(append_step(going, StepKind.RESUMED, moment, note=happened), Trigger(happened))
