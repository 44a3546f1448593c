"""Untaken requests: kept, reported, and offered to a later taker as if published then."""

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


def kept_effects(
    asked: EventEnvelope, expected: Expectation | None = None, index: Index | None = None
) -> tuple[Effect, ...]:
    effects = arrive(hear(asked, index or Index([LISTENER])), NamedRows(expected), asked, NOW)
    return tuple(effect for effect in effects if not isinstance(effect, Put))


@pytest.mark.parametrize(
    ("index", "target", "is_kept"),
    [
        ([], None, True),
        ([LISTENER], None, True),
        ([TAKER], None, False),
        ([TAKER], "payer", False),
        ([TAKER], "another", True),
        ([replace(TAKER, tenant_id="other")], None, True),
        ([replace(TAKER, tenant_id="acme")], None, False),
    ],
)
def test_a_request_without_a_taker_of_its_tenant_and_target_is_kept(
    index: list[object], target: str | None, is_kept: bool
) -> None:
    effects = kept_effects(request(target=target), index=Index(index))  # type: ignore[arg-type]
    assert (KeepUntaken("acme", "pay", NOW + WEEK) in effects) is is_kept
    strays = arrival_of(effects, frozenset()).strays
    assert strays == ((Stray("q-1", "pay", "untaken", None),) if is_kept else ())


@pytest.mark.parametrize(("deadline", "until"), [(None, NOW + WEEK), (NOW + HOUR, NOW + HOUR)])
def test_an_expected_reply_has_its_deadline_and_any_other_requester_gets_a_failure(
    deadline: datetime | None, until: datetime
) -> None:
    expected = expectation(id="q-1", deadline=NOW + 2 * HOUR)
    assert kept_effects(request(), expected)[:1] == (KeepUntaken("acme", "pay", NOW + 2 * HOUR),)
    assert of_kind(Schedule, kept_effects(request(), expected)) == []
    (timer,) = of_kind(Schedule, kept_effects(request(deadline=deadline, response_event="paid")))
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
def test_an_untaken_request_is_offered_to_its_takers_while_its_reply_is_expected(
    expected: Expectation | None, now: datetime, is_handed: bool
) -> None:
    assert offer_untaken(request(), TAKEN, expected, TAKERS, now) == ((DROP, *TAKERS) if is_handed else (DROP,))


def test_a_request_unfit_for_its_taker_gets_a_failure() -> None:
    drop, told = offer_untaken(request(amount="much"), TAKEN, None, TAKERS, NOW)
    assert drop == DROP and isinstance(told, Wake)
    assert isinstance(told.event.data["error"], dict)
    assert (told.event.source, told.event.data["error"]["code"]) == (SYSTEM, "invalid_request")
    assert "$.amount" in str(told.event.data["error"]["message"])


def test_a_request_with_approval_at_its_taker_is_held_under_the_same_reply_key() -> None:
    gated = PAY.model_copy(update={"approval": Approval(approvers=("cfo",), timeout=HOUR)})
    drop, *held = offer_untaken(request(), [replace(TAKEN[0], definition=gated)], None, TAKERS, NOW)
    assert drop == DROP
    (gate,) = [effect.expectation for effect in of_kind(Open, held)]
    assert gate.ask is not None and gate.ask.proposal is not None
    let_go = gate.ask.proposal.request
    assert let_go == request(id=id_when_let_go("q-1")), "the log has the original id"
    assert [effect.event.type for effect in of_kind(Wake, held)] == ["notification.human_input"]
    assert [timer.due for timer in of_kind(Schedule, held)] == [NOW + HOUR]
    assert of_kind(Put, held) == []


@pytest.mark.parametrize(
    ("expected", "task_id"),
    [(None, None), (expectation(id="q-1", deadline=None), None), (expectation(id="q-1", task_id="t-1"), "t-1")],
)
def test_people_see_the_requester_and_the_deadline_of_an_untaken_request(
    expected: Expectation | None, task_id: str | None
) -> None:
    shown = describe_waiting(request(target="payer", plan_id="p-1"), expected, NOW + HOUR, NOW)
    assert shown == Untaken("q-1", "pay", "parts", "payer", "p-1", task_id, NOW, NOW + HOUR)


@pytest.mark.parametrize("expected", [expectation(id="q-1", status="closed"), expectation(id="q-1", deadline=NOW)])
def test_a_request_without_an_open_expectation_is_not_shown(expected: Expectation) -> None:
    assert describe_waiting(request(), expected, NOW + HOUR, NOW) is None
