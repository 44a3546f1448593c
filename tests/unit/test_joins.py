"""Requests published together: judged, carried out and joined by pure functions."""

from datetime import timedelta
from typing import Any, cast

import pytest
from msgspec.structs import replace

from soorma_ai.errors import DecisionError, LimitExceeded, MalformedDecision, PayloadMismatch, UnknownEvent
from soorma_ai.kernel.domain.decisions import PlannerDecision, PublishAction, PublishAllAction
from soorma_ai.kernel.domain.effects import Close, PlanChange, Schedule, Spend
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationStatus
from soorma_ai.kernel.domain.history import Step
from soorma_ai.kernel.domain.limits import Limits, Spent
from soorma_ai.kernel.domain.people import Answer
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.slices import at_once
from soorma_ai.kernel.rules.choices.offer import Offer
from soorma_ai.kernel.rules.decisions.judge import Situation, judge, prepare_decision
from soorma_ai.kernel.rules.decisions.wire_form import parse_decision
from soorma_ai.kernel.rules.plans.carry_out import carry_out
from soorma_ai.kernel.rules.plans.joins import fire, receive_branch
from soorma_ai.kernel.rules.plans.triggers import Trigger
from soorma_ai.testing.scripted import publish, publish_all
from unit.kit import NOW, answer, event, events_in, expectations_in, moment, of_kind, plan, steps

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
PART = EventDefinition(event_name="part.asked", payload_schema=NUMBER)
PAY = EventDefinition(event_name="pay.asked", payload_schema=NUMBER, approval="payload.n > 5")  # type: ignore[arg-type]
OFFER = Offer(events=(PART, PAY))


def together(*requests: tuple[str, int], **options: Any) -> PlannerDecision:
    asked = tuple(PublishAction(event_type=name, data={"n": n}) for name, n in requests)
    return PlannerDecision(next_action=PublishAllAction(requests=asked, **options))


def situation(record: PlanRecord | None = None, **known: Any) -> Situation:
    return Situation(record or plan(), OFFER, known.pop("spent", Spent()), NOW, **known)


def effects_of(decision: PlannerDecision) -> PlanChange:
    return carry_out(plan(), judge(decision, situation()), Trigger(""), [], moment())


def several(**said: Any) -> Any:
    return {"step": {"action": "publish_all", **said}}


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (publish_all(publish("part.asked", n=1), publish("part.askd", n=2)), UnknownEvent, "request 2 of 2: event 'p"),
        (publish_all(publish("part.asked", n="x")), PayloadMismatch, "request 1 of 1: data for event 'part.asked'"),
        (publish_all(publish("part.asked", n=1), need=2), MalformedDecision, "need=2 can never come: only 1"),
        (publish_all(publish("part.asked", n=1), need=0), MalformedDecision, "step.need"),
        (publish_all(), MalformedDecision, "step.requests"),
        (several(), MalformedDecision, "no requests"),
        (several(requests={}), MalformedDecision, "must be a list"),
        (several(requests=["x"]), MalformedDecision, "request 1 of 1 must be"),
        (several(requests=[{"action": "complete", "result": 1}]), MalformedDecision, "request 1 of 1 must be"),
        (several(requests=[{"action": "publish:part.asked"}]), MalformedDecision, "request 1 of 1: 'step' has no data"),
        (several(requests=[], deadline=3), MalformedDecision, "takes only"),
    ],
)
def test_an_invalid_publish_all_is_refused_as_a_whole(answer: Any, error: type[DecisionError], words: str) -> None:
    with pytest.raises(error) as refused:
        judge(at_once(prepare_decision(parse_decision(answer, ""), OFFER)), situation())
    assert words in str(refused.value)


def test_a_null_option_of_publish_all_counts_as_missing() -> None:
    said = several(requests=[publish("part.asked", n=1)["step"]], need=None, timeout_seconds=None)
    action: Any = parse_decision(said, "").next_action
    assert (action.need, action.timeout_seconds) == (None, None)


@pytest.mark.parametrize(
    ("limits", "known", "name"),
    [
        ({"max_actions": 3}, {"spent": Spent(actions=2)}, "max_actions"),
        ({"max_actions": 4}, {"spent": Spent(actions=2)}, None),
        ({"max_parallel": 4}, {"in_flight": 2}, None),
        ({"max_repeats": 2}, {"repeats": 2}, "max_repeats"),
        ({"max_repeats": 2}, {"repeats": 1}, None),
    ],
)
def test_every_request_of_publish_all_counts_against_the_limits(limits: Any, known: Any, name: str | None) -> None:
    decision, now = together(("part.asked", 1), ("pay.asked", 9)), situation(plan(limits=Limits(**limits)), **known)
    if name is None:
        judge(decision, now)
        return
    with pytest.raises(LimitExceeded, match=name):
        judge(decision, now)


