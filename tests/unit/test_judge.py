"""The judge of decisions: each refusal names the fault and the possible choices."""

from datetime import timedelta
from typing import Any, get_args

import pytest
from msgspec.structs import replace
from pydantic import BaseModel, ValidationError

from soorma_ai.errors import DecisionError, LimitExceeded, MalformedDecision, NotAllowed, PayloadMismatch, UnknownEvent
from soorma_ai.kernel.domain.decisions import (
    ACTIONS,
    CompleteAction,
    DelegateAction,
    PlanAction,
    PublishAction,
    PublishAllAction,
    WaitAction,
    rejection_of,
)
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.limits import Limits, Spent
from soorma_ai.kernel.domain.plans import PlanRecord, pursuit_of
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.slices import at_once
from soorma_ai.kernel.rules.choices.offer import Delegate, Offer, WaitChoice
from soorma_ai.kernel.rules.decisions.judge import (
    Situation,
    checks_of,
    judge,
    must_be_possible_at_once,
    prepare_decision,
)
from soorma_ai.kernel.rules.decisions.wire_form import parse_decision
from soorma_ai.testing.scripted import complete, delegate, give_up, publish, publish_all, wait
from unit.kit import NOW
from unit.kit import plan as plan_of

SKU = {
    "type": "object",
    "properties": {"sku": {"type": "string"}, "note": {"type": "string"}},
    "required": ["sku"],
    "additionalProperties": False,
}
RESERVE = EventDefinition(event_name="stock.reserve", payload_schema=SKU)
PAY = EventDefinition(event_name="pay", approval="payload.amount > context.order")  # type: ignore[arg-type]
CAME = EventDefinition(event_name="goods.came", topic=EventTopic.BUSINESS_FACTS)
OFFER = Offer(
    events=(RESERVE, PAY),
    delegates=(Delegate("buyer", EventDefinition(event_name="buy", payload_schema=SKU)),),
    waits=(WaitChoice(CAME, ("carrier",)),),
    result_schema={"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]},
)
DONE = complete({"total": 1})
WAIT = {"action": "wait", "expected_event": "goods.came", "message": "?"}
GIVE = {"action": "delegate:buyer/buy", "data": {"sku": "A"}}


def plan(**known: Any) -> PlanRecord:
    return plan_of(goal_data={"order": 1}, **known)


def judge_answer(answer: Any, **known: Any) -> Any:
    situation = Situation(known.pop("plan", plan()), OFFER, known.pop("spent", Spent()), NOW, **known)
    return judge(at_once(prepare_decision(parse_decision(answer, "it was cut off", OFFER.choices), OFFER)), situation)


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (None, MalformedDecision, "it was cut off"),
        ([], MalformedDecision, "it was cut off"),
        ({"reasoning": "?"}, MalformedDecision, "there is no 'step'; found only 'reasoning'"),
        ({"action": "wait", "message": "?"}, MalformedDecision, "there is no 'step'; found only 'action', 'message'"),
        ({}, MalformedDecision, "there is no 'step'; found only nothing"),
        ({"step": [1]}, MalformedDecision, "found [1]"),
        ({"step": {}}, MalformedDecision, "'step.action' is missing"),
        ({"step": {"action": "dance"}}, MalformedDecision, "'step.action' is 'dance'"),
        ({**DONE, "plan_id": "x"}, MalformedDecision, "found also 'plan_id'"),
        ({"step": {"action": "publish:pay", "data": "A1"}}, MalformedDecision, "'step.data' must be an object, found"),
        ({"step": {"action": "complete"}}, MalformedDecision, "'step' has no result; 'complete' needs result"),
        ({"step": {"action": "wait", "expected_event": "goods.came"}}, MalformedDecision, "has no message"),
        ({"step": {"action": "wait", "message": "?"}}, MalformedDecision, "has no expected_event"),
        ({"step": WAIT | {"message": None}}, MalformedDecision, "step.message"),
        ({"step": WAIT | {"message": " \n"}}, MalformedDecision, "'step.message' is blank; it must say what a person"),
        ({"step": {"action": "pay.now", "data": {}}}, MalformedDecision, "'step.action' is 'pay.now'"),
        ({"step": {"action": "publsh:pay", "data": {}}}, MalformedDecision, "did you mean 'publish:pay'"),
        ({"step": WAIT | {"timeout_seconds": "600"}}, MalformedDecision, "step.timeout_seconds"),
        ({"step": WAIT | {"timeout_seconds": True}}, MalformedDecision, "step.timeout_seconds"),
        ({"step": WAIT | {"reason": "approval"}}, MalformedDecision, "holds 'reason'"),
        ({"step": {"action": "publish:stock.reserve"}}, MalformedDecision, "has no data"),
        ({"step": {"action": "publish:pay", "data": {}, "event_type": "x"}}, MalformedDecision, "holds 'event_type'"),
        ({"step": {"action": "delegate:buyer/buy"}}, MalformedDecision, "has no data"),
        ({"step": GIVE | {"target_planner": "third"}}, MalformedDecision, "holds 'target_planner'"),
        ({"step": {"action": "give_up", "missing": []}}, MalformedDecision, "'step' has no reason; 'give_up' needs"),
        (give_up(" ", "stock"), MalformedDecision, "'step.reason' must say why the goal cannot be reached, found"),
        ({"step": {"action": "give_up", "reason": "?", "missing": "all"}}, MalformedDecision, "step.missing"),
        ({"step": {"action": "give_up", "reason": "?", "result": {}}}, MalformedDecision, "holds 'result'"),
        (publish("stock.reserv", sku="A"), UnknownEvent, "did you mean 'stock.reserve'"),
        (publish("x"), UnknownEvent, "event 'x' is not offered. Possible now: stock.reserve, pay."),
        (delegate("nobody", "buy", {}), UnknownEvent, "planner and goal 'nobody/buy'"),
        (publish("stock.reserve", sku=5), PayloadMismatch, "$.sku"),
        (publish("stock.reserve"), PayloadMismatch, "sku"),
        (delegate("buyer", "buy", {}), PayloadMismatch, "data for goal 'buy'"),
        (complete({"total": "much"}), PayloadMismatch, "the result does not match its schema: $.total"),
        (wait("nobody.makes.this", "?"), NotAllowed, "event to wait for 'nobody.makes.this'"),
    ],
)
def test_an_invalid_decision_is_refused_with_the_reason(answer: Any, error: type[DecisionError], words: str) -> None:
    with pytest.raises(error) as refused:
        judge_answer(answer)
    assert words in str(refused.value)


