"""The start and the end of a plan: one answer, no open expectation, a word to its workers."""

import itertools
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from soorma_ai.errors import IllegalTransition, LimitExceeded, LocalProtocolError
from soorma_ai.kernel.domain.effects import Close, PlanChange, Schedule, Unschedule
from soorma_ai.kernel.domain.limits import Limits
from soorma_ai.kernel.domain.plans import plan_id_of, pursuit_of
from soorma_ai.kernel.domain.replies import Failure
from soorma_ai.kernel.rules.plans import lifecycle
from soorma_ai.kernel.rules.plans.lifecycle import begin, lineage_of_child
from unit.kit import END, GOAL, HOUR, LINEAGE, NOW, events_in, expectation, gate, moment, of_kind, plan, steps

DAY = timedelta(days=1)
OPEN = [expectation(id="r"), expectation("child", id="c"), gate("open", id="g"), expectation("join", id="j")]


@pytest.mark.parametrize(
    ("own", "given", "parent", "deadline"),
    [
        (DAY, None, None, NOW + DAY),
        (DAY, HOUR, None, NOW + HOUR),
        (HOUR, DAY, None, NOW + HOUR),
        (None, None, None, None),
        (None, HOUR, None, NOW + HOUR),
        (HOUR, None, plan(deadline=END), END),
        (None, HOUR, plan(deadline=END), NOW + HOUR),
        (None, DAY, plan(deadline=NOW + HOUR), NOW + HOUR),
        (None, -HOUR, plan(deadline=END), END),
        (None, HOUR, plan(deadline=None), None),
    ],
)
def test_a_plan_has_the_earliest_deadline_and_one_timer_for_it(
    own: timedelta | None, given: timedelta | None, parent: Any, deadline: Any
) -> None:
    goal = GOAL.model_copy(update={"deadline": given and NOW + given})
    begun = begin(goal, parent, Limits(deadline=own), "1", moment(goal))
    assert (begun.plan.deadline, begun.plan.lineage.deadline) == (deadline, deadline)
    timers = [(timer.id, timer.due, timer.guards) for timer in of_kind(Schedule, begun)]
    assert timers == ([(f"deadline:{begun.plan.plan_id}", deadline, None)] if deadline else [])


@pytest.mark.parametrize(
    ("parent", "session", "error"),
    [
        (plan("completed"), None, IllegalTransition),
        (plan(depth=5), None, LimitExceeded),
        (plan(lineage=replace(LINEAGE, nesting_left=0)), None, LimitExceeded),
        (plan(), "s-2", LocalProtocolError),
    ],
)
def test_a_child_of_an_ended_or_too_deep_plan_or_of_another_session_is_refused(
    parent: Any, session: str | None, error: type[Exception]
) -> None:
    with pytest.raises(error):
        lineage_of_child(parent, session)


def test_a_child_inherits_its_parents_lineage_one_nesting_deeper() -> None:
    parent = plan(lineage=replace(LINEAGE, nesting_left=3, share=7))
    assert lineage_of_child(parent, "s-1") == replace(LINEAGE, nesting_left=2, share=None)


def test_a_root_plan_runs_on_its_own_limits_and_answers_its_goal() -> None:
    goal = GOAL.model_copy(update={"correlation_id": "k", "response_event": "told", "response_topic": "plan-events"})
    begun = begin(goal, None, Limits(max_actions=3), "1", moment(goal), prompt="p 1")
    made = begun.plan
    assert (made.status, made.plan_id, made.root_plan_id) == ("running", plan_id_of("goal", "orders"), made.plan_id)
    assert (made.depth, made.limits.max_actions, made.prompt, made.parent_plan_id) == (1, 3, "p 1", None)
    assert (made.answer_key, made.answer_event, made.answer_topic) == ("k", "told", "plan-events")
    assert made.ancestry == (pursuit_of("orders", "order.received", {"order_id": "A1"}),)
    assert [(step.kind, step.data) for step in steps(begun)] == [("goal", {"order_id": "A1"})]
    plain = begin(GOAL, None, Limits(), "1", moment()).plan
    assert (plain.answer_key, plain.answer_event) == ("goal", "order.received.completed")


def test_planners_above_in_another_store_count_for_the_depth() -> None:
    goal = GOAL.model_copy(update={"depth": 3})
    assert begin(goal, None, Limits(), "1", moment(goal)).plan.depth == 4


