"""A request outside of a plan that people must approve: held, let go as it was or as it was changed, or refused."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.domain.approvals import Approval
from soorma_ai.kernel.domain.effects import Effect, Expect, Publish, Schedule
from soorma_ai.kernel.domain.events import SYSTEM, EventEnvelope, Lineage
from soorma_ai.kernel.domain.expectations import Wait
from soorma_ai.kernel.domain.people import AnswerDecision
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.rules.waits.answers import event_of_answer, event_of_expiry
from soorma_ai.kernel.rules.waits.gates import approval_for, gate_id, hold, hold_recorded
from soorma_ai.kernel.rules.waits.opening import Waiter, first_opened
from soorma_ai.kernel.rules.waits.replies import refuse
from unit.kit import HOUR, LINEAGE, NOW, answer, event, expectation, moment, of_kind, published

PAYLOAD: JsonObject = {"type": "object", "properties": {"amount": {"type": "number"}}}
PAY = EventDefinition(event_name="pay", payload_schema=PAYLOAD)
ASKED = Approval(approvers=("cfo",), timeout=HOUR)
WEEK = timedelta(days=7)
WORKER = Waiter("orders", LINEAGE, None, task_id="t-1", longest=WEEK)
REPLY_TO = {"correlation_id": "pay-1", "response_event": "paid", "response_topic": "action-results"}


def request(**changes: object) -> EventEnvelope:
    given = {"id": "pay-1", "topic": "action-requests", "amount": 9, "tenant_id": "acme", **REPLY_TO}
    return event("pay", **(given | changes))


def held(approval: Approval = ASKED, waiter: Waiter = WORKER) -> tuple[Effect, ...]:
    return hold(request(), PAY, approval, waiter, moment())


@pytest.mark.parametrize(
    ("when", "data", "context", "is_held"),
    [
        ("always", {}, {}, True),
        ("payload.amount > 5", {"amount": 9}, {}, True),
        ("payload.amount > 5", {"amount": 5}, {}, False),
        ("payload.amount > context.limit", {"amount": 9}, {"limit": 10}, False),
        ("payload.amount > context.limit", {"amount": 9}, {}, True),
    ],
)
def test_a_request_is_held_where_its_approval_applies_or_that_cannot_be_decided(
    when: str, data: JsonObject, context: JsonObject, is_held: bool
) -> None:
    definition = PAY.model_copy(update={"approval": Approval(when=when)})
    assert (approval_for(definition, data, context) is not None) is is_held
    assert approval_for(PAY, data, context) is None


def test_a_held_request_is_a_question_bound_to_its_payload_and_known_by_the_requests_id() -> None:
    effects = held()
    gate, (told,) = first_opened(effects), published(effects)
    assert (gate.id, gate.kind, gate.task_id, gate.plan_id) == (gate_id("pay-1"), "gate", "t-1", None)
    assert gate.deadline == NOW + HOUR
    wait = Wait.of(gate)
    assert wait is not None
    assert (wait.request_id, wait.proposed_event, wait.proposed_data) == ("pay-1", "pay", {"amount": 9})
    assert wait.approvers == ("cfo",)
    assert (told.type, told.data["request_id"], told.data["digest"]) == (
        "notification.human_input",
        "pay-1",
        wait.digest,
    )
    assert gate.keys == (), "no event opens a gate"
    assert first_opened(held(Approval())).deadline == NOW + WEEK, "nothing waits without end"


def test_what_an_answer_lets_go_is_the_request_as_it_was_asked_or_changed() -> None:
    gate = first_opened(held())
    assert event_of_answer(gate, answer("approve", approved=True), NOW) == request()
    changed = event_of_answer(gate, answer("edit", data={"amount": 5}), NOW)
    assert changed == request().model_copy(update={"data": {"amount": 5}})


def test_a_refusal_goes_to_the_place_that_the_request_names_or_to_the_usual_one() -> None:
    named = refuse(request(response_event="told", response_topic="task-events"), "rejected", "no", NOW)
    usual = refuse(request(response_event=None, response_topic=None, correlation_id=None), "rejected", "no", NOW)
    assert (named.type, named.topic, named.correlation_id, named.answers) == ("told", "task-events", "pay-1", "pay-1")
    assert (usual.type, usual.topic, usual.correlation_id) == ("pay.completed", "action-results", "pay-1")


@pytest.mark.parametrize("decision", ["reject", "respond"])
def test_who_asked_is_told_of_a_no_in_the_persons_words(decision: str) -> None:
    told = event_of_answer(first_opened(held()), answer(decision, note="too much"), NOW + HOUR)
    assert (told.source, told.type, told.topic, told.correlation_id) == (SYSTEM, "paid", "action-results", "pay-1")
    assert (told.tenant_id, told.time) == ("acme", NOW + HOUR)
    assert told.data == {
        "request_id": "pay-1",
        "success": False,
        "status": "failed",
        "error": {
            "code": "rejected",
            "message": "a person rejected 'pay', so it was not published; mia says: too much",
        },
    }


def test_silence_is_a_no_unless_the_owner_gave_a_standing_yes() -> None:
    (timer,) = of_kind(Schedule, held())
    gate = first_opened(held())
    assert (timer.due, timer.guards) == (NOW + HOUR, gate.id)
    assert timer.event == event_of_expiry(gate, NOW + HOUR)
    assert timer.event.data["error"] == {
        "code": "rejected",
        "message": "nobody approved 'pay' in time, so it was not published",
    }
    assert event_of_expiry(first_opened(held(Approval(timeout=HOUR, on_expiry="approve"))), NOW) == request()


def test_a_payload_that_is_not_the_one_people_were_shown_is_never_let_go() -> None:
    gate = first_opened(held())
    assert gate.ask is not None and gate.ask.proposal is not None
    other = replace(gate.ask.proposal, request=request(amount=900))
    forged = replace(gate, ask=replace(gate.ask, proposal=other))
    with pytest.raises(LocalProtocolError, match="not the one that people were shown"):
        event_of_answer(forged, answer("approve", approved=True), NOW)


@pytest.mark.parametrize(("until", "later"), [(None, 3 * HOUR), (NOW + 90 * timedelta(minutes=1), 1.5 * HOUR)])
def test_the_time_for_the_reply_begins_when_the_gates_is_over(until: object, later: timedelta) -> None:
    waiter = replace(WORKER, deadline=until)
    reply = expectation(id="pay-1", plan_id=None, task_id="t-1", deadline=NOW + 2 * HOUR)
    other = Expect(expectation(id="x-2"))
    timer = Schedule("deadline:pay-1", NOW + 2 * HOUR, event("expired", time=NOW + 2 * HOUR), guards="pay-1")
    recorded = (other, Publish(request()), Expect(reply), timer)
    effects = hold_recorded(recorded, request(), PAY, ASKED, waiter, moment())
    kept, asked, *_ = [effect.expectation for effect in of_kind(Expect, effects)]
    assert (kept, asked.kind) == (other.expectation, "gate")
    (put_off,) = [one.expectation for one in of_kind(Expect, effects) if one.expectation.id == "pay-1"]
    (timed,) = [one for one in of_kind(Schedule, effects) if one.guards == "pay-1"]
    assert put_off == replace(reply, deadline=NOW + later)
    assert (timed.due, timed.event.time) == (NOW + later, NOW + later)
    assert request() not in published(effects), "nothing is published before the answer"
    assert AnswerDecision.EDIT in (asked.ask.allowed_decisions if asked.ask else ())
    assert asked.tenant_id == Lineage("acme").tenant_id
