"""Effects that may leave a fork, and the approvals of its requests."""

from datetime import timedelta
from typing import Any, cast

import pytest
from msgspec.structs import replace

from soorma_ai.kernel.domain.approvals import Approval
from soorma_ai.kernel.domain.decisions import (
    CompleteAction,
    DelegateAction,
    PublishAction,
    PublishAllAction,
    WaitAction,
)
from soorma_ai.kernel.domain.effects import (
    AppendStep,
    Close,
    Declare,
    DropValue,
    Effect,
    EndTask,
    Expect,
    PlanChange,
    Publish,
    SavePlan,
    SaveValue,
    Schedule,
    Spend,
    Unschedule,
)
from soorma_ai.kernel.domain.events import SYSTEM, EventEnvelope
from soorma_ai.kernel.domain.expectations import ExpectationStatus
from soorma_ai.kernel.domain.history import Step, StepKind
from soorma_ai.kernel.domain.memory import AppendMemory, DropMemory, IncrementMemory, MemoryKey, StoreMemory
from soorma_ai.kernel.domain.people import Proposal
from soorma_ai.kernel.domain.plans import Fork, ValueKind
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.rules.plans.forks import (
    STOPPED,
    Recording,
    gate_of_fork,
    join_id_of,
    refuse_to_send,
    rehearse,
    stay_in_fork,
    trigger_of_fork,
)
from soorma_ai.kernel.rules.plans.lifecycle import fork_plan
from soorma_ai.kernel.rules.plans.turns import Turn, TurnFacts, take_turn
from soorma_ai.kernel.rules.waits.wakeups import ABANDONED, ANSWERED, FORKED
from unit.kit import (
    NOW,
    accepted_decision,
    event,
    events_in,
    expectation,
    expectations_in,
    gate,
    moment,
    of_kind,
    plan,
    steps,
)

HELD = Fork("origin", 2, "ana", 2)
ACTING = Fork("origin", 2, "ana", 2, acts=True)
DRY = Fork("origin", 2, "ana", 2, is_dry=True)
PLAN = plan()
AT = MemoryKey("acme", "p-1", "key")


def request() -> EventEnvelope:
    return event("pay", topic="action-requests", plan_id=PLAN.plan_id)


def wake(type: str, plan_id: str = PLAN.plan_id) -> EventEnvelope:
    return event(type, topic="plan-events", source=SYSTEM, plan_id=plan_id)


def timer(series: str | None = None) -> Schedule:
    return Schedule("timer", NOW, wake(ANSWERED), series=series)


OWN_ROWS: list[Effect] = [
    SavePlan(PLAN, 0),
    AppendStep(Step(PLAN.plan_id, 3, StepKind.GOAL, NOW)),
    Expect(expectation()),
    Close("e-1", ExpectationStatus.CLOSED, NOW),
    Spend(PLAN.plan_id, 1, None),
    Unschedule("timer"),
    SaveValue(PLAN.plan_id, ValueKind.RESULT, "key", 1),
    DropValue(PLAN.plan_id, ValueKind.RESULT, "key"),
    timer(),
    Publish(wake(FORKED)),
]
OF_APPROVED_REQUESTS: list[Effect] = [Publish(request(), is_cleared=True), Publish(wake(ABANDONED))]
OUTSIDE: list[Effect] = [
    Publish(request()),
    Publish(event("order.received.completed", topic="action-results", plan_id=PLAN.plan_id)),
    Publish(event("notification.human_input", topic="notification-events", plan_id=PLAN.plan_id)),
    Publish(event("order.placed", topic="business-facts")),
    Publish(event("pay", topic="business-facts"), is_cleared=True),
    Publish(wake(ANSWERED, "another plan")),
    timer("reminder"),
    timer("escalation"),
    StoreMemory(AT, 1),
    DropMemory(AT, 1),
    IncrementMemory(AT, 1),
    AppendMemory(AT, (1,)),
    EndTask("orders", "t-1"),
    Declare("orders", EventDefinition(event_name="pay")),
]


@pytest.mark.parametrize("fork", [HELD, ACTING, DRY], ids=["held", "acting", "dry"])
def test_rows_of_a_fork_stay_and_all_else_is_dropped(fork: Fork) -> None:
    forked = plan(fork=fork)
    assert [*stay_in_fork(forked, OWN_ROWS)] == OWN_ROWS
    assert [one for one in OUTSIDE if stay_in_fork(forked, [one])] == []


