"""The state of a plan as the fold of its changes."""

import pytest
from msgspec.structs import replace

from soorma_ai.kernel.domain.effects import (
    AppendStep,
    Close,
    DropValue,
    Effect,
    Expect,
    Publish,
    SavePlan,
    SaveValue,
    Spend,
)
from soorma_ai.kernel.domain.expectations import ExpectationKind, ExpectationStatus, Join
from soorma_ai.kernel.domain.history import JoinProgress, Step, StepKind
from soorma_ai.kernel.domain.limits import Spent
from soorma_ai.kernel.domain.plan_state import Closed, HandlingEnd, PlanRow, PlanState, StepMark
from soorma_ai.kernel.domain.plans import ValueKind
from soorma_ai.kernel.rules.fold import MOST_RECENT, fold, fold_effect, progress_of
from soorma_ai.kernel.sql.plan_states import PlanChanges, PlanStates
from unit.kit import NOW, event, expectation, plan

PLAN = plan()
STATE = PlanState(PLAN)
AT = (ValueKind.STATE, "a")


def step(ordinal: int, **fields: object) -> Step:
    return Step(PLAN.plan_id, ordinal, StepKind.REPLIED, NOW, **fields)  # type: ignore[arg-type]


def test_a_saved_plan_replaces_the_one_before() -> None:
    assert fold(STATE, [SavePlan(replace(PLAN, version=7), 6)]).plan.version == 7


def test_values_are_saved_and_dropped_by_kind_and_key() -> None:
    saved = fold(STATE, [SaveValue(PLAN.plan_id, *AT, 1), SaveValue(PLAN.plan_id, ValueKind.RESULT, "a", 2)])
    assert saved.values == {AT: 1, (ValueKind.RESULT, "a"): 2}
    assert fold(saved, [DropValue(PLAN.plan_id, *AT)]).values == {(ValueKind.RESULT, "a"): 2}
    assert STATE.values == {}, "the state before is unchanged"


def test_steps_are_counted_by_fingerprint_with_the_note_of_the_last() -> None:
    marks = [("a", "first"), ("b", ""), ("a", "last"), (None, "")]
    state = fold(STATE, [AppendStep(step(n, fingerprint=mark, note=note)) for n, (mark, note) in enumerate(marks)])
    assert state.marks == {"a": StepMark(2, "last"), "b": StepMark(1)}


def test_the_last_steps_are_kept_without_a_gap() -> None:
    state = fold(STATE, [AppendStep(step(n)) for n in range(3 * MOST_RECENT)])
    assert [one.ordinal for one in state.recent] == list(range(2 * MOST_RECENT, 3 * MOST_RECENT))


def test_a_met_expectation_is_kept_under_its_event_until_that_event_is_handled() -> None:
    opened = expectation(id="q-1")
    state = fold(STATE, [Expect(opened), Expect(expectation(id="q-2"))])
    closed = fold(state, [Closed("q-1", ExpectationStatus.MET, NOW, "r-1")])
    met = replace(opened, status=ExpectationStatus.MET, closed_at=NOW, met_by="r-1")
    assert ([*closed.open], closed.met) == (["q-2"], {"r-1": met})
    assert fold(closed, [HandlingEnd(("r-0",))]) is closed
    assert fold(closed, [HandlingEnd(("r-1",))]).met == {}
    assert fold(closed, [Closed("q-1", ExpectationStatus.CLOSED, NOW)]) is closed, "an expectation closes once"


def test_an_expectation_met_by_an_early_event_is_never_open() -> None:
    met = expectation(id="q-1", status=ExpectationStatus.MET, met_by="r-1")
    state = fold(STATE, [Expect(met)])
    assert (state.open, state.met) == ({}, {"r-1": met})