def test_publish_all_reserves_all_requests_then_publishes_or_holds_each() -> None:
    outcome = effects_of(together(("part.asked", 1), ("pay.asked", 9), ("pay.asked", 2), timeout_seconds=60))
    assert (outcome.effects[0], len(of_kind(Spend, outcome))) == (Spend("p-0", 3, 20), 1)
    join, *branches = expectations_in(outcome)
    assert join.join is not None
    assert (join.kind, join.deadline, join.join.need) == ("join", NOW + timedelta(seconds=60), 3)
    kinds = ["reply", "gate", "reply"]
    assert [(b.kind, b.place, b.branch_of) for b in branches] == [(k, n, join.id) for n, k in enumerate(kinds)]
    assert [event.type for event in events_in(outcome)] == ["part.asked", "notification.human_input", "pay.asked"]
    assert [timer.guards for timer in of_kind(Schedule, outcome)] == [join.id]
    assert [step.fingerprint is not None for step in steps(outcome)] == [True, False, False], (
        "one decision is one repeat"
    )
    assert outcome.plan.status == "running"


def test_a_repeated_handling_makes_the_same_events_and_all_requests_held_pause_the_plan() -> None:
    assert effects_of(together(("pay.asked", 8), ("pay.asked", 9))).plan.status == "paused"
    decision = together(("part.asked", 1), ("part.asked", 1))
    first, again = effects_of(decision), effects_of(decision)
    assert first == again
    assert len({event.id for event in events_in(first)}) == 2


def open_join(*requests: tuple[str, int], **options: Any) -> tuple[PlanRecord, Expectation, list[Expectation]]:
    outcome = effects_of(together(*requests, **options))
    join, *branches = expectations_in(outcome)
    return outcome.plan, join, branches


def receive(
    now: PlanRecord, branch: Expectation, fired: Step | None = None, /, given: Answer | None = None, **data: Any
) -> tuple[PlanRecord, Step, Trigger]:
    outcome, trigger = receive_branch(now, replace(branch, answer=given), event("r", data=data), moment(), fired=fired)
    return outcome.plan, steps(outcome)[0], trigger


def test_a_branch_is_a_step_and_leaves_the_status_unchanged() -> None:
    now, join, (first, _) = open_join(("part.asked", 1), ("part.asked", 2))
    paused = replace(now, status=PlanStatus.PAUSED)
    after, step, _ = receive(paused, first, success=True, result=1)
    assert (after.status, after.steps) == ("paused", paused.steps + 1)
    assert (step.kind, step.join_id, step.place) == ("replied", join.id, 0)
    late = receive(paused, first, step, success=True)[1]
    assert (late.kind, late.join_id) == ("late", None)


def test_results_are_listed_in_the_order_of_their_requests() -> None:
    now, join, branches = open_join(("part.asked", 1), ("part.asked", 2), ("part.asked", 3), ("pay.asked", 9), need=2)
    now, last, _ = receive(now, branches[2], success=True, result={"got": 3})
    now, first, _ = receive(now, branches[0], success=False, error={"code": "none"})
    outcome, trigger = fire(now, join, [last, first], [branches[1], branches[3]], moment())
    assert trigger.text == "2 of 4 requests that were published together have come to an end; 2 were needed."
    assert trigger.data == [
        {"event": "part.asked", "data": {"n": 1}, "status": "failed", "error": {"code": "none"}},
        {"event": "part.asked", "data": {"n": 2}, "status": "no answer yet"},
        {"event": "part.asked", "data": {"n": 3}, "status": "ok", "result": {"got": 3}},
        {"event": "pay.asked", "data": {"n": 9}, "status": "not published: nobody approved it in time"},
    ]
    closed = {close.expectation_id: close.status for close in of_kind(Close, outcome)}
    assert closed == {branches[3].id: ExpectationStatus.CLOSED, join.id: ExpectationStatus.MET}
    (fired,) = steps(outcome)
    assert (fired.kind, fired.join_id, fired.fires, fired.data) == ("joined", join.id, True, {"withdrawn": [3]})


def test_at_its_deadline_a_join_fires_with_the_results_so_far() -> None:
    now, join, branches = open_join(("part.asked", 1), ("pay.asked", 9), ("pay.asked", 8), timeout_seconds=60)
    now, rejected, _ = receive(now, branches[1], given=answer("reject", approved=False))
    now, silent, _ = receive(now, replace(branches[2], status=ExpectationStatus.EXPIRED))
    outcome, trigger = fire(now, replace(join, status=ExpectationStatus.EXPIRED), [rejected, silent], [], moment())
    assert trigger.text == "The time for 3 requests that were published together is over; 2 have come to an end."
    assert [item["status"] for item in cast("list[Any]", trigger.data)] == [
        "no answer yet",
        "not published: a person rejected it",
        "Nobody decided about pay.asked in time; by default that is a no.",
    ]
    assert ([step.kind for step in steps(outcome)], of_kind(Close, outcome)) == (["expired"], [])
    everything = fire(now, join, [rejected, silent, silent], [], moment())[1].text
    assert everything == "All 3 requests that were published together have come to an end."


@pytest.mark.parametrize(("decision", "counts"), [("approve", False), ("edit", False), ("reject", True)])
def test_an_approval_is_no_result_of_a_branch_and_a_rejection_is_one(decision: str, counts: bool) -> None:
    now, join, (gate,) = open_join(("pay.asked", 9))
    _, step, trigger = receive(now, gate, given=answer(decision, data={"n": 8}))
    assert (step.join_id, trigger.released is None) == (join.id if counts else None, counts)
