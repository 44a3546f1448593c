"""Fold of a plan's changes into its state: the one place where a change alters a plan in hand."""

from collections.abc import Iterable
from typing import assert_never

from msgspec.structs import replace

from soorma_ai.kernel.domain.effects import AppendStep, Close, DropValue, Effect, Expect, SavePlan, SaveValue, Spend
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationStatus
from soorma_ai.kernel.domain.history import JoinProgress, Step
from soorma_ai.kernel.domain.plan_state import Closed, HandlingEnd, OtherRow, PlanRow, PlanState, StepMark, ValueRow
from soorma_ai.kernel.domain.plans import ValueKind
from soorma_ai.kernel.domain.values import Json

# Steps kept with a state: more than one handling appends.
MOST_RECENT = 64


def fold(state: PlanState, rows: Iterable[PlanRow]) -> PlanState:
    """Return the state after these changes of its plan. Values, as many as an author likes, are copied once."""
    values: dict[tuple[ValueKind, str], Json] | None = None
    for row in rows:
        match row:
            case SaveValue() | DropValue():
                values = dict(state.values) if values is None else values
                _change(values, row)
            case _:
                state = _fold(state, row)
    return state if values is None else replace(state, values=values)


def fold_effect(state: PlanState, effect: Effect) -> PlanState:
    """Return the state after an effect, as far as that is about its plan."""
    plan_id = state.plan.plan_id
    match effect:
        case AppendStep(step) if step.plan_id == plan_id:
            return _append(state, step)
        case Expect(expectation) if expectation.plan_id == plan_id:
            return _open(state, expectation)
        case Close() | Spend():
            return _fold(state, effect)
        case _:
            return state


def progress_of(state: PlanState, join_id: str) -> JoinProgress:
    """Return the progress of a join."""
    progress, opened = state.joins.get(join_id, JoinProgress()), state.open.get(join_id)
    is_open = progress.fired is None and opened is not None and opened.join is not None
    return replace(progress, needed=opened.join.need) if is_open and opened and opened.join else progress


def _change(values: dict[tuple[ValueKind, str], Json], row: ValueRow) -> None:
    if isinstance(row, SaveValue):
        values[row.kind, row.key] = row.value
    else:
        values.pop((row.kind, row.key), None)


def _fold(state: PlanState, row: OtherRow) -> PlanState:
    match row:
        case SavePlan(plan):
            return replace(state, plan=plan)
        case AppendStep(step):
            return _append(state, step)
        case Expect(expectation):
            return _open(state, expectation)
        case Close(expectation_id, status, at):
            return _close(state, Closed(expectation_id, status, at))
        case Closed():
            return _close(state, row)
        case Spend(_, actions):
            return replace(state, spent=replace(state.spent, actions=state.spent.actions + actions))
        case HandlingEnd(event_ids):
            met = {event_id: one for event_id, one in state.met.items() if event_id not in event_ids}
            return replace(state, met=met) if len(met) < len(state.met) else state
        case _:
            assert_never(row)


def _append(state: PlanState, step: Step) -> PlanState:
    marks, joins = state.marks, state.joins
    if step.fingerprint is not None:
        before = marks.get(step.fingerprint)
        marks = {**marks, step.fingerprint: StepMark(before.count + 1 if before else 1, step.note)}
    if step.join_id is not None:
        known = joins.get(step.join_id, JoinProgress())
        known = replace(known, fired=step) if step.fires else replace(known, came=known.came + 1)
        joins = {**joins, step.join_id: known}
    return replace(state, marks=marks, joins=joins, recent=(*state.recent[1 - MOST_RECENT :], step))


def _open(state: PlanState, expectation: Expectation) -> PlanState:
    """Take an expectation in the place of an earlier state of it; one may be closed by now."""
    if expectation.status is ExpectationStatus.OPEN:
        return replace(state, open={**state.open, expectation.id: expectation})
    return _meet(state, expectation)


def _close(state: PlanState, closed: Closed) -> PlanState:
    """Close an open expectation; another is none of this plan."""
    known = state.open.get(closed.expectation_id)
    if known is None:
        return state
    ended = {"status": closed.status, "closed_at": closed.at, "met_by": closed.met_by, "answer": closed.answer}
    return _meet(state, replace(known, **ended))


def _meet(state: PlanState, ended: Expectation) -> PlanState:
    left = {id: one for id, one in state.open.items() if id != ended.id} if ended.id in state.open else state.open
    met = state.met if ended.met_by is None else {ended.met_by: ended, **state.met}
    return replace(state, open=left, met=met)
