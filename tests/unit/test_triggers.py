"""An event for a plan becomes one line of its history and one trigger."""

from typing import Any

import pytest

from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.domain.decisions import rejection_of
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.history import StepKind
from soorma_ai.kernel.domain.values import digest
from soorma_ai.kernel.rules.plans.history import append_step
from soorma_ai.kernel.rules.plans.triggers import Trigger, receive
from unit.kit import GOAL, NOW, answer, event, expectation, failure_event, gate, moment, plan, steps, success_event

ERROR = {"code": "network", "message": "down"}
YES, NO = answer("approve", approved=True), answer("reject", "too much", approved=False)
EDIT = answer("edit", approved=True, data={"amount": 5})
RED, BLUE = {"colour": "red"}, {"colour": "blue"}
HEARD = event("colour.told", **RED)
WAIT = expectation("wait", event_type="asked")
ANSWERED = expectation("wait", event_type="asked", answer=answer("respond", **BLUE))
UNASKED = expectation("wait", "expired", event_type="asked")
STANDING_YES = gate("expired", on_expiry="approve")
LATE, UNTOLD = "No answer to part came in time.", "The wait for asked ended without an answer."
REFUSED = "A person rejected pay; it was not published."
CHANGED = "The agents that can be asked have changed."
SILENCE = "Nobody decided about pay in time; by default that is a "

# The met expectation and its event; the step: kind, name, data, note; the text of the trigger.
COMES: list[tuple[Expectation, EventEnvelope, tuple[str, str, Any, str], str]] = [
    (expectation(), success_event(), ("replied", "part", 7, "ok"), "part was answered."),
    (expectation(), HEARD, ("replied", "part", RED, "ok"), "part was answered."),
    (expectation(), failure_event(), ("replied", "part", ERROR, "failed"), "part failed."),
    (expectation("child"), failure_event(), ("replied", "part", ERROR, "failed"), "part failed."),
    (expectation(status="expired"), HEARD, ("expired", "part", None, LATE), LATE),
    (expectation("child", "expired"), HEARD, ("expired", "part", None, LATE), LATE),
    (WAIT, HEARD, ("received", "colour.told", RED, ""), "colour.told came."),
    (ANSWERED, HEARD, ("answered", "asked", BLUE, "respond"), "A person answered (respond) for asked."),
    (UNASKED, HEARD, ("expired", "asked", None, UNTOLD), UNTOLD),
    (gate(answer=YES), HEARD, ("answered", "pay", YES.payload, "approve"), "pay was approved."),
    (gate(answer=EDIT), HEARD, ("answered", "pay", EDIT.payload, "edit"), "pay was changed and approved."),
    (gate(answer=NO), HEARD, ("answered", "pay", NO.payload, "reject: too much"), REFUSED),
    (gate("expired"), HEARD, ("expired", "pay", None, SILENCE + "no."), SILENCE + "no."),
    (STANDING_YES, HEARD, ("expired", "pay", None, SILENCE + "yes."), SILENCE + "yes."),
    (expectation("offer"), HEARD, ("resumed", "", None, "the registry changed"), CHANGED),
]


@pytest.mark.parametrize(("met", "came", "line", "decided"), COMES)
def test_an_event_becomes_a_line_of_history_and_a_trigger(
    met: Expectation, came: EventEnvelope, line: tuple[Any, ...], decided: str
) -> None:
    outcome, trigger = receive(plan("paused"), met, came, moment(came))
    (step,) = steps(outcome)
    assert (step.kind, step.name, step.data, step.note) == line
    assert (trigger.text, trigger.data) == (decided, None if met.kind == "offer" else line[2])
    assert (outcome.plan.status, outcome.plan.steps) == ("running", 5)


@pytest.mark.parametrize(
    ("met", "data"),
    [
        (gate(answer=YES), {"amount": 9}),
        (gate(answer=EDIT), {"amount": 5}),
        (gate(answer=NO), None),
        (gate("expired"), None),
        (STANDING_YES, {"amount": 9}),
        (ANSWERED, None),
        (expectation(), None),
    ],
)
def test_only_an_approval_releases_a_request_with_exactly_the_approved_payload(met: Expectation, data: Any) -> None:
    released = receive(plan(), met, HEARD, moment())[1].released
    if data is None:
        assert released is None
        return
    assert released is not None and met.ask is not None and met.ask.proposal is not None
    assert (released.event_type, released.data, released.digest) == ("pay", data, digest(data))
    assert released.reply == met.ask.proposal.reply


def test_a_rejection_is_marked_by_its_request_and_keeps_the_persons_words() -> None:
    outcome, trigger = receive(plan(), gate(answer=NO, target="buyer"), HEARD, moment())
    (step,) = steps(outcome)
    assert step.fingerprint == rejection_of("pay", {"amount": 9}, "buyer") != rejection_of("pay", {"amount": 9}, None)
    assert trigger.said == "too much"
    for met in (gate(answer=YES), gate(answer=EDIT), gate("expired"), ANSWERED):
        (step,) = steps(receive(plan(), met, HEARD, moment())[0])
        assert step.fingerprint is None


@pytest.mark.parametrize(
    ("met", "words"),
    [
        (gate(), "closed without a person's answer; only answer"),
        (gate(answer=YES, data={"amount": 9000}), "not the one that was approved"),
        (gate("expired", on_expiry="approve", data={"amount": 9000}), "not the one that was approved"),
        (gate(answer=YES, ask=None), "holds no request"),
        (expectation("doubt"), "nothing that a plan is told of"),
        (expectation("join"), "nothing that a plan is told of"),
    ],
)
def test_no_event_and_no_damaged_row_releases_a_gate(met: Expectation, words: str) -> None:
    with pytest.raises(LocalProtocolError, match=words):
        receive(plan(), met, HEARD, moment())


def test_the_facts_of_a_trigger_are_its_text_and_data_in_canonical_form() -> None:
    assert Trigger("It came.", {"b": 1, "a": 2}).facts == Trigger("It came.", {"a": 2, "b": 1}).facts
    assert Trigger("It came.", 1).facts != Trigger("It came.", 2).facts != Trigger("It went.", 2).facts


def test_a_line_of_history_is_numbered_and_names_its_cause_or_its_own_event() -> None:
    (step,) = steps(append_step(plan(), StepKind.GOAL, moment(), name="x"))
    assert (step.plan_id, step.ordinal, step.at, step.event_id) == ("p-1", 4, NOW, GOAL.id)
    (made,) = steps(append_step(plan(), StepKind.PUBLISHED, moment(), event_id="e-9", fingerprint="f"))
    assert (made.event_id, made.fingerprint) == ("e-9", "f")
