"""Agents and events as others find them."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from kit import ORDER_ID, PATIENCE, planner, stock, until

from soorma_ai import (
    Agent,
    AgentCapability,
    EventDefinition,
    EventTopic,
    InvocationContext,
    Platform,
    PlatformContext,
    Tool,
)
from soorma_ai.errors import Forbidden, LocalProtocolError, NotFound
from soorma_ai.kernel.domain.registry import AGENT_GONE_AFTER, AgentKind, Registration
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete

FETCH = EventDefinition(event_name="data.fetch.requested", description="Fetch.", payload_schema=ORDER_ID)
FETCHED = EventDefinition(event_name="data.fetched", topic="action-results", description="Fetched.")


def fetcher(name: str = "fetcher", **options: Any) -> Tool:
    capability = AgentCapability(task_name="fetch", consumed_event=FETCH, produced_events=(FETCHED,))
    tool = Tool(name, "Fetches.", version="2.0.0", capabilities=[capability, "reading"], **options)

    @tool.on_invoke("data.fetch.requested")
    async def fetch(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        found = await context.registry.find("fetch")
        return {"found": found.name if found else None}

    return tool


@pytest.fixture
async def silent(platform: Platform) -> AsyncIterator[Platform]:
    """A platform with an agent that no process keeps alive."""
    await platform.services.store.registry.register([fetcher("silent").registration()], platform.services.clock.now())
    yield platform


async def names(platform: Any, *requirements: str) -> list[str]:
    return [one.name for one in await platform.registry.discover(requirements)]


async def test_an_agent_is_found_by_its_capabilities(platform: Platform) -> None:
    await platform.start(
        fetcher(),
        planner([complete({})], capabilities=["ordering"]),
        Tool("reader", capabilities=["reading"], events_produced=["seen"]),
    )
    found = await platform.registry.find("fetch")
    assert found is not None
    assert (found.agent_id, found.name, found.description, found.version) == ("fetcher", "fetcher", "Fetches.", "2.0.0")
    assert found.get_consumed_event_schema("fetch") == FETCH
    assert found.get_produced_event_schema("fetch") == FETCHED
    assert found.get_consumed_event_schema("reading") is None is found.get_produced_event_schema("nothing")
    assert await names(platform, "reading") == ["fetcher", "reader"]
    assert await names(platform, "reading", "ordering", "fetch") == ["fetcher", "orders", "reader"]
    readers = await platform.registry.discover(["reading", "flying"])
    assert ([(one.name, one.meets) for one in readers], readers.unmet) == (
        [("fetcher", ("reading",)), ("reader", ("reading",))],
        ("flying",),
    )
    assert await names(platform) == ["fetcher", "orders", "reader"]
    assert await platform.registry.find("flying") is None
    pursuing = await platform.registry.find("ordering")
    assert pursuing is not None and pursuing.kind is AgentKind.PLANNER
    named = await platform.registry.discover(["fetch", "flying"], include_events=False)
    assert [(one.capabilities, one.events, one.meets) for one in named] == [(("fetch", "reading"), (), ("fetch",))]
    assert named.unmet == ("flying",)
    with pytest.raises(LocalProtocolError, match="letters"):
        await platform.registry.discover("fetch")


async def test_a_query_by_name_and_by_everything_else_works(platform: Platform) -> None:
    watch = Agent("watch", events_produced=["seen"])
    await platform.start(fetcher(), stock(), watch)

    async def found(**query: Any) -> list[str]:
        return [one.name for one in await platform.registry.query(**query)]

    assert await found(name="stock") == ["stock"]
    assert await found(name="nobody") == []
    assert await found(capability="fetch") == ["fetcher"]
    assert await found(event="data.fetch.requested") == ["fetcher"]
    assert await found(topic="business-facts") == ["watch"]
    assert await found(event="seen", topic="action-requests") == []
    assert await found(name="stock", capability="fetch") == []
    owned = await platform.registry.events(owner="stock")
    assert [one.definition.event_name for one in owned] == ["inventory.reserve.requested"]
    assert [one.agent for one in await platform.registry.events(topic="business-facts")] == ["watch"]


async def test_one_name_on_two_topics_stays_two_events(platform: Platform) -> None:
    asked = EventDefinition(event_name="data.feedback", description="Ask.", payload_schema=ORDER_ID)
    said = EventDefinition(event_name="data.feedback", topic="action-results", description="Said.")
    tool = Tool("desk", capabilities=[AgentCapability(task_name="desk", consumed_event=asked)], events_produced=[said])

    @tool.on_invoke("data.feedback")
    async def handle(request: InvocationContext, context: PlatformContext) -> None: ...

    await platform.start(tool)
    found = await platform.registry.events(name="data.feedback")
    assert {one.definition.topic: one.definition.description for one in found} == {
        EventTopic.ACTION_REQUESTS: "Ask.",
        EventTopic.ACTION_RESULTS: "Said.",
    }
    assert await platform.registry.get_event_schema("data.feedback") == ORDER_ID
    by_topic = await platform.registry.get_event("data.feedback", topic="action-results")
    assert by_topic is not None and by_topic.description == "Said."


async def test_a_schema_is_found_by_its_version_when_there_is_a_newer_one(platform: Platform) -> None:
    for version in ("1", "2"):
        payload = {"type": "object", "title": f"version {version}"}
        made = EventDefinition(event_name="seen", topic="business-facts", version=version, payload_schema=payload)
        agent = Agent("watch", events_produced=[made])
        await platform.services.store.registry.register([agent.registration()], platform.services.clock.now())
    schema = platform.registry.get_event_schema
    assert await schema("seen") == {"type": "object", "title": "version 2"}
    assert await schema("seen", "1") == {"type": "object", "title": "version 1"}
    assert await schema("seen", "3") is None is await schema("never")


async def test_an_agent_silent_for_five_minutes_is_gone_until_its_next_heartbeat(
    silent: Platform, clock: VirtualClock
) -> None:
    await silent.start(stock())
    assert await names(silent) == ["silent", "stock"]
    await clock.advance(AGENT_GONE_AFTER)
    assert await names(silent) == ["stock"], "an agent of this process is alive after any jump of the clock"
    assert await silent.registry.find("fetch") is None
    assert await silent.registry.get_event("data.fetch.requested") is None
    assert await silent.registry.get_event("data.fetch.requested", FETCH.version) == FETCH
    gone = await silent.registry.query(name="silent", live=False)
    assert [(one.name, one.live) for one in gone] == [("silent", False)]
    await silent.services.store.registry.heartbeat(["silent"], clock.now())
    assert await names(silent) == ["silent", "stock"]


async def test_a_tenant_finds_its_own_and_the_shared(platform: Platform) -> None:
    await platform.start(fetcher("ours", tenant_id="one"), fetcher("theirs", tenant_id="two"), stock())
    one = platform.as_user(tenant_id="one", user_id="ann")
    assert await names(one) == ["ours", "stock"]
    assert [owned.agent for owned in await one.registry.events(name="data.fetch.requested")] == ["ours@one"]
    reply: Any = await one.request("data.fetch.requested", {"order_id": "A"}, timeout=PATIENCE)
    assert reply["result"] == {"found": "ours"}, "a handler sees the tenant of its event"


async def test_deregistering_a_gone_agent_removes_its_events(silent: Platform, clock: VirtualClock) -> None:
    with pytest.raises(LocalProtocolError, match="lives"):
        await silent.registry.deregister("silent")
    await clock.advance(AGENT_GONE_AFTER)
    stranger = silent.as_user(tenant_id="default", user_id="eve", roles=["admin"])
    with pytest.raises(Forbidden, match=r"eve has admin and may not registry\.deregister here: .* the role operator"):
        await stranger.registry.deregister("silent")
    steering = silent.as_user(tenant_id="default", user_id="olga", roles=["operator"])
    with pytest.raises(Forbidden, match=r"may not remove a shared agent here: .* the trusted root"):
        await steering.registry.deregister("silent")
    gone = await silent.registry.deregister("silent")
    assert {one.event_name for one in gone} == {"data.fetch.requested", "data.fetched"}
    assert await silent.registry.query(name="silent", live=False) == []
    with pytest.raises(NotFound):
        await silent.registry.deregister("silent")


async def test_another_tenants_agent_is_not_there_to_deregister(platform: Platform) -> None:
    store, theirs = platform.services.store, Registration("theirs", AgentKind.TOOL, tenant_id="two")
    await store.registry.register([theirs], platform.services.clock.now())
    await store.registry.leave([theirs.agent])
    with pytest.raises(NotFound):
        await platform.registry.deregister("theirs")
    with pytest.raises(Forbidden):
        await platform.as_user(tenant_id="two", user_id="bob").registry.deregister("theirs")
    operator = platform.as_user(tenant_id="two", user_id="bob", roles={"operator"})
    assert await operator.registry.deregister("theirs") == []


async def test_a_handler_registers_a_new_event_of_its_agent(platform: Platform) -> None:
    made = EventDefinition(event_name="report.ready", topic="business-facts", payload_schema=ORDER_ID)
    watch = Agent("watch")
    refused: list[str] = []

    @watch.on_event("started", "business-facts")
    async def started(event: Any, context: PlatformContext) -> None:
        await context.registry.register_event(made)
        with pytest.raises(LocalProtocolError, match="handler") as told:
            await context.registry.register_event(EventDefinition(event_name="x.requested"))
        refused.append(str(told.value))

    await platform.start(watch)
    await platform.publish("business-facts", "started", {})
    (found,) = await until(platform, lambda: platform.registry.events(name="report.ready"))
    assert (found.agent, found.role, found.definition) == ("watch", "makes", made)
    assert len(refused) == 1
