"""The offer of a decision: requests and goals of live agents, facts they make, waits for people."""

from typing import Any

import pytest

from soorma_ai.kernel.domain.approvals import Approval
from soorma_ai.kernel.domain.events import CLIENT, EventTopic
from soorma_ai.kernel.domain.registry import AgentKind, EventDefinition, EventRole, RegisteredEvent
from soorma_ai.kernel.domain.schemas import ANY_OBJECT, violations
from soorma_ai.kernel.rules.choices.offer import Offer, declare_wait, make_offer, merge_definitions
from soorma_ai.testing.scripted import complete, publish
from unit.shown import whole_form

PAID = EventDefinition(event_name="paid", topic=EventTopic.BUSINESS_FACTS)
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def registration_of(agent: str, role: EventRole, name: str, **known: Any) -> RegisteredEvent:
    return RegisteredEvent(agent, AgentKind.TOOL, role, EventDefinition(event_name=name, **known))


TAKES, GOAL, MAKES = EventRole.TAKES, EventRole.TAKES_AS_GOAL, EventRole.MAKES


def offer(*live: RegisteredEvent) -> Offer:
    return make_offer("orders", live, [PAID], None)


@pytest.mark.parametrize(
    ("role", "agent", "topic", "events", "goals", "waits"),
    [
        (TAKES, "stock", EventTopic.ACTION_REQUESTS, ["x"], [], ["paid"]),
        (TAKES, "orders", EventTopic.ACTION_REQUESTS, [], [], ["paid"]),
        (TAKES, "stock", EventTopic.BUSINESS_FACTS, [], [], ["paid"]),
        (GOAL, "buyer", EventTopic.ACTION_REQUESTS, [], ["buyer/x"], ["paid"]),
        (GOAL, "orders", EventTopic.ACTION_REQUESTS, [], [], ["paid"]),
        (MAKES, "stock", EventTopic.BUSINESS_FACTS, [], [], ["paid", "x"]),
        (MAKES, "stock", EventTopic.ACTION_RESULTS, [], [], ["paid"]),
        (EventRole.AWAITS, "stock", EventTopic.BUSINESS_FACTS, [], [], ["paid"]),
    ],
)
def test_an_offer_has_other_agents_requests_goals_and_facts(
    role: EventRole, agent: str, topic: EventTopic, events: list[str], goals: list[str], waits: list[str]
) -> None:
    found = offer(registration_of(agent, role, "x", topic=topic))
    assert [event.event_name for event in found.events] == events
    assert [f"{one.planner}/{one.goal.event_name}" for one in found.delegates] == goals
    assert [one.definition.event_name for one in found.waits] == waits


def test_a_fact_of_agents_and_clients_has_all_of_them_as_producers() -> None:
    fact = EventTopic.BUSINESS_FACTS
    found = offer(
        registration_of("bank", MAKES, "paid", topic=fact), registration_of("till", MAKES, "paid", topic=fact)
    )
    awaited = found.wait("paid")
    assert awaited is not None and awaited.producers == (CLIENT, "bank", "till")


def test_an_event_of_several_takers_fits_each_schema_and_needs_every_approval() -> None:
    plain = EventDefinition(event_name="x", description="Does it.")
    strict = EventDefinition(event_name="x", payload_schema=NUMBER, approval=Approval("payload.n > 5"))
    short = EventDefinition(
        event_name="x", payload_schema={"properties": {"n": {"maximum": 9}}}, approval=Approval(approvers=("boss",))
    )
    assert merge_definitions([plain]) is plain
    assert merge_definitions([plain, plain]).payload_schema == ANY_OBJECT
    one = merge_definitions([plain, strict])
    assert (one.description, one.payload_schema, one.approval) == ("Does it.", NUMBER, strict.approval)
    both = merge_definitions([strict, short, plain])
    assert [bool(violations(both.payload_schema, {"n": n})) for n in (3, 10, "x")] == [False, True, True]
    assert both.approval is not None and both.approval.approvers == ("boss",)


def test_an_empty_offer_parks_its_plan_and_allows_only_an_end() -> None:
    empty = Offer()
    assert empty.is_empty and not offer().is_empty
    assert not violations(whole_form(empty), complete()) and violations(whole_form(empty), publish("x"))
    assert (empty.takes(""), offer().takes("")) == (False, True)
    assert [offer(registration_of("stock", TAKES, "x")).takes(name) for name in ("x", "y")] == [True, False]
    assert offer(registration_of("buyer", GOAL, "buy")).takes("buy")


def test_an_offer_is_built_once_for_equal_registrations() -> None:
    one, other, taken = (
        registration_of("stock", TAKES, "x"),
        registration_of("shop", TAKES, "x"),
        registration_of("bank", TAKES, "y"),
    )
    found = offer(one, other, taken)
    assert offer(one, other, taken) is found
    more = offer(one, other, taken, registration_of("bank", TAKES, "z"))
    assert [more.event(name) is found.event(name) for name in ("x", "y")] == [True, True]


def test_a_declared_wait_accepts_clients_and_registered_makers_of_its_event() -> None:
    known = (registration_of("bank", MAKES, "paid", topic="business-facts"), registration_of("shop", TAKES, "paid"))
    (wait,) = declare_wait(Offer(), "paid", known).waits
    assert (wait.producers, wait.definition) == ((CLIENT, "bank"), known[0].definition)
    (unknown,) = declare_wait(Offer(), "never.heard", ()).waits
    assert (unknown.producers, unknown.definition.topic) == ((CLIENT,), EventTopic.BUSINESS_FACTS)