def test_a_null_for_a_missing_value_is_left_out_of_the_payload() -> None:
    assert judge_answer(publish("stock.reserve", sku="A", note=None)).decision.next_action.data == {"sku": "A"}
    assert judge_answer(delegate("buyer", "buy", {"sku": "A", "note": None})).decision.next_action.goal_data == {
        "sku": "A"
    }
    for step in (WAIT, WAIT | {"timeout_seconds": None}):
        assert judge_answer({"step": step}).decision.next_action.timeout_seconds is None


@pytest.mark.parametrize(("amount", "asks"), [(1, False), (2, True), ("much", True)])
def test_approval_depends_on_payload_and_goal_and_is_needed_in_doubt(amount: Any, asks: bool) -> None:
    assert (judge_answer(publish("pay", amount=amount)).approval is not None) is asks


def test_an_accepted_decision_has_its_definition_and_the_producers_of_its_wait() -> None:
    assert judge_answer(publish("stock.reserve", sku="A")).definition == RESERVE
    waited = judge_answer(wait("goods.came", "?", 5))
    assert (waited.definition, waited.producers) == (CAME, ("carrier",))
    assert judge_answer(DONE).definition is None


def test_a_goal_is_not_delegated_back_to_a_planner_above_with_the_same_data() -> None:
    above = plan(ancestry=(pursuit_of("buyer", "buy", {"sku": "A"}),))
    with pytest.raises(NotAllowed, match="round in circles"):
        judge_answer(delegate("buyer", "buy", {"sku": "A"}), plan=above)
    assert isinstance(
        judge_answer(delegate("buyer", "buy", {"sku": "B"}), plan=above).decision.next_action, DelegateAction
    )


