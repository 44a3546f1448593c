"""A plan's turn: an event, and its consequence for the plan."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from soorma_ai.errors import IllegalTransition, LimitExceeded
from soorma_ai.kernel.domain.approvals import Approval
from soorma_ai.kernel.domain.decisions import DelegateAction, PublishAction
from soorma_ai.kernel.domain.effects import Spend
from soorma_ai.kernel.domain.events import SYSTEM, EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation, Join
from soorma_ai.kernel.domain.history import JoinProgress, Step, StepKind
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.rules.plans.requests import decision_of
from soorma_ai.kernel.rules.plans.turns import TurnFacts, refuse_release, release, take_turn
from soorma_ai.kernel.rules.waits.wakeups import CANCEL_REQUESTED, DEADLINE_REACHED, EXPIRED, PHASE_ENTERED, STRANDED
from unit.kit import (
    END,
    NOW,
    accepted_decision,
    answer,
    event,
    events_in,
    expectation,
    expectations_in,
    failure_event,
    gate,
    moment,
    of_kind,
    plan,
    steps,
    success_event,
)

YES, NO = answer("approve", approved=True), answer("reject", approved=False)
ASKED = Join((("part", {}), ("part", {}), ("pay", {})), need=2)
JOIN, OVERDUE = (expectation("join", status, id="j-1", join=ASKED) for status in ("open", "expired"))
BRANCH = {"branch_of": "j-1", "place": 2}
FIRED = Step("p-1", 3, StepKind.JOINED, NOW)
WITHDREW = replace(FIRED, data={"withdrawn": [2]})


def turn(
    record: PlanRecord, met: Expectation | None = None, by: EventEnvelope | None = None, now: Any = NOW, **facts: Any
) -> Any:
    progress = JoinProgress(facts.pop("came", 0), facts.pop("fired", None), facts.pop("needed", None))
    return take_turn(
        record, TurnFacts(by or success_event(), met, progress=progress, **facts), moment(by or success_event(), now)
    )


def summary_of(turn: Any) -> str:
    """The consequence of a turn, and its line of history."""
    found = {"decide": turn.trigger, "fire": turn.fires, "release": turn.released}
    last = [steps(turn.outcome)[-1].kind] if turn.outcome else []
    return " ".join([*(name for name, value in found.items() if value is not None), *last])


@pytest.mark.parametrize(
    ("met", "facts", "expected"),
    [
        (None, {}, ""),
        (expectation(), {}, "decide replied"),
        (expectation(), {"by": failure_event()}, "decide replied"),
        (expectation("child", "expired"), {}, "decide expired"),
        (expectation("wait"), {}, "decide received"),
        (expectation("offer"), {}, "decide resumed"),
        (gate(answer=YES), {}, "release answered"),
        (gate(answer=answer("edit", data={"amount": 5})), {}, "release answered"),
        (gate(answer=NO), {}, "decide answered"),
        (gate("expired"), {}, "decide expired"),
        (gate("expired", on_expiry="approve"), {}, "release expired"),
        # An overdue join fires once.
        (OVERDUE, {}, "fire"),
        (OVERDUE, {"fired": FIRED}, ""),
        # A branch: the second of two needed ones fills the join; a late one is a line of history only.
        (expectation(**BRANCH), {"needed": 2, "came": 0}, "replied"),
        (expectation(**BRANCH), {"needed": 2, "came": 1}, "fire replied"),
        (expectation("child", "expired", **BRANCH), {"needed": 2, "came": 1}, "fire expired"),
        (expectation(**BRANCH), {"needed": 2, "came": 2, "fired": FIRED}, "late"),
        (expectation(**BRANCH), {"came": 2}, "replied"),
        # A held branch: a rejection counts, an approval releases it; after a withdrawal an approval releases nothing.
        (gate(answer=NO, **BRANCH), {"needed": 2, "came": 1}, "fire answered"),
        (gate("expired", **BRANCH), {"needed": 2, "came": 1}, "fire expired"),
        (gate(answer=YES, **BRANCH), {"needed": 2, "came": 1}, "release answered"),
        (gate(answer=YES, **BRANCH), {"fired": FIRED}, "release answered"),
        (gate(answer=YES, **BRANCH), {"fired": WITHDREW}, "late"),
    ],
)
def test_an_event_leads_to_a_decision_a_join_a_release_or_nothing(
    met: Expectation | None, facts: dict[str, Any], expected: str
) -> None:
    taken = turn(plan("paused"), met, **facts)
    assert summary_of(taken) == expected
    if met is not None and met.branch_of is not None:
        assert taken.outcome.plan.status == "paused", "a branch leaves the status unchanged"
        (step,) = steps(taken.outcome)
        counts = step.kind != "late" and taken.released is None
        assert (step.join_id, step.place) == (("j-1", 2) if counts else (None, step.place))


def test_a_plan_with_a_cancel_request_is_cancelled_at_any_event() -> None:
    open_now = [expectation(), gate("open"), expectation("wait", subject="colour")]
    record = plan("paused", cancel_requested="enough")
    for met in (None, expectation(), gate(answer=YES)):
        taken = turn(record, met, open_now=open_now, done=["stock"], now=END)
        assert summary_of(taken) == "cancelled"
        words = "enough; done: stock; asked and not answered, so unknown: part; not started: pay"
        assert (taken.outcome.plan.status, taken.outcome.plan.reason) == ("cancelled", words)


@pytest.mark.parametrize(
    ("type", "source", "now", "is_over"),
    [
        ("part.completed", "parts", END - timedelta(microseconds=1), False),
        ("part.completed", "parts", END, True),
        (DEADLINE_REACHED, SYSTEM, NOW, True),
        (DEADLINE_REACHED, "burglar", NOW, False),
        (DEADLINE_REACHED, "burglar", END, True),
    ],
)
@pytest.mark.parametrize("met", [None, expectation(), gate(answer=YES), JOIN])
def test_a_plan_ends_at_its_deadline_by_the_clock_or_its_own_timer(
    met: Expectation | None, type: str, source: str, now: Any, is_over: bool
) -> None:
    came = event(type, source=source)
    if not is_over:
        turn(plan(), met, came, now=now)
        return
    with pytest.raises(LimitExceeded, match="limit_exceeded: deadline"):
        turn(plan(), met, came, now=now)


def test_a_plan_without_a_deadline_never_ends_by_time() -> None:
    assert summary_of(turn(plan(deadline=None), None, now=END + timedelta(days=9_999))) == ""


@pytest.mark.parametrize(
    ("source", "open_now", "expected"),
    [
        (SYSTEM, [], "decide resumed"),
        (SYSTEM, [expectation(**BRANCH)], "decide resumed"),
        (SYSTEM, [expectation()], ""),
        (SYSTEM, [expectation(**BRANCH), JOIN], ""),
        ("burglar", [], ""),
    ],
)
def test_a_stranded_plan_resumes_if_nothing_is_expected(
    source: str, open_now: list[Expectation], expected: str
) -> None:
    assert summary_of(turn(plan("paused"), None, event(STRANDED, source=source), open_now=open_now)) == expected


@pytest.mark.parametrize(
    ("source", "open_now", "expected"),
    [(SYSTEM, [], "You are in the phase ANSWER now."), (SYSTEM, [expectation("wait")], ""), ("burglar", [], "")],
)
def test_an_entered_phase_starts_a_turn_unless_the_plan_waits(
    source: str, open_now: list[Expectation], expected: str
) -> None:
    entered = event(PHASE_ENTERED, source=source)
    taken = turn(plan(current_state="ANSWER"), None, entered, open_now=open_now)
    assert (taken.trigger.text if taken.trigger else "") == expected


FORGED = (
    CANCEL_REQUESTED,
    EXPIRED,
    "plan.wait.answered",
    "plan.wait.reminded",
    "plan.wait.escalated",
    "approval.granted",
)


@pytest.mark.parametrize("forged", FORGED)
def test_a_forged_wake_up_changes_nothing(forged: str) -> None:
    assert summary_of(turn(plan("paused"), None, event(forged, source="burglar", approved=True))) == ""


def test_an_ended_plan_has_no_turn() -> None:
    for status in ("completed", "failed", "cancelled"):
        with pytest.raises(IllegalTransition):
            turn(plan(status), expectation())


@pytest.mark.parametrize("target", [None, "buyer"])
@pytest.mark.parametrize(
    ("held", "record", "branch", "awaits"),
    [
        (gate(answer=YES), plan("paused", awaits="other"), None, "other"),
        (gate(answer=YES), plan("paused", awaits="x-1"), None, "the request"),
        (gate(answer=YES, **BRANCH), plan(awaits=None), "j-1", None),
    ],
)
def test_a_released_request_is_published_and_not_held_again(
    held: Expectation, record: PlanRecord, branch: Any, awaits: Any, target: Any
) -> None:
    assert held.ask is not None and held.ask.proposal is not None
    proposal = replace(held.ask.proposal, target=target)
    action = decision_of(proposal.event_type, proposal.data, proposal.target).next_action
    goal = DelegateAction(target_planner="buyer", goal_event="pay", goal_data={"amount": 9})
    assert action == (goal if target else PublishAction(event_type="pay", data={"amount": 9}))
    outcome = release(record, accepted_decision(action, approval=Approval()), proposal, held, moment())
    (sent,), (reply,) = events_in(outcome), expectations_in(outcome)
    assert (sent.type, sent.data, sent.target) == ("pay", {"amount": 9}, target)
    assert (reply.id, reply.kind, reply.event_types) == (sent.id, "child" if target else "reply", ("paid", "lost"))
    assert (reply.branch_of, reply.place) == (branch, held.place)
    assert outcome.plan.awaits == (sent.id if awaits == "the request" else awaits)
    assert len(of_kind(Spend, outcome)) == (0 if branch else 1), "the join has reserved this action"


@pytest.mark.parametrize(
    ("branch", "progress", "consequence"),
    [
        ({}, JoinProgress(), "decide expired"),
        (BRANCH, JoinProgress(0, None, 2), "expired"),
        (BRANCH, JoinProgress(1, None, 2), "fire expired"),
        (BRANCH, JoinProgress(2, FIRED, 2), "late"),
    ],
)
def test_an_approved_request_that_todays_checks_refuse_is_told_and_fails_no_plan(
    branch: dict[str, Any], progress: JoinProgress, consequence: str
) -> None:
    refused = refuse_release(plan(), replace(gate(), **branch), "no such field", progress, moment(success_event()))
    assert summary_of(refused) == consequence
    assert refused.outcome is not None
    (step,) = steps(refused.outcome)
    assert "so it was not published: no such field" in step.note
    assert (step.join_id, step.place) == ("j-1" if branch and not progress.fired else None, branch.get("place", 0))
