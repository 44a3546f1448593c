"""Changed contracts: the changes between two registrations, the open work that they break, and the refusal."""

from typing import Any

import pytest
from contract.store_kit import agent
from msgspec.structs import replace

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.contracts import BrokenWork
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.people import Proposal
from soorma_ai.kernel.domain.registry import EventDefinition, EventRole, RegisteredEvent, Registration
from soorma_ai.kernel.domain.values import digest
from soorma_ai.kernel.rules.arrival.contracts import (
    MOST_NAMED,
    OpenWork,
    audit_entry,
    check_change,
    compare,
    find_broken,
    find_changes,
)
from soorma_ai.kernel.rules.arrival.hand_over import let_go
from soorma_ai.kernel.rules.choices.offer import held_definition
from unit.kit import NOW, event, expectation, gate

TAKES, MAKES, AWAITS = EventRole.TAKES, EventRole.MAKES, EventRole.AWAITS
OPEN: dict[str, Any] = {"properties": {"amount": {"type": "number"}}}
STRICT: dict[str, Any] = {**OPEN, "required": ["amount"]}
PROMISE: dict[str, Any] = {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}


def pay(payload: dict[str, Any] = OPEN, response: dict[str, Any] | None = None, **options: Any) -> EventDefinition:
    return EventDefinition(event_name="pay", payload_schema=payload, response_schema=response, **options)


def cashier(definition: EventDefinition, role: EventRole = TAKES) -> Registration:
    return agent("cashier", events=((role, definition),))


def held(data: dict[str, Any], plan_id: str | None = "p-1", target: str | None = None) -> Any:
    asked = gate()
    proposal = Proposal("pay", data, digest(data), OPEN, target=target)
    assert asked.ask is not None
    return replace(asked, event_type="pay", plan_id=plan_id, ask=replace(asked.ask, proposal=proposal))


@pytest.mark.parametrize(
    ("before", "now", "kinds"),
    [
        (pay(), pay(), []),
        (pay(), pay(description="words"), ["reworded"]),
        (pay(), pay(STRICT), ["narrower"]),
        (pay(STRICT), pay(), ["changed"]),
        (pay(response=PROMISE), pay(), ["narrower"]),
        (pay(), pay(response=PROMISE), ["changed"]),
        (pay(response=PROMISE), pay(response={"type": "object"}), ["narrower"]),
    ],
)
def test_a_change_has_one_kind(before: EventDefinition, now: EventDefinition, kinds: list[str]) -> None:
    assert [one.kind for one in find_changes(cashier(before), cashier(now))] == kinds


def test_a_new_event_is_no_change_and_an_awaited_one_is_never_narrower() -> None:
    assert find_changes(agent("cashier"), cashier(pay())) == []
    assert find_changes(cashier(pay(), AWAITS), cashier(pay(STRICT), AWAITS))[0].kind == "changed"


def test_data_of_a_made_event_is_a_promise() -> None:
    assert not compare(MAKES, pay(), pay(STRICT)).is_narrower
    assert compare(MAKES, pay(STRICT), pay()).is_narrower


def test_narrower_data_breaks_held_and_waiting_requests_that_do_not_fit_and_states_with_the_event() -> None:
    change = compare(TAKES, pay(), pay(STRICT))
    good, bad = held({"amount": 1}), held({})
    waiting = [event("pay", id="q-1", amount=1), event("pay", id="q-2")]
    found = find_broken(change, OpenWork([good, bad], waiting, [expectation("reply")], [], [("p-9", "paying")]))
    assert [(one.kind, one.subject, one.plan_id) for one in found] == [
        ("approval", bad.id, "p-1"),
        ("request", "q-2", waiting[1].plan_id),
        ("state", "paying", "p-9"),
    ]
    assert '"amount" is a required property' in found[0].reason


def test_a_withdrawn_promise_breaks_open_replies_and_a_made_event_open_waits() -> None:
    work = OpenWork(replies=[expectation("reply", id="r-1")], waits=[expectation("wait", id="w-1")])
    found = find_broken(compare(TAKES, pay(response=PROMISE), pay()), work)
    assert [(one.kind, one.subject) for one in found] == [("reply", "r-1")]
    assert [one.kind for one in find_broken(compare(MAKES, pay(STRICT), pay()), work)] == ["wait"]


def test_a_narrower_version_is_refused_with_reasons_list_and_cure_unless_it_is_declared() -> None:
    broken = [BrokenWork("approval", f"w-{at}", "pay", f"p-{at}", "no amount") for at in range(MOST_NAMED + 2)]
    change = compare(TAKES, pay(version="1"), pay(STRICT, version="2"))
    with pytest.raises(ConfigError) as refused:
        check_change("cashier", change, broken)
    words = str(refused.value)
    assert "$.amount: is required now" in words
    assert "plan p-0, approval w-0 (no amount)" in words
    assert "and 2 more" in words
    assert words.endswith("replaces='1'")
    check_change("cashier", change, [])
    check_change("cashier", compare(TAKES, pay(version="1"), pay(STRICT, version="2", replaces="1")), broken)


def test_the_audit_entry_of_a_change_names_the_agent_the_event_and_both_versions() -> None:
    entry = audit_entry(cashier(pay()), compare(TAKES, pay(version="1"), pay(version="2")), NOW)
    assert (entry.user_id, entry.what, entry.outcome) == ("agent cashier", "pay 1 to 2", "changed")


def registered(name: str, definition: EventDefinition) -> RegisteredEvent:
    return RegisteredEvent(name, cashier(definition).kind, TAKES, definition)


def test_a_held_request_is_judged_by_the_present_definition_of_its_target() -> None:
    known = [registered("cashier", pay(STRICT)), registered("bank", pay())]
    assert held_definition(known, held({}, target="bank").ask.proposal) == pay()
    both = held_definition(known, held({}).ask.proposal)
    assert both is not None
    assert both.payload_schema == {"allOf": [STRICT, OPEN]}
    assert held_definition([], held({}).ask.proposal) is None


@pytest.mark.parametrize(("data", "goes"), [({"amount": 1}, True), ({}, False)])
def test_silence_lets_go_of_fitting_data_and_refuses_other_data(data: dict[str, Any], goes: bool) -> None:
    request = event("pay", id="q-1", topic="action-requests", correlation_id="q-1", **data)
    found = let_go(held(data), request, [registered("cashier", pay(STRICT))], NOW)
    assert isinstance(found, EventEnvelope)
    assert (found is request) is goes
    if not goes:
        error = found.data["error"]
        assert isinstance(error, dict) and error["code"] == "invalid_request"