@pytest.mark.parametrize(
    ("answer", "limits", "known", "name"),
    [
        (publish("pay"), Limits(max_actions=3), {"spent": Spent(actions=3)}, "max_actions"),
        (publish("pay"), Limits(max_actions=3), {"spent": Spent(actions=2)}, None),
        (wait("goods.came", "?"), Limits(max_actions=3), {"spent": Spent(actions=3)}, None),
        (DONE, Limits(max_actions=0, max_parallel=0), {"in_flight": 9}, None),
        (DONE, Limits(max_repeats=2), {"repeats": 2}, "max_repeats"),
        (delegate("buyer", "buy", {"sku": "A"}), Limits(max_depth=1), {}, "max_depth"),
        (delegate("buyer", "buy", {"sku": "A"}), Limits(max_depth=2), {}, None),
        (publish("pay"), Limits(max_depth=1), {}, None),
    ],
)
def test_a_reached_limit_stops_its_own_actions_and_never_the_end(
    answer: Any, limits: Limits, known: Any, name: str | None
) -> None:
    if name is None:
        judge_answer(answer, plan=plan(limits=limits), **known)
        return
    with pytest.raises(LimitExceeded, match=f"limit_exceeded: {name}"):
        judge_answer(answer, plan=plan(limits=limits), **known)


TWO = publish_all(publish("stock.reserve", sku="A"), publish("pay"))


@pytest.mark.parametrize(
    ("answer", "most", "in_flight", "told"),
    [
        (TWO, 3, 2, "2 more would make 4 open at once, and at most 3 may be: ask for at most 1 now"),
        (TWO, 4, 2, None),
        (publish("pay"), 1, 1, "1 more would make 2 open at once, and at most 1 may be: ask for nothing more now"),
        (wait("goods.came", "?"), 1, 1, "1 more would make 2 open at once"),
        (DONE, 1, 9, None),
    ],
)
def test_too_many_requests_at_once_are_refused_and_never_the_end(
    answer: Any, most: int, in_flight: int, told: str | None
) -> None:
    limited = plan(limits=Limits(max_parallel=most))
    if told is None:
        judge_answer(answer, plan=limited, in_flight=in_flight)
        return
    with pytest.raises(NotAllowed) as refused:
        judge_answer(answer, plan=limited, in_flight=in_flight)
    assert told in str(refused.value)


def test_no_decision_is_accepted_after_the_deadline() -> None:
    late = replace(plan(), deadline=NOW)
    with pytest.raises(LimitExceeded, match="deadline"):
        judge_answer(DONE, plan=late)
    judge_answer(DONE, plan=replace(late, deadline=NOW + timedelta(seconds=1)))


def test_a_rejected_request_is_refused_until_its_data_changes() -> None:
    rejected = {rejection_of("pay", {"amount": 9}, None): "reject: too much"}
    for answer in (publish("pay", amount=9), publish_all(publish("pay", amount=1), publish("pay", amount=9))):
        with pytest.raises(NotAllowed, match=r"rejected 'pay' with exactly this data .*\(reject: too much\)"):
            judge_answer(answer, rejected=rejected)
    assert judge_answer(publish("pay", amount=8), rejected=rejected).approval
    given = {rejection_of("buy", {"sku": "A"}, "buyer"): "reject"}
    with pytest.raises(NotAllowed, match="rejected 'buy'"):
        judge_answer({"step": GIVE}, rejected=given)
    assert judge_answer({"step": WAIT}, rejected=rejected | given)


EACH: dict[type[BaseModel], Any] = {
    PublishAction: publish("stock.reserve", sku="A"),
    PublishAllAction: TWO,
    DelegateAction: delegate("buyer", "buy", {"sku": "A"}),
    WaitAction: wait("goods.came", "?"),
    CompleteAction: DONE,
}
KINDS: tuple[type, ...] = get_args(get_args(PlanAction)[0])


