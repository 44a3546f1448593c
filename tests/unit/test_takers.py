"""Takers of an event."""

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
from unit.kit import puts_of

FACTS = EventTopic.BUSINESS_FACTS
ASKED = EventDefinition(event_name="work.asked")


def takers(*registered: Registration, **asked: str | bool | None) -> list[str]:
    came = event("e-1").model_copy(update=asked)
    both = puts_of(Index(registered), came)
    return [one.agent for part in both for one in part]


def worker_with(name: str, *capabilities: str) -> Registration:
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
def test_an_event_goes_to_every_agent_with_a_handler_for_it_or_its_family(event_type: str, expected: list[str]) -> None:
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
        ("unknown", ["ear"]),
    ],
)
def test_a_target_is_an_agent_or_a_capability_and_pure_listeners_get_it_too(
    target: str | None, expected: list[str]
) -> None:
    registered = worker_with("one", "packing"), worker_with("two", "sending"), agent("ear", "work.asked")
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
def test_an_index_gives_the_same_takers_after_any_earlier_event(other: dict[str, Any]) -> None:
    registered = (
        worker_with("two", "sending"),
        replace(worker_with("two", "sending"), agent="two@default", tenant_id="default"),
        replace(worker_with("far"), store="elsewhere"),
        planner("one"),
        planner("one", tenant="default"),
        agent("facts", "work.asked", topic=FACTS),
    )
    for changed in ({"target": "two"}, {"type": "goal.given"}, {}):
        first = event("e-1").model_copy(update=changed)
        index, second = Index(registered), first.model_copy(update=other)
        assert puts_of(index, first) == puts_of(Index(registered), first)
        assert puts_of(index, second) == puts_of(Index(registered), second)
        assert puts_of(index, first) == puts_of(Index(registered), first)


def test_a_goal_with_a_target_goes_only_to_that_planner_and_to_listeners() -> None:
    registered = planner("one"), planner("two"), agent("ear", "goal.given")
    assert takers(*registered, type="goal.given", target="two") == ["two", "ear"]


@pytest.mark.parametrize(
    ("topic", "put"),
    [(EventTopic.ACTION_REQUESTS, Put("planner", plan_id_of("g-1", "planner"), LAST)), (FACTS, Put("planner", "g-1"))],
)
def test_a_goal_is_recognised_by_topic_and_type(topic: EventTopic, put: Put) -> None:
    index = Index([agent("planner", "goal.given", topic=topic, events=planner().events)])
    assert [*itertools.chain(*puts_of(index, event("g-1", "goal.given", topic)))] == [put]


@pytest.mark.parametrize(
    ("role", "awaited"),
    [(EventRole.MAKES, True), (EventRole.AWAITS, True), (EventRole.TAKES, False), (EventRole.TAKES_AS_GOAL, False)],
)
def test_an_event_with_a_maker_or_a_declared_wait_is_awaited(role: EventRole, awaited: bool) -> None:
    assert Index([agent("stock", events=((role, PAID),))]).is_awaited("any", "order.paid") is awaited


def test_definitions_come_from_the_tenant_and_from_shared_agents() -> None:
    index = Index([replace(awaiting_payment("theirs"), tenant_id="two"), awaiting_payment("shared")])
    assert len(index.definitions("one", "order.paid")) == 1
    assert len(index.definitions("two", "order.paid")) == 2
    assert index.definitions("two", "order.sent") == [] and not index.is_awaited("two", "order.sent")


# Agents of other stores


FAR, FAR_TOO = replace(worker_with("far"), store="there"), replace(worker_with("far too"), store="there")


def test_an_event_for_several_agents_of_another_store_enters_its_mailbox_once() -> None:
    assert sorted(takers(worker_with("here"), FAR, FAR_TOO)) == ["here", mailbox_of("there")]
    assert takers(FAR, target="far too") == []


def test_a_request_of_another_store_goes_no_further() -> None:
    registered, asked = (worker_with("here"), FAR), event("e-1").model_copy(update={"stays": True})
    assert takers(*registered, stays=True) == ["here"]
    assert (Index(registered).is_taken(asked), Index([FAR]).is_taken(asked)) == (True, False)


@pytest.mark.parametrize(
    ("sender", "may", "inbox"),
    [
        ("here", True, "here"),
        ("far", True, mailbox_of("there")),
        (mailbox_of("there"), True, mailbox_of("there")),
        ("unknown", False, "unknown"),
    ],
)
def test_a_reply_counts_from_the_inbox_or_mailbox_of_its_request(sender: str, may: bool, inbox: str) -> None:
    index = Index([worker_with("here"), FAR])
    assert (index.may_answer(sender, "work.asked"), index.inbox_of(sender)) == (may, inbox)
