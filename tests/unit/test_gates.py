"""Gates of requests outside plans: a held request is released, released with changes, or refused."""

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
from unit.kit import HOUR, LINEAGE, NOW, answer, event, events_in, expectation, moment, of_kind

PAYLOAD: JsonObject = {"type": "object", "properties": {"amount": {"type": "number"}}}
PAY = EventDefinition(event_name="pay", payload_schema=PAYLOAD)
ASKED = Approval(approvers=("cfo",), timeout=HOUR)
WEEK = timedelta(days=7)
WORKER = Waiter("orders", LINEAGE, None, task_id="t-1", longest=WEEK)
REPLY_TO = {"correlation_id": "pay-1", "response_event": "paid", "response_topic": "action-results"}


def request(**changes: object) -> EventEnvelope:
    given = {"id": "pay-1", "topic": "action-requests", "amount": 9, "tenant_id": "acme", **REPLY_TO}
    return event("pay", **(given | changes))


def hold_request(approval: Approval = ASKED, waiter: Waiter = WORKER) -> tuple[Effect, ...]:
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
def test_a_request_is_held_if_its_approval_applies_or_is_undecided(
    when: str, data: JsonObject, context: JsonObject, is_held: bool
) -> None:
    definition = PAY.model_copy(update={"approval": Approval(when=when)})
    assert (approval_for(definition, data, context) is not None) is is_held
    assert approval_for(PAY, data, context) is None


def test_a_held_request_is_a_question_bound_to_its_payload_and_its_requests_id() -> None:
    effects = hold_request()
    gate, (told,) = first_opened(effects), events_in(effects)
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
    assert gate.keys == (), "no event meets a gate"
    assert first_opened(hold_request(Approval())).deadline == NOW + WEEK, (
        "a gate without a timeout ends with its waiter"
    )


def test_an_approved_request_is_released_unchanged_and_an_edited_one_with_the_edit() -> None:
    gate = first_opened(hold_request())
    assert event_of_answer(gate, answer("approve", approved=True), NOW) == request()
    changed = event_of_answer(gate, answer("edit", data={"amount": 5}), NOW)
    assert changed == request().model_copy(update={"data": {"amount": 5}})


def test_a_refusal_goes_to_the_reply_address_or_to_the_default_one() -> None:
    named = refuse(request(response_event="told", response_topic="task-events"), "rejected", "no", NOW)
    usual = refuse(request(response_event=None, response_topic=None, correlation_id=None), "rejected", "no", NOW)
    assert (named.type, named.topic, named.correlation_id, named.answers) == ("told", "task-events", "pay-1", "pay-1")
    assert (usual.type, usual.topic, usual.correlation_id) == ("pay.completed", "action-results", "pay-1")


@pytest.mark.parametrize("decision", ["reject", "respond"])
def test_the_requester_gets_a_rejection_with_the_persons_note(decision: str) -> None:
    told = event_of_answer(first_opened(hold_request()), answer(decision, note="too much"), NOW + HOUR)
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


def test_an_expired_gate_refuses_unless_its_owner_chose_approval_on_expiry() -> None:
    (timer,) = of_kind(Schedule, hold_request())
    gate = first_opened(hold_request())
    assert (timer.due, timer.guards) == (NOW + HOUR, gate.id)
    assert timer.event == event_of_expiry(gate, NOW + HOUR)
    assert timer.event.data["error"] == {
        "code": "rejected",
        "message": "nobody approved 'pay' in time, so it was not published",
    }
    assert event_of_expiry(first_opened(hold_request(Approval(timeout=HOUR, on_expiry="approve"))), NOW) == request()


def test_a_payload_other_than_the_shown_one_is_never_released() -> None:
    gate = first_opened(hold_request())
    assert gate.ask is not None and gate.ask.proposal is not None
    other = replace(gate.ask.proposal, request=request(amount=900))
    forged = replace(gate, ask=replace(gate.ask, proposal=other))
    with pytest.raises(LocalProtocolError, match="not the one that people were shown"):
        event_of_answer(forged, answer("approve", approved=True), NOW)


@pytest.mark.parametrize(("until", "later"), [(None, 3 * HOUR), (NOW + 90 * timedelta(minutes=1), 1.5 * HOUR)])
def test_the_reply_deadline_starts_at_the_end_of_the_gate(until: object, later: timedelta) -> None:
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
    assert request() not in events_in(effects), "nothing is published before the answer"
    assert AnswerDecision.EDIT in (asked.ask.allowed_decisions if asked.ask else ())
    assert asked.tenant_id == Lineage("acme").tenant_id