def test_each_kind_of_decision_has_an_example() -> None:
    assert {*EACH} == {*KINDS}
    assert {kind.model_fields["action"].default for kind in EACH} == ACTIONS


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_decision_is_accepted_if_offered(kind: type) -> None:
    assert type(judge_answer(EACH[kind]).decision.next_action) is kind


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limits", [Limits(max_actions=0), Limits(max_parallel=0), Limits(max_depth=0)])
def test_a_limit_stops_the_kinds_of_decision_it_counts_and_never_the_end(kind: type, limits: Limits) -> None:
    users: dict[str, set[type]] = {
        "max_actions": {PublishAction, PublishAllAction, DelegateAction},
        "max_parallel": {PublishAction, PublishAllAction, DelegateAction, WaitAction},
        "max_depth": {DelegateAction},
    }
    limit = next(name for name in users if getattr(limits, name) == 0)
    try:
        judge_answer(EACH[kind], plan=plan(limits=limits))
    except (LimitExceeded, NotAllowed):
        assert kind in users[limit]
    else:
        assert kind not in users[limit]


@pytest.mark.parametrize("limits", [Limits(max_actions=0), Limits(max_parallel=0), Limits(max_depth=0)])
def test_giving_up_is_legal_wherever_completing_is_and_needs_no_result(limits: Limits) -> None:
    accepted = judge_answer(give_up("nobody sells it", "a shop"), plan=plan(limits=limits))
    action = accepted.decision.next_action
    assert (action.action, action.outcome, action.reason) == ("complete", "not_achieved", "nobody sells it")
    assert (action.missing, accepted.approval) == (("a shop",), None)
    assert judge_answer({"step": {"action": "give_up", "reason": "no"}}).decision.next_action.missing == ()
    assert checks_of(accepted.decision, OFFER) == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"outcome": "not_achieved"}, "giving up needs a reason"),
        ({"outcome": "not_achieved", "reason": "no", "result": 1}, "giving up has a reason and no result"),
        ({"reason": "no"}, "a reached goal has a result"),
        ({"missing": ("x",)}, "a reached goal has a result"),
    ],
)
def test_an_end_has_a_result_or_a_reason(given: Any, words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        CompleteAction(**given)


@pytest.mark.parametrize(("planner", "goal"), [("team/buyer", "buy"), ("buyer", "buy/now"), ("team/a/b", "buy/now/c")])
def test_a_goal_reaches_its_planner_despite_slashes_in_names(planner: str, goal: str) -> None:
    offer = Offer(delegates=(Delegate(planner, EventDefinition(event_name=goal)),))
    action: Any = parse_decision(delegate(planner, goal, {}), "", offer.choices).next_action
    assert (action.target_planner, action.goal_event) == (planner, goal)


def test_a_goal_with_the_same_spelling_under_another_planner_is_not_offered() -> None:
    offer = Offer(delegates=(Delegate("team/buyer", EventDefinition(event_name="buy")),))
    assert offer.goal("team/buyer", "buy") is not None
    assert offer.goal("team", "buyer/buy") is None


def test_more_requests_than_may_ever_be_open_are_refused_unchecked() -> None:
    decision = parse_decision(TWO, "")
    must_be_possible_at_once(decision, 2)
    must_be_possible_at_once(decision, None)
    with pytest.raises(NotAllowed, match="2 requests were to be published together, and at most 1 may be"):
        must_be_possible_at_once(decision, 1)


@pytest.mark.parametrize(
    ("kind", "schemas"),
    [
        (PublishAction, [RESERVE.payload_schema]),
        (PublishAllAction, [RESERVE.payload_schema, PAY.payload_schema]),
        (DelegateAction, [SKU]),
        (WaitAction, []),
        (CompleteAction, [OFFER.result_schema]),
    ],
)
def test_the_values_checked_ahead_are_those_with_a_schema(kind: type, schemas: list[Any]) -> None:
    assert [schema for schema, _ in checks_of(parse_decision(EACH[kind], ""), OFFER)] == schemas
