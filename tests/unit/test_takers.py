"""Who takes an event."""

import itertools
from typing import Any

import pytest
from contract.store_kit import PAID, agent, awaiting_payment, event, planner
from msgspec.structs import replace

from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.plans import plan_id_of
from soorma_ai.kernel.domain.registry import AgentCapability, EventDefinition, EventRole, Registration
from soorma_ai.kernel.domain.stores import mailbox_of
from soorma_ai.kernel.rules.arrival.effects import LAST, Put
from soorma_ai.kernel.rules.arrival.takers import Index

FACTS = EventTopic.BUSINESS_FACTS
ASKED = EventDefinition(event_name="work.asked")


def takers(*registered: Registration, **asked: str | bool | None) -> list[str]:
    came = event("e-1").model_copy(update=asked)
    both = Index(registered).takers(came)
    return [one.agent for part in both for one in part]


def doing(name: str, *capabilities: str) -> Registration:
    able = tuple(AgentCapability(task_name=one, consumed_event=ASKED) for one in capabilities)
    return replace(agent(name, "work.asked", events=((EventRole.TAKES, ASKED),)), capabilities=(*able, "by name only"))


@pytest.mark.parametrize(
    ("event_type", "expected"),
    [
        ("order.paid", ["all", "exact", "family"]),
        ("order.paid.late", ["all", "deep", "family"]),
        ("order", ["all"]),
        ("orders.paid", ["all"]),
    ],
)
def test_an_event_goes_to_every_agent_that_listens_to_it_or_its_family(event_type: str, expected: list[str]) -> None:
    patterns = {"all": "*", "exact": "order.paid", "family": "order.*", "deep": "order.paid.*"}
    assert sorted(takers(*(agent(name, pattern) for name, pattern in patterns.items()), type=event_type)) == expected


def test_an_agent_with_several_patterns_gets_one_copy() -> None:
    assert takers(agent("one", "work.*", "*", "work.asked", "work.asked")) == ["one"]


def test_another_topic_is_another_event() -> None:
    assert takers(agent("facts", "work.asked", topic=FACTS), agent("requests", "work.asked")) == ["requests"]


@pytest.mark.parametrize(("tenant", "expected"), [("one", ["ours@one", "shared"]), ("two", ["shared"])])
def test_an_agent_of_a_tenant_gets_that_tenants_events_and_a_shared_one_all(tenant: str, expected: list[str]) -> None:
    registered = agent("ours", "work.asked", tenant="one"), agent("shared", "work.asked")
    assert takers(*registered, tenant_id=tenant) == expected


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (None, ["ear", "one", "two"]),
        ("two", ["ear", "two"]),
        ("packing", ["ear", "one"]),
        ("by name only", ["ear", "one", "two"]),
        ("nobody", ["ear"]),
    ],
)
def test_a_target_is_an_agent_or_a_capability_and_who_only_listens_hears_it_all_the_same(
    target: str | None, expected: list[str]
) -> None:
    registered = doing("one", "packing"), doing("two", "sending"), agent("ear", "work.asked")
    assert sorted(takers(*registered, target=target)) == expected


@pytest.mark.parametrize(
    "other",
    [
        {"target": "two"},
        {"tenant_id": "one"},
        {"source": "two@default"},
        {"source": "shared"},
        {"stays": True},
        {"type": "work.done"},
        {"topic": FACTS},
        {"id": "e-2"},
    ],
    ids=str,
)
def test_an_index_finds_the_takers_of_each_event_whatever_came_before(other: dict[str, Any]) -> None:
    registered = (
        doing("two", "sending"),
        replace(doing("two", "sending"), agent="two@default", tenant_id="default"),
        replace(doing("far"), store="elsewhere"),
        planner("one"),
        planner("one", tenant="default"),
        agent("facts", "work.asked", topic=FACTS),
    )
    for changed in ({"target": "two"}, {"type": "goal.given"}, {}):
        first = event("e-1").model_copy(update=changed)
        index, second = Index(registered), first.model_copy(update=other)
        assert index.takers(first) == Index(registered).takers(first)
        assert index.takers(second) == Index(registered).takers(second)
        assert index.takers(first) == Index(registered).takers(first)


def test_a_goal_with_a_target_is_for_that_planner_only() -> None:
    registered = planner("one"), planner("two"), agent("ear", "goal.given")
    assert takers(*registered, type="goal.given", target="two") == ["two", "ear"]


@pytest.mark.parametrize(
    ("topic", "put"),
    [(EventTopic.ACTION_REQUESTS, Put("planner", plan_id_of("g-1", "planner"), LAST)), (FACTS, Put("planner", "g-1"))],
)
def test_a_goal_is_one_by_topic_and_type(topic: EventTopic, put: Put) -> None:
    index = Index([agent("planner", "goal.given", topic=topic, events=planner().events)])
    assert [*itertools.chain(*index.takers(event("g-1", "goal.given", topic)))] == [put]


@pytest.mark.parametrize(
    ("role", "awaited"),
    [(EventRole.MAKES, True), (EventRole.AWAITS, True), (EventRole.TAKES, False), (EventRole.TAKES_AS_GOAL, False)],
)
def test_an_event_is_awaited_that_somebody_makes_or_declares_to_await(role: EventRole, awaited: bool) -> None:
    assert Index([agent("somebody", events=((role, PAID),))]).is_awaited("any", "order.paid") is awaited


def test_definitions_are_those_of_the_tenant_and_of_shared_agents() -> None:
    index = Index([replace(awaiting_payment("theirs"), tenant_id="two"), awaiting_payment("shared")])
    assert len(index.definitions("one", "order.paid")) == 1
    assert len(index.definitions("two", "order.paid")) == 2
    assert index.definitions("two", "order.sent") == [] and not index.is_awaited("two", "order.sent")


# Agents of other stores


FAR, FAR_TOO = replace(doing("far"), store="there"), replace(doing("far too"), store="there")


def test_what_is_for_agents_of_another_store_goes_into_its_mailbox_once() -> None:
    assert sorted(takers(doing("here"), FAR, FAR_TOO)) == ["here", mailbox_of("there")]
    assert takers(FAR, target="far too") == []


def test_a_request_of_another_store_goes_no_further() -> None:
    registered, asked = (doing("here"), FAR), event("e-1").model_copy(update={"stays": True})
    assert takers(*registered, stays=True) == ["here"]
    assert (Index(registered).is_taken(asked), Index([FAR]).is_taken(asked)) == (True, False)


@pytest.mark.parametrize(
    ("sender", "may", "inbox"),
    [
        ("here", True, "here"),
        ("far", True, mailbox_of("there")),
        (mailbox_of("there"), True, mailbox_of("there")),
        ("nobody", False, "nobody"),
    ],
)
def test_a_reply_counts_from_whose_inbox_or_whose_stores_mailbox_the_request_is_in(
    sender: str, may: bool, inbox: str
) -> None:
    index = Index([doing("here"), FAR])
    assert (index.may_answer(sender, "work.asked"), index.inbox_of(sender)) == (may, inbox)
