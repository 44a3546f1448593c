"""Owners of events, and the definitions that go with their owner."""

import pytest
from store_kit import NOW, agent, do, drain, event, expectation, fact, in_line, later, plan, save_running_plan, wait

from soorma_ai.errors import LocalProtocolError, NotFound
from soorma_ai.kernel.domain.effects import Declare, Expect, SavePlan, SaveTask
from soorma_ai.kernel.domain.events import EventTopic, Lineage
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.domain.registry import AGENT_GONE_AFTER, EventDefinition, EventRole
from soorma_ai.kernel.domain.tasks import TaskRecord
from soorma_ai.kernel.ports import Store

FACTS = EventTopic.BUSINESS_FACTS
LATER = later(AGENT_GONE_AFTER.total_seconds())


def made_event(
    name: str, version: str = "1", topic: EventTopic = FACTS, **more: object
) -> tuple[EventRole, EventDefinition]:
    given = {"event_name": name, "version": version, "topic": topic, **more}
    return EventRole.MAKES, EventDefinition.model_validate(given)


async def stored_versions(store: Store, name: str, tenant: str = "default") -> list[tuple[str, str]]:
    return [(one.topic, one.version) for one in await store.registry.definitions(tenant, name)]


async def test_every_version_on_every_topic_is_known_to_its_tenant(store: Store) -> None:
    result = made_event("a", topic=EventTopic.ACTION_RESULTS, payload_schema={"type": "object", "title": "r"})
    for events in ((made_event("a"), result), (made_event("a", "2"),)):
        await store.registry.register([agent("one", events=events)], NOW)
    await store.registry.register([agent("two", tenant="other", events=(made_event("a", "3"),))], NOW)
    shared = [("action-results", "1"), ("business-facts", "1"), ("business-facts", "2")]
    assert await stored_versions(store, "a") == shared
    assert await stored_versions(store, "a", "other") == [*shared, ("business-facts", "3")]
    assert await stored_versions(store, "b") == []


async def test_an_agent_goes_with_the_definitions_of_its_sole_ownership(store: Store) -> None:
    await store.registry.register(
        [agent("one", "a", events=(made_event("a"), made_event("b"))), agent("two", events=(made_event("b"),))], NOW
    )
    await store.registry.leave(["one", "two"])
    await store.queue.arrive([event("e-0", "b")], NOW)
    gone = await store.registry.deregister("one", NOW)
    assert [one.event_name for one in gone] == ["a"]
    assert await stored_versions(store, "a") == []
    assert len(await stored_versions(store, "b")) == 1
    assert [row.agent for row in await store.registry.agents(NOW)] == ["two"]
    assert (await store.queue.arrive([event("e-1", "a")], NOW)).agents == frozenset(), "nothing comes for it any more"
    assert [one.event_name for one in await store.registry.deregister("two", NOW)] == ["b"], (
        "it inherited what they shared"
    )
    assert await stored_versions(store, "b") == []


async def test_a_version_is_free_again_when_its_owner_went(store: Store) -> None:
    await store.registry.register([agent("one", events=(made_event("a"),))], NOW)
    await store.registry.deregister("one", LATER)
    other = made_event("a", payload_schema={"type": "object", "title": "new"})
    await store.registry.register([agent("two", events=(other,))], LATER)


async def test_a_live_or_busy_agent_is_not_deregistered_and_an_unknown_one_is_not_found(store: Store) -> None:
    await in_line(store, "e-1")
    with pytest.raises(LocalProtocolError, match=r"worker.*lives"):
        await store.registry.deregister("worker", NOW)
    with pytest.raises(NotFound, match="'nobody'"):
        await store.registry.deregister("nobody", NOW)
    with pytest.raises(LocalProtocolError, match="deliveries"):
        await store.registry.deregister("worker", LATER)
    await drain(store, "worker")
    assert await store.registry.deregister("worker", LATER) == []


async def test_an_agent_with_an_open_plan_or_task_is_not_deregistered(store: Store) -> None:
    await store.registry.register([agent("planner"), agent("worker")], NOW)
    await do(store, SavePlan(plan("p-1"), None))
    with pytest.raises(LocalProtocolError, match="plan p-1"):
        await store.registry.deregister("planner", LATER)
    await do(store, SavePlan(plan("p-1", status=PlanStatus.FAILED, version=1), 0))
    await store.registry.deregister("planner", LATER)
    task = TaskRecord("t", "worker", "work.asked", {}, Lineage(), "t", "done", EventTopic.ACTION_RESULTS, NOW, {})
    await do(store, SaveTask(task, None))
    with pytest.raises(LocalProtocolError, match="tasks"):
        await store.registry.deregister("worker", LATER)


async def test_a_wait_of_a_live_plan_keeps_the_maker_of_its_event(store: Store) -> None:
    await store.registry.register([agent("shop", events=(made_event("order.paid"),)), agent("other", tenant="x")], NOW)
    await save_running_plan(store, wait("w-1"))
    with pytest.raises(LocalProtocolError, match=r"plan-1.*'order\.paid'"):
        await store.registry.deregister("shop", LATER)
    await store.registry.deregister("other@x", LATER)
    await store.registry.register([agent("second", events=(made_event("order.paid"),))], LATER)
    assert await store.registry.deregister("shop", LATER) == [], "another agent makes it now"


async def test_an_event_declared_by_an_agent_is_its_own(store: Store) -> None:
    await store.registry.register([agent("shop")], NOW)
    await do(store, Declare("shop", made_event("a", "1")[1]), Declare("shop", made_event("b")[1]))
    await do(store, Declare("shop", made_event("a", "2")[1]))
    found = [
        (one.agent, one.definition.event_name, one.definition.version) for one in await store.registry.all_events("x")
    ]
    assert found == [("shop", "a", "2"), ("shop", "b", "1")]
    assert {version for _, version in await stored_versions(store, "a")} == {"1", "2"}
    assert len(await store.registry.deregister("shop", LATER)) == 3


async def test_a_declared_event_is_awaited_from_then_on(store: Store) -> None:
    await store.registry.register([agent("shop")], NOW)
    declared = EventDefinition(event_name="order.paid", topic=FACTS, correlate={"/order_id": "goal_data.order_id"})
    await store.queue.arrive([fact("f-0", {"order_id": "o-1"})], NOW)
    await do(store, Declare("shop", declared))
    strays = (await store.queue.arrive([fact("f-1", {"order_id": "o-1"})], NOW)).strays
    assert [stray.reason for stray in strays] == ["early"]


async def test_a_declaration_with_other_content_is_refused_and_nothing_of_it_happens(store: Store) -> None:
    await store.registry.register([agent("shop", events=(made_event("a"),))], NOW)
    other = made_event("a", payload_schema={"type": "object", "title": "other"})[1]
    with pytest.raises(LocalProtocolError, match="new version"):
        await do(store, Expect(expectation("q-1")), Declare("shop", other))
    assert await store.plans.expectation("q-1") is None
    with pytest.raises(LocalProtocolError, match="not registered"):
        await do(store, Declare("nobody", other))
