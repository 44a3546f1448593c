"""A request that nobody takes: kept, told of, and handed over as if it were published at that moment."""

from datetime import datetime, timedelta

import pytest
from contract.store_kit import agent
from msgspec.structs import replace

from soorma_ai.kernel.domain.approvals import Approval
from soorma_ai.kernel.domain.effects import Schedule
from soorma_ai.kernel.domain.events import SYSTEM, EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation, Stray, Untaken
from soorma_ai.kernel.domain.registry import EventDefinition, EventRole, RegisteredEvent, Subscription
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.rules.arrival.arrival import NamedRows, arrive, hear
from soorma_ai.kernel.rules.arrival.effects import DropUntaken, Effect, KeepUntaken, Open, Put, Wake, arrival_of
from soorma_ai.kernel.rules.arrival.takers import Index
from soorma_ai.kernel.rules.arrival.untaken import describe_waiting, id_when_let_go, offer_untaken
from unit.kit import HOUR, NOW, event, expectation, of_kind

WEEK = timedelta(days=7)
NUMBER: JsonObject = {"type": "object", "properties": {"amount": {"type": "number"}}}
PAY = EventDefinition(event_name="pay", payload_schema=NUMBER)
TAKER = agent("payer", "pay", events=((EventRole.TAKES, PAY),))
LISTENER = replace(agent("ear"), subscriptions=(Subscription(PAY.topic, "*"),))
DROP = DropUntaken("untaken:q-1")
TAKEN = [RegisteredEvent("payer", TAKER.kind, EventRole.TAKES, PAY)]
TAKERS = (Put("payer", "q-1"),)


def request(**changes: object) -> EventEnvelope:
    given = {"id": "q-1", "topic": "action-requests", "amount": 9, "correlation_id": "q-1", "tenant_id": "acme"}
    return event("pay", **(given | changes))


def kept(asked: EventEnvelope, expected: Expectation | None = None, index: Index | None = None) -> tuple[Effect, ...]:
    effects = arrive(hear(asked, index or Index([LISTENER])), NamedRows(expected), asked, NOW)
    return tuple(effect for effect in effects if not isinstance(effect, Put))


@pytest.mark.parametrize(
    ("index", "target", "is_kept"),
    [
        ([], None, True),
        ([LISTENER], None, True),
        ([TAKER], None, False),
        ([TAKER], "payer", False),
        ([TAKER], "somebody else", True),
        ([replace(TAKER, tenant_id="other")], None, True),
        ([replace(TAKER, tenant_id="acme")], None, False),
    ],
)
def test_a_request_is_kept_where_no_agent_of_its_tenant_and_target_takes_it(
    index: list[object], target: str | None, is_kept: bool
) -> None:
    effects = kept(request(target=target), index=Index(index))  # type: ignore[arg-type]
    assert (KeepUntaken("acme", "pay", NOW + WEEK) in effects) is is_kept
    strays = arrival_of(effects, frozenset()).strays
    assert strays == ((Stray("q-1", "pay", "untaken", None),) if is_kept else ())


@pytest.mark.parametrize(("deadline", "until"), [(None, NOW + WEEK), (NOW + HOUR, NOW + HOUR)])
def test_who_expects_the_reply_has_a_deadline_and_whoever_else_asked_is_told_at_the_end(
    deadline: datetime | None, until: datetime
) -> None:
    expected = expectation(id="q-1", deadline=NOW + 2 * HOUR)
    assert kept(request(), expected)[:1] == (KeepUntaken("acme", "pay", NOW + 2 * HOUR),)
    assert of_kind(Schedule, kept(request(), expected)) == []
    (timer,) = of_kind(Schedule, kept(request(deadline=deadline, response_event="paid")))
    assert (timer.id, timer.due, timer.guards) == ("untaken:q-1", until, None)
    told = timer.event
    assert (told.type, told.source, told.correlation_id, told.tenant_id) == ("paid", SYSTEM, "q-1", "acme")
    assert isinstance(told.data["error"], dict) and told.data["error"]["code"] == "deadline_exceeded"


@pytest.mark.parametrize(
    ("expected", "now", "is_handed"),
    [
        (None, NOW, True),
        (None, NOW + WEEK, False),
        (expectation(id="q-1", deadline=NOW + WEEK), NOW + WEEK, False),
        (expectation(id="q-1", deadline=NOW + WEEK), NOW + HOUR, True),
        (expectation(id="q-1", deadline=None), NOW + WEEK, True),
        (expectation(id="q-1", status="closed"), NOW, False),
        (expectation(id="q-1", status="expired"), NOW, False),
        (expectation(id="q-1", status="met"), NOW, False),
    ],
)
def test_it_is_handed_over_to_its_takers_while_somebody_waits(
    expected: Expectation | None, now: datetime, is_handed: bool
) -> None:
    assert offer_untaken(request(), TAKEN, expected, TAKERS, now) == ((DROP, *TAKERS) if is_handed else (DROP,))


def test_what_does_not_fit_its_taker_is_answered_so() -> None:
    drop, told = offer_untaken(request(amount="much"), TAKEN, None, TAKERS, NOW)
    assert drop == DROP and isinstance(told, Wake)
    assert isinstance(told.event.data["error"], dict)
    assert (told.event.source, told.event.data["error"]["code"]) == (SYSTEM, "invalid_request")
    assert "$.amount" in str(told.event.data["error"]["message"])


def test_what_its_taker_has_approved_is_held_then_under_the_same_reply_key() -> None:
    gated = PAY.model_copy(update={"approval": Approval(approvers=("cfo",), timeout=HOUR)})
    drop, *held = offer_untaken(request(), [replace(TAKEN[0], definition=gated)], None, TAKERS, NOW)
    assert drop == DROP
    (gate,) = [effect.expectation for effect in of_kind(Open, held)]
    assert gate.ask is not None and gate.ask.proposal is not None
    let_go = gate.ask.proposal.request
    assert let_go == request(id=id_when_let_go("q-1")), "its own id is in the log"
    assert [effect.event.type for effect in of_kind(Wake, held)] == ["notification.human_input"]
    assert [timer.due for timer in of_kind(Schedule, held)] == [NOW + HOUR]
    assert of_kind(Put, held) == []


@pytest.mark.parametrize(
    ("expected", "task_id"),
    [(None, None), (expectation(id="q-1", deadline=None), None), (expectation(id="q-1", task_id="t-1"), "t-1")],
)
def test_people_are_shown_who_waits_for_a_taker_and_until_when(
    expected: Expectation | None, task_id: str | None
) -> None:
    shown = describe_waiting(request(target="payer", plan_id="p-1"), expected, NOW + HOUR, NOW)
    assert shown == Untaken("q-1", "pay", "parts", "payer", "p-1", task_id, NOW, NOW + HOUR)


@pytest.mark.parametrize("expected", [expectation(id="q-1", status="closed"), expectation(id="q-1", deadline=NOW)])
def test_what_nobody_waits_for_any_more_is_not_shown(expected: Expectation) -> None:
    assert describe_waiting(request(), expected, NOW + HOUR, NOW) is None
