"""Endings: abandoned requests, cancelled plans, their children and their timers."""

from datetime import timedelta

import pytest
from contract.store_kit import NOW, event, expectation, later, plan
from msgspec.structs import replace

from soorma_ai.errors import NotFound, VersionConflict
from soorma_ai.kernel.domain.effects import SavePlan, Schedule
from soorma_ai.kernel.domain.expectations import ExpectationKind, ExpectationStatus
from soorma_ai.kernel.domain.plans import PlanStatus, plan_id_of
from soorma_ai.kernel.rules.arrival.effects import Forbid, Stop, Wake
from soorma_ai.kernel.rules.arrival.endings import (
    abandon,
    check_beginning,
    deadline_by_columns,
    gives_up_child,
    is_made_of_plan,
    plan_of_timer,
    remake_event,
    stop,
    stop_children,
    takes_children_along,
    timer_of_plan,
)
from soorma_ai.kernel.rules.plans.lifecycle import PARENT_CANCELLED, PLAN_DEADLINE
from soorma_ai.kernel.rules.waits.wakeups import (
    ABANDONED,
    CANCEL_REQUESTED,
    DEADLINE_REACHED,
    EXPIRED,
    wake_for,
    wake_plan,
)

ENDED = [status for status in PlanStatus if status.is_final]


@pytest.mark.parametrize("kind", ExpectationKind)
@pytest.mark.parametrize("status", [status for status in ExpectationStatus if status is not ExpectationStatus.OPEN])
def test_a_child_plan_without_a_met_answer_is_given_up(kind: ExpectationKind, status: ExpectationStatus) -> None:
    did_not_come = status is not ExpectationStatus.MET
    assert gives_up_child(kind, status) is (kind is ExpectationKind.CHILD and did_not_come)


def test_an_abandoned_request_wakes_its_taker() -> None:
    closed = expectation("q-1", ExpectationKind.CHILD, status=ExpectationStatus.CLOSED)
    assert abandon(closed, NOW) == (Wake(wake_for(ABANDONED, closed, NOW)),)


def test_a_stop_request_saves_the_plan_at_its_read_version_and_wakes_it() -> None:
    asked = plan(version=4, cancel_requested="too dear", updated_at=later(5))
    effects = stop("plan-1", plan(version=3), "too dear", later(5))
    assert effects == (SavePlan(asked, 3), Wake(wake_plan(CANCEL_REQUESTED, asked, later(5))))


def test_a_second_stop_request_keeps_the_first_reason() -> None:
    assert stop("plan-1", plan(cancel_requested="first"), "second", NOW) == ()


@pytest.mark.parametrize("status", ENDED)
def test_an_ended_plan_is_not_stopped(status: PlanStatus) -> None:
    assert stop("plan-1", plan(status=status), "why", NOW) is None


def test_an_unstarted_plan_is_forbidden_and_its_planner_woken() -> None:
    goal = event("g-1", "goal.given")
    plan_id = plan_id_of("g-1", "planner")
    forbid, wake = stop(plan_id, ("planner", goal), "why", NOW) or ()
    assert forbid == Forbid(plan_id, "why")
    assert isinstance(wake, Wake)
    assert (wake.event.type, wake.event.plan_id) == (CANCEL_REQUESTED, plan_id)


def test_an_unknown_plan_is_not_found() -> None:
    with pytest.raises(NotFound, match="no plan plan-9"):
        stop("plan-9", None, "why", NOW)


@pytest.mark.parametrize("status", PlanStatus)
def test_only_a_cancelled_plan_stops_its_children(status: PlanStatus) -> None:
    assert takes_children_along(plan(status=status)) is (status is PlanStatus.CANCELLED)
    assert stop_children(["a", "b"]) == (Stop("a", PARENT_CANCELLED), Stop("b", PARENT_CANCELLED))


@pytest.mark.parametrize(
    ("forbidden", "parent", "knows", "conflicts"),
    [
        ("why", None, False, True),
        (None, PlanStatus.CANCELLED, False, True),
        ("why", PlanStatus.CANCELLED, True, False),
        (None, PlanStatus.FAILED, False, False),
        (None, None, False, False),
    ],
)
def test_a_plan_cancelled_before_its_start_conflicts_unless_the_start_knows_it(
    forbidden: str | None, parent: PlanStatus | None, knows: bool, conflicts: bool
) -> None:
    begun = plan(cancel_requested="why" if knows else None)
    if conflicts:
        with pytest.raises(VersionConflict, match="while it was being begun"):
            check_beginning(begun, forbidden, parent)
    else:
        check_beginning(begun, forbidden, parent)


def test_the_row_of_a_plan_makes_the_event_of_its_deadline_again() -> None:
    made = plan()
    timer = Schedule(timer_of_plan("plan-1"), NOW, wake_plan(DEADLINE_REACHED, made, NOW))
    assert is_made_of_plan(timer)
    assert not is_made_of_plan(replace(timer, due=NOW + timedelta(seconds=1)))
    assert not is_made_of_plan(replace(timer, id=timer_of_plan("plan-2")))
    assert not is_made_of_plan(replace(timer, event=wake_plan(CANCEL_REQUESTED, made, NOW)))
    told = deadline_by_columns("plan-1", ("default", "local", "plan-1", made.goal_id), NOW)
    assert (told.id, told.type, told.plan_id) == (timer.event.id, DEADLINE_REACHED, "plan-1")


def test_an_unreadable_timer_is_rebuilt_from_its_expectation_or_plan() -> None:
    expected = expectation("q-1")
    assert remake_event(expected, None, NOW) == wake_for(EXPIRED, expected, NOW)
    assert remake_event(None, plan(), NOW) == wake_plan(DEADLINE_REACHED, plan(), NOW)
    assert remake_event(None, None, NOW) is None
    assert plan_of_timer(f"{PLAN_DEADLINE}plan-1") == "plan-1"
    assert plan_of_timer("remind:w-1:1") is None
