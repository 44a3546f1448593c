"""Beginning of a fork, made of the beginning of another plan. Pure."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.features.trials.forks.records import ForkChange
from soorma_ai.features.trials.rules import is_of_step
from soorma_ai.kernel.domain.effects import AppendStep, Effect, Publish, SavePlan, SaveValue, Schedule, Spend
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.history import Step, StepKind
from soorma_ai.kernel.domain.plans import Fork, PlanRecord, PlanValue, ValueKind
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.rules.decisions.stored_question import StoredQuestion, find_missing
from soorma_ai.kernel.rules.plans.lifecycle import fork_plan, timer_of
from soorma_ai.kernel.rules.prompting.fence import fence
from soorma_ai.kernel.rules.waits.wakeups import DEADLINE_REACHED, FORKED, wake_plan

NOTE, OPEN_THEN = "note of this fork", "open at this decision, and without an answer in this fork"
ANSWERED_LATER = "answered after this decision"
# Values that only an author's code, a state machine or phases keep: the log has their last state alone.
_LAST_STATE = {
    ValueKind.MACHINE: "it goes by a state machine",
    ValueKind.STATE: "its planner's code keeps values",
    ValueKind.CONTEXT: "its planner's code gives the model a context",
    ValueKind.PHASE: "it goes through phases",
    ValueKind.PAUSE: "it was paused by its planner's code",
}
_OPENING = (StepKind.PUBLISHED, StepKind.DELEGATED, StepKind.HELD, StepKind.ASKED)
_CLOSING = (StepKind.REPLIED, StepKind.ANSWERED, StepKind.RECEIVED, StepKind.EXPIRED, StepKind.LATE)
_ANSWERS = (StepKind.REPLIED, StepKind.LATE)


class Beginning(Struct, frozen=True):
    """Rows of the origin at one of its questions: the `stored` question with its `inputs`, all steps, all values. Its
    join `is_join_gone` with an older plan."""

    stored: StoredQuestion
    inputs: JsonObject
    steps: Sequence[Step]
    values: Sequence[PlanValue]
    is_join_gone: bool = False

    @property
    def known(self) -> list[Step]:
        """Steps that were known at the question."""
        sent = self.stored.entry.sent
        return [step for step in self.steps if sent is not None and step.ordinal <= sent.last]

    @property
    def session(self) -> dict[str, Json]:
        return {one.key: one.value for one in self.values if one.kind is ValueKind.SESSION}


def find_hindrance(begun: Beginning) -> str | None:
    """Return the reason against a fork at this question, with the cure."""
    if missing := find_missing(begun.stored):
        return f"{missing[0]}; fork at a later decision, or keep prompts longer"
    if not is_of_step(begun.inputs):
        return "it is no step of a ChoreographyPlanner; fork at a decision about one step"
    kinds = {one.kind for one in begun.values}
    if reasons := [reason for kind, reason in _LAST_STATE.items() if kind in kinds]:
        return f"{reasons[0]}, and the log has their last state alone; use `soorma trial` for its decisions"
    if begun.inputs.get("custom_context") != (fence(begun.session) if begun.session else ""):
        return "its question has a context by its planner's code; use `soorma trial` for its decisions"
    if _trigger_of(begun) is None:
        return "its question tells of an event outside of the plan's steps; fork at the decision before"
    if begun.is_join_gone:
        return "the row of its join was removed with an older plan; fork at a later decision, or a newer plan"
    known = begun.known
    if [step.ordinal for step in known] != [*range(len(known))] or not known:
        return "its first steps are not kept any more; fork a newer plan"
    return None


class _FirstTrigger(Struct, frozen=True):
    text: str
    said: str = ""
    join_id: str | None = None


def _trigger_of(begun: Beginning) -> _FirstTrigger | None:
    """Return the recorded trigger, whose data are those of the last step; None for other data."""
    sent, told = begun.stored.entry.sent, begun.inputs.get("trigger")
    if sent is not None and "trigger" in sent.made:
        return _FirstTrigger(sent.text, sent.said, sent.join_id)
    match told:
        case {"text": str(text), "data": "", "said": ""}:
            return _FirstTrigger(text)
        case _:
            return None


def fork_of(begun: Beginning, number: int, by: str, change: ForkChange) -> Fork:
    """Return the origin of a fork without a hindrance."""
    trigger = _trigger_of(begun) or _FirstTrigger("")
    return Fork(
        plan_id=begun.stored.plan.plan_id,
        number=number,
        by=by,
        last=len(begun.known) - 1,
        acts=change.acts,
        is_dry=change.is_dry,
        model=change.model,
        text=trigger.text,
        said=trigger.said,
        join_id=trigger.join_id,
    )


def begin_fork(
    begun: Beginning, fork: Fork, note: str, plan_id: str, now: datetime
) -> tuple[PlanRecord, tuple[Effect, ...]]:
    """Return the new plan, and the effects of its begin: the copied steps, its values, the spent actions, its
    deadline, and the wake-up for its first question."""
    plan = fork_plan(begun.stored.plan, fork, plan_id, now)
    wake = wake_plan(FORKED, plan, now)
    plan = replace(plan, goal_id=wake.id, lineage=replace(plan.lineage, goal_id=wake.id))
    due = plan.deadline
    timer = [Schedule(timer_of(plan), due, wake_plan(DEADLINE_REACHED, plan, due))] if due else []
    return plan, (
        SavePlan(plan, None),
        *(AppendStep(replace(step, plan_id=plan_id)) for step in begun.known),
        *_values_of(begun, plan, note),
        Spend(plan_id, spent_actions(begun), None),
        *timer,
        Publish(_first_event(wake, plan)),
    )


def _first_event(wake: EventEnvelope, plan: PlanRecord) -> EventEnvelope:
    return wake.model_copy(update={"goal_id": plan.goal_id, "causation_id": None})


def _values_of(begun: Beginning, plan: PlanRecord, note: str) -> Iterable[SaveValue]:
    """Return the values that the model is told of at each question, and the results by their requests."""
    told: dict[str, Json] = {**begun.session}
    later, open_then = answered_later(begun), list[Json](unanswered(begun, is_dry=_is_dry(plan)))
    told |= {NOTE: note} if note else {}
    told |= {ANSWERED_LATER: later} if later and _is_dry(plan) else {}
    told |= {OPEN_THEN: open_then} if open_then else {}
    yield from (SaveValue(plan.plan_id, ValueKind.SESSION, key, value) for key, value in told.items())
    results = {
        step.name: step.data
        for step in begun.known
        if step.kind in (StepKind.REPLIED, StepKind.RECEIVED) and step.join_id is None
    }
    yield from (SaveValue(plan.plan_id, ValueKind.RESULT, key, value) for key, value in results.items())


def note_of(values: Iterable[PlanValue]) -> Json:
    """Return the note of a fork, by its values; empty for none."""
    return next((one.value for one in values if one.kind is ValueKind.SESSION and one.key == NOTE), "")


def _is_dry(plan: PlanRecord) -> bool:
    return plan.fork is not None and plan.fork.is_dry


def _open_then(begun: Beginning) -> list[Step]:
    known = begun.known
    closed = {step.expectation_id for step in known if step.kind in _CLOSING}
    return [step for step in known if step.kind in _OPENING and step.expectation_id not in closed]


def answered_later(begun: Beginning) -> list[Json]:
    """Return the later replies to the requests that were open at the question."""
    open_then = {step.expectation_id for step in _open_then(begun)}
    return [
        {"event": step.name, "answer": step.data, "outcome": step.note}
        for step in begun.steps[len(begun.known) :]
        if step.kind in _ANSWERS and step.expectation_id in open_then
    ]


def unanswered(begun: Beginning, *, is_dry: bool) -> list[str]:
    """Return the requests and waits that were open at the question, and have no answer in the fork."""
    later = begun.steps[len(begun.known) :]
    answered = {step.expectation_id for step in later if is_dry and step.kind in _ANSWERS}
    return [step.name for step in _open_then(begun) if step.expectation_id not in answered]


def spent_actions(begun: Beginning) -> int:
    """Return the actions that the origin's tree had taken at the question."""
    most, left = begun.stored.plan.limits.max_actions, begun.inputs.get("remaining_actions")
    if most is not None and isinstance(left, int):
        return max(0, most - left)
    return sum(step.kind in (StepKind.PUBLISHED, StepKind.DELEGATED) for step in begun.known)