def test_a_moved_deadline_changes_the_open_expectation_in_place() -> None:
    state = fold(STATE, [Expect(expectation(id="q-1")), Expect(expectation(id="q-2"))])
    moved = expectation(id="q-1", subject="moved")
    assert [*fold(state, [Expect(moved)]).open.values()] == [moved, expectation(id="q-2")]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], JoinProgress(needed=2)),
        ([AppendStep(step(1, join_id="j")), AppendStep(step(2, join_id="k"))], JoinProgress(1, needed=2)),
        ([AppendStep(step(1, join_id="j", fires=True))], JoinProgress(0, step(1, join_id="j", fires=True))),
        ([AppendStep(step(1, join_id="j")), Close("j", ExpectationStatus.MET, NOW)], JoinProgress(1)),
    ],
)
def test_a_join_counts_its_branches_until_it_fires_or_closes(rows: list[PlanRow], expected: JoinProgress) -> None:
    join = expectation(id="j", kind=ExpectationKind.JOIN, join=Join((("part", {}), ("part", {})), need=2))
    assert progress_of(fold(STATE, [Expect(join), *rows]), "j") == expected


def test_actions_are_charged_to_the_root_plan() -> None:
    assert fold(STATE, [Spend(PLAN.root_plan_id, 2, None), Spend(PLAN.root_plan_id, 1, 9)]).spent == Spent(actions=3)


def test_effects_on_other_plans_change_no_state() -> None:
    effects: list[Effect] = [
        Publish(event("asked")),
        Expect(expectation(id="q-1", plan_id="other")),
        AppendStep(replace(step(1), plan_id="other")),
        Close("q-2", ExpectationStatus.CLOSED, NOW),
    ]
    for effect in effects:
        assert fold_effect(STATE, effect) is STATE
    own = expectation(id="q-1", plan_id=PLAN.plan_id)
    assert fold_effect(STATE, Expect(own)) == fold(STATE, [Expect(own)])
    assert fold_effect(STATE, AppendStep(step(1))) == fold(STATE, [AppendStep(step(1))])


def changes(*rows: tuple[str, PlanRow, int], **spent: Spent) -> PlanChanges:
    made = PlanChanges(spent=spent)
    for row in rows:
        made.add(*row)
    return made


def states_of(count: int, size: int = 10, most: int = 100, most_bytes: int = 100) -> PlanStates:
    states = PlanStates(most, most_bytes)
    for number in range(count):
        states.apply(changes((f"p-{number}", SavePlan(replace(PLAN, plan_id=f"p-{number}"), None), size)))
    return states


def test_plans_in_memory_are_bounded_in_number_and_bytes() -> None:
    few, short = states_of(5, most=3), states_of(15)
    assert [few.find(f"p-{number}") is not None for number in range(5)] == [False, False, True, True, True]
    assert sum(short.find(f"p-{number}") is not None for number in range(15)) == 10
    states = states_of(9)
    states.apply(changes(("p-8", AppendStep(step(1)), 15)))
    assert [states.find(f"p-{number}") is not None for number in range(9)] == [False, *(True for _ in range(8))]
    states.apply(changes(("p-8", AppendStep(step(2)), 1)))
    assert states.find("p-8") is None, "one plan has at most a quarter of the bytes"
    assert all(states.find(f"p-{number}") is not None for number in range(1, 8)), "a large plan evicts no other"


def test_a_plan_absent_from_memory_is_not_built_from_some_of_its_changes() -> None:
    states = PlanStates()
    states.apply(changes(("p-1", AppendStep(step(1)), 1), ("p-1", SavePlan(replace(PLAN, plan_id="p-1"), 3), 1)))
    assert states.find("p-1") is None


def test_a_plan_starts_with_its_first_row_at_any_place_in_its_transaction() -> None:
    states, begun = PlanStates(), replace(PLAN, plan_id="p-1")
    rows: list[PlanRow] = [HandlingEnd(("goal",)), SavePlan(begun, None), AppendStep(step(0)), AppendStep(step(1))]
    states.apply(changes(*(("p-1", row, 1) for row in rows)))
    found = states.find("p-1")
    assert found is not None and (found.state.plan, len(found.state.recent)) == (begun, 2)


def test_the_spending_of_a_tree_is_that_of_its_last_change() -> None:
    states = PlanStates(most=2)
    states.apply(changes(a=Spent(1), b=Spent(2)))
    states.apply(changes(a=Spent(3)))
    states.apply(changes(c=Spent(4)))
    assert (states.find_spent("a"), states.find_spent("b"), states.find_spent("c")) == (Spent(3), None, Spent(4))
    states.apply(PlanChanges(is_unknown=True))
    assert states.find_spent("a") is None