@pytest.mark.parametrize(("fork", "leaves"), [(HELD, False), (ACTING, True), (DRY, False)])
def test_an_approved_request_leaves_an_acting_fork_alone(fork: Fork, leaves: bool) -> None:
    kept = stay_in_fork(plan(fork=fork), OF_APPROVED_REQUESTS)
    assert [*kept] == (OF_APPROVED_REQUESTS if leaves else [])


def test_effects_of_any_other_plan_are_left_alone() -> None:
    effects = [*OWN_ROWS, *OF_APPROVED_REQUESTS, *OUTSIDE]
    assert [*stay_in_fork(PLAN, effects)] == effects


def test_no_event_meets_a_wait_of_a_fork() -> None:
    asked = expectation("wait", keys=("plan:p-1", "data:paid:{}"))
    [kept] = stay_in_fork(plan(fork=HELD), [Expect(asked)])
    assert isinstance(kept, Expect)
    assert kept.expectation.keys == ()


@pytest.mark.parametrize(
    "own",
    [None, Approval(when="payload.amount > 5"), Approval(timeout=timedelta(1), on_expiry="approve")],
    ids=["none", "a condition", "silence"],
)
def test_each_request_of_a_fork_is_asked_about_and_silence_is_no_approval(own: Approval | None) -> None:
    approval = gate_of_fork(HELD, EventDefinition(event_name="pay", approval=own))
    assert approval is not None
    assert (approval.when, approval.on_expiry) == ("always", "reject")
    assert approval.message == "Fork of plan origin: May pay be published? Nothing is sent."


def test_the_approvers_of_an_event_approve_it_in_a_fork() -> None:
    own = Approval(approvers=("cfo",), message="Pay {amount}?")
    approval = gate_of_fork(ACTING, EventDefinition(event_name="pay", approval=own))
    assert approval is not None
    assert (approval.approvers, approval.message) == (("cfo",), "Fork of plan origin: Pay {amount}?")


RECORDED = (
    Step("origin", 3, StepKind.PUBLISHED, NOW, "pay", {"n": 1}, expectation_id="r-1"),
    Step("origin", 4, StepKind.PUBLISHED, NOW, "pay", {"n": 1}, expectation_id="r-2"),
    Step("origin", 5, StepKind.REPLIED, NOW, "pay", "second", "ok", expectation_id="r-2"),
    Step("origin", 6, StepKind.REPLIED, NOW, "pay", "first", "failed", expectation_id="r-1"),
    Step("origin", 7, StepKind.DELEGATED, NOW, "ship", {"n": 3}, expectation_id="r-3"),
)
PAY = PublishAction(event_type="pay", data={"n": 1})
SHIP = DelegateAction(target_planner="shipping", goal_event="ship", goal_data={"n": 3})


def rehearsed(action: Any, *own: Step) -> PlanChange:
    return rehearse(plan(fork=DRY), accepted_decision(action), "mark", Recording(RECORDED, own), moment())


def test_a_request_has_the_reply_to_the_equal_one_in_its_place() -> None:
    first = rehearsed(PAY)
    assert [(one.kind, one.data, one.note) for one in steps(first)] == [
        ("published", {"n": 1}, ""),
        ("replied", "first", "failed"),
    ]
    assert [one.type for one in events_in(first)] == [FORKED]
    second = rehearsed(PAY, steps(first)[0])
    assert steps(second)[1].data == "second"


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (PublishAction(event_type="pay", data={"n": 2}), 'pay with {"n":2} in the fork has no recorded reply; recor'),
        (SHIP, 'ship with {"n":3}'),
        (WaitAction(expected_event="user.replied", reason="why"), "a wait for user.replied"),
        (PublishAllAction(requests=(PAY, PAY, PAY)), 'recorded then: pay with {"n":1}'),
    ],
)
def test_a_dry_fork_stops_at_a_request_without_a_reply(action: Any, words: str) -> None:
    stopped = rehearsed(action)
    assert (stopped.plan.status, stopped.plan.failure) == ("failed", STOPPED)
    assert words in (stopped.plan.reason or "")
    assert not of_kind(Expect, stopped)


def test_a_join_fires_at_its_need_by_the_recorded_order_of_replies() -> None:
    joined = rehearsed(PublishAllAction(requests=(PAY, PAY), need=1))
    told = [(one.kind, one.place, one.data) for one in steps(joined)]
    assert told[2:] == [("replied", 1, "second"), ("joined", 0, None)]
    [join] = expectations_in(joined)
    assert (join.kind, join.join and join.join.need) == ("join", 1)
    forked, last = joined.plan, steps(joined)[-1]
    assert join_id_of(forked, last) == join.id
    trigger = trigger_of_fork(forked, last, join, [steps(joined)[2]])
    assert [one["status"] for one in cast("list[dict[str, Any]]", trigger.data)] == ["no answer yet", "ok"]