def test_a_child_uses_its_roots_budget_one_level_deeper() -> None:
    parent = plan(depth=2, limits=Limits(max_actions=3), ancestry=("above",))
    made = begin(GOAL, parent, Limits(max_actions=50), "1", moment()).plan
    assert (made.root_plan_id, made.parent_plan_id, made.depth) == ("p-0", "p-1", 3)
    assert made.limits == parent.limits
    assert made.ancestry == ("above", pursuit_of("orders", "order.received", {"order_id": "A1"}))
    assert (made.lineage.root_plan_id, made.lineage.plan_id) == ("p-0", made.plan_id)


def test_a_plan_before_its_start_is_shown_under_its_later_id() -> None:
    seen = lifecycle.before_it_began(GOAL, "orders")
    assert (seen.plan_id, seen.status, seen.steps, seen.deadline) == (plan_id_of("goal", "orders"), "pending", 0, None)


def end_plan(how: str, *open_now: Any, status: str = "running") -> PlanChange:
    record = plan(status, answer_event="told")
    match how:
        case "completed":
            return lifecycle.complete(record, {"ok": 1}, open_now, moment())
        case "failed":
            return lifecycle.fail(record, Failure("broken", "it broke"), open_now, moment())
        case _:
            return lifecycle.cancel(record, "enough", open_now, moment(), done=["stock", "mail"])


CANCELLED = "enough; done: stock, mail; asked and not answered, so unknown: part, part; not started: pay"


@pytest.mark.parametrize(
    ("how", "said", "reason"),
    [
        ("completed", {"success": True, "result": {"ok": 1}}, None),
        ("failed", {"success": False, "error": {"code": "broken", "message": "it broke"}}, "it broke"),
        ("cancelled", {"success": False, "error": {"code": "cancelled", "message": CANCELLED}}, CANCELLED),
    ],
)
def test_an_end_makes_one_answer_and_closes_every_expectation_and_timer(how: str, said: Any, reason: Any) -> None:
    outcome = end_plan(how, *OPEN)
    answers = [event for event in events_in(outcome) if event.type == "told"]
    assert [(one.correlation_id, one.topic, one.data) for one in answers] == [
        ("key", "action-results", {"request_id": "key", "plan_id": "p-1", "status": how, **said})
    ]
    assert [(close.expectation_id, close.status) for close in of_kind(Close, outcome)] == [
        (e.id, "closed") for e in OPEN
    ]
    stopped = [event.subject for event in events_in(outcome) if event.type == "plan.request.abandoned"]
    assert stopped == ([] if how == "completed" else ["r"]), "workers stop with a failed or cancelled plan"
    assert of_kind(Unschedule, outcome) == [Unschedule("deadline:p-1")]
    assert [step.kind for step in steps(outcome)] == [how]
    assert (outcome.plan.status, outcome.plan.reason) == (how, reason)


def test_a_plan_ends_once() -> None:
    for how, status in itertools.product(("completed", "failed", "cancelled"), repeat=2):
        with pytest.raises(IllegalTransition):
            end_plan(how, status=status)


def test_a_plan_is_overdue_at_its_deadline() -> None:
    deadlines = (NOW + timedelta(microseconds=1), NOW, NOW - HOUR, None)
    assert [lifecycle.is_overdue(plan(deadline=one), NOW) for one in deadlines] == [False, True, True, False]


BRANCH = replace(OPEN[0], branch_of="j")


@pytest.mark.parametrize(
    ("open_now", "comes"), [([], False), ([BRANCH], False), ([BRANCH, OPEN[3]], True), ([OPEN[2]], True)]
)
@pytest.mark.parametrize("has_more", [True, False])
@pytest.mark.parametrize("status", ["running", "paused", "completed", "failed", "cancelled"])
def test_a_plan_without_a_next_step_is_an_error(status: str, has_more: bool, open_now: Any, comes: bool) -> None:
    assert lifecycle.has_something_to_come(open_now) is comes
    if comes or has_more or plan(status).status.is_final:
        lifecycle.must_go_on(plan(status), open_now, has_more=has_more)
        return
    with pytest.raises(LocalProtocolError, match="no_next_step"):
        lifecycle.must_go_on(plan(status), open_now, has_more=has_more)
