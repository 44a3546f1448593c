"""The clock of a paused plan stops, and every deadline bound to it moves."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from soorma_ai.kernel.domain.effects import PlanChange, Postpone, SavePlan, SaveTask, Schedule, Unschedule
from soorma_ai.kernel.domain.plans import Pause, PlanRecord
from soorma_ai.kernel.rules.arrival.endings import postpone_plan, postpone_task
from soorma_ai.kernel.rules.plans.pausing import start_clock, stop_clock
from soorma_ai.kernel.rules.task import task_of
from unit.kit import GOAL, NOW, of_kind, plan

UNTIL, HOUR, DAY = NOW + timedelta(days=2), timedelta(hours=1), timedelta(days=1)


def until(deadline: Any, **changes: Any) -> PlanRecord:
    given = plan(deadline=deadline, **changes)
    return replace(given, lineage=replace(given.lineage, deadline=given.deadline))


def test_a_paused_root_has_no_deadline_and_no_timer() -> None:
    stopped = stop_clock(until(UNTIL), NOW)
    assert (stopped.plan.deadline, stopped.plan.lineage.deadline) == (None, None)
    assert stopped.plan.paused == Pause(UNTIL, NOW)
    assert stopped.effects == (Unschedule("deadline:p-1"), Postpone("p-0", UNTIL, None))


@pytest.mark.parametrize("given", [until(None), until(UNTIL, parent_plan_id="p-0")])
def test_a_child_or_a_plan_without_a_deadline_is_unchanged_by_a_pause(given: PlanRecord) -> None:
    assert stop_clock(given, NOW) == PlanChange(given)


def test_an_unpaused_plan_gets_no_time_back() -> None:
    assert start_clock(until(UNTIL), NOW) == PlanChange(until(UNTIL))


@pytest.mark.parametrize("passed", [timedelta(0), HOUR, timedelta(days=400)])
def test_a_resumed_plan_has_its_remaining_time(passed: timedelta) -> None:
    stopped = stop_clock(until(UNTIL), NOW).plan
    going = start_clock(stopped, NOW + passed)
    assert (going.plan.deadline, going.plan.lineage.deadline, going.plan.paused) == (
        UNTIL + passed,
        UNTIL + passed,
        None,
    )
    (timer,) = of_kind(Schedule, going)
    assert (timer.id, timer.due, timer.event.plan_id) == ("deadline:p-1", UNTIL + passed, "p-1")
    assert of_kind(Postpone, going) == [Postpone(stopped.root_plan_id, UNTIL, UNTIL + passed)]


def test_a_clock_set_back_takes_no_time_from_a_plan() -> None:
    stopped = stop_clock(until(UNTIL), NOW).plan
    assert start_clock(stopped, NOW - HOUR).plan.deadline == UNTIL


def test_a_second_pause_counts_from_the_first() -> None:
    stopped = stop_clock(until(UNTIL), NOW).plan
    assert stop_clock(stopped, NOW + HOUR) == PlanChange(stopped)


def test_each_deadline_has_a_timer_event_of_its_own() -> None:
    going = start_clock(stop_clock(until(UNTIL), NOW).plan, NOW + HOUR)
    again = start_clock(stop_clock(going.plan, NOW + HOUR).plan, NOW + 2 * HOUR)
    ids = {timer.event.id for outcome in (going, again) for timer in of_kind(Schedule, outcome)}
    assert len(ids) == 2


@pytest.mark.parametrize(
    ("deadline", "paused", "resumed"),
    [
        (UNTIL, None, UNTIL + HOUR),
        (None, None, UNTIL + HOUR),
        (UNTIL - HOUR, UNTIL - HOUR, UNTIL - HOUR),
        (UNTIL + DAY, UNTIL + DAY, UNTIL + DAY),
    ],
)
def test_only_deadlines_of_the_paused_plan_are_lifted_and_later_moved(deadline: Any, paused: Any, resumed: Any) -> None:
    child = until(deadline, parent_plan_id="p-0", version=3)
    task = task_of(GOAL.model_copy(update={"deadline": deadline}), "hands", "done", NOW)
    for later, wanted in ((None, paused), (UNTIL + HOUR, resumed)):
        asked = Postpone("p-0", UNTIL, later)
        effects = postpone_plan(child, asked)
        saved = of_kind(SavePlan, effects)
        assert [(one.plan.deadline, one.plan.lineage.deadline, one.expected_version) for one in saved] == (
            [(wanted, wanted, child.version)] if wanted != child.deadline else []
        )
        timers = [*of_kind(Schedule, effects), *of_kind(Unschedule, effects)]
        assert [(type(one), getattr(one, "due", None)) for one in timers] == (
            [] if not saved else [(Schedule, wanted)] if wanted else [(Unschedule, None)]
        )
        tasks = of_kind(SaveTask, postpone_task(task, asked))
        assert [one.task.lineage.deadline for one in tasks] == ([wanted] if wanted != deadline else [])
        child = saved[0].plan if saved else child
        task, deadline = (tasks[0].task, wanted) if tasks else (task, deadline)