@pytest.mark.parametrize(
    ("action", "status"),
    [(CompleteAction(result=7), "completed"), (CompleteAction(outcome="not_achieved", reason="no"), "failed")],
)
def test_the_end_of_a_dry_fork_is_an_end(action: Any, status: str) -> None:
    assert rehearsed(action).plan.status == status


@pytest.mark.parametrize(
    ("kind", "note", "outcome", "data"),
    [
        ("replied", "ok", "ok", 7),
        ("received", "", "came", 7),
        ("answered", "approve (mia): yes", "approve", 7),
        ("expired", "no answer", "expired", None),
        ("goal", "", "", None),
    ],
)
def test_the_first_trigger_of_a_fork_is_the_recorded_one(kind: str, note: str, outcome: str, data: Any) -> None:
    forked = plan(fork=replace(HELD, text="then", said="so"), steps=3)
    last = Step(forked.plan_id, 2, StepKind(kind), NOW, "pay", 7, note)
    trigger = trigger_of_fork(forked, last, None, ())
    assert (trigger.text, trigger.said, trigger.outcome, trigger.data) == ("then", "so", outcome, data)


@pytest.mark.parametrize(("note", "text"), [("ok", "pay was answered."), ("failed", "pay failed.")])
def test_a_later_trigger_of_a_fork_is_its_last_reply(note: str, text: str) -> None:
    last = Step("p-1", 4, StepKind.REPLIED, NOW, "pay", 7, note)
    trigger = trigger_of_fork(plan(fork=DRY, steps=5), last, None, ())
    assert (trigger.text, trigger.data, trigger.name) == (text, 7, "pay")


@pytest.mark.parametrize(("fork", "ends"), [(HELD, True), (ACTING, False), (None, False)])
def test_an_approved_request_ends_a_fork_that_does_not_act(fork: Fork | None, ends: bool) -> None:
    released = Proposal("pay", {}, "", {})
    assert (refuse_to_send(plan(fork=fork), released) is not None) is ends


def test_a_fork_asks_anew_by_its_own_event_while_nothing_is_open() -> None:
    forked, woken = plan(fork=HELD), moment(wake(FORKED))
    assert take_turn(forked, TurnFacts(wake(FORKED)), woken).trigger is not None
    assert take_turn(forked, TurnFacts(wake(FORKED), open_now=[expectation("gate")]), woken) == Turn()
    assert take_turn(PLAN, TurnFacts(wake(FORKED)), woken) == Turn()


def test_a_fork_is_a_new_root_of_the_same_user_in_no_session() -> None:
    forked = fork_plan(plan("failed", parent_plan_id="p-0", reason="no", failure="x", depth=2), HELD, "f-1", NOW)
    ids = (forked.plan_id, forked.root_plan_id, forked.parent_plan_id, forked.answer_key)
    assert ids == ("f-1", "f-1", None, "f-1")
    assert (forked.status, forked.reason, forked.failure, forked.steps, forked.depth) == ("running", None, None, 3, 2)
    lineage = forked.lineage
    assert (lineage.user_id, lineage.session_id, lineage.plan_id, lineage.root_plan_id) == ("ada", None, "f-1", "f-1")
    assert forked.deadline == lineage.deadline == NOW + timedelta(days=7)


def test_a_question_of_a_fork_is_of_no_user_and_for_operators_and_a_reply_keeps_its_user() -> None:
    ask = gate("open").ask
    assert ask is not None
    own = replace(ask, approvers=("finance",))
    asked = [gate("open", user_id="ann"), gate("open", user_id="ann", ask=own), expectation(user_id="ann")]
    kept = expectations_in(stay_in_fork(plan(fork=ACTING), map(Expect, asked)))
    assert [one.user_id for one in kept] == ["", "", "ann"]
    assert [one.ask.approvers if one.ask else None for one in kept] == [("operator",), ("finance",), None]


def test_the_owner_of_a_fork_is_no_user_and_its_lineage_has_the_user_of_its_origin() -> None:
    origin, forked = plan(), plan(fork=HELD)
    assert (origin.owner, forked.owner.user_id, forked.lineage) == (origin.lineage, "", origin.lineage)
