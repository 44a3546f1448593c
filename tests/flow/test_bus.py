"""Handlers of events in every written form, and replies to their askers."""

import asyncio
from typing import Any

import pytest
from kit import PATIENCE, until

from soorma_ai import Agent, EventTopic, InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.errors import ConfigError

FACTS = EventTopic.BUSINESS_FACTS


def test_without_its_topic_no_handler_is_registered() -> None:
    watch: Any = Agent("watch")
    with pytest.raises(ConfigError, match="give its topic"):
        watch.on_event("order.placed")
    with pytest.raises(TypeError, match="event_type"):
        watch.on_event(topic="business-facts")
    with pytest.raises(ConfigError, match="no topic"):
        watch.on_event("order.placed", "order-facts")
    with pytest.raises(ConfigError, match="is a topic"):
        watch.on_event("business-facts", "business-facts")
    with pytest.raises(ConfigError, match=r"'order\.\*'"):
        watch.on_event("*.placed", "business-facts")
    assert watch.events_consumed == []


@pytest.mark.parametrize("pattern", ["order.placed", "order.*", "*"])
async def test_two_handlers_of_one_event_are_refused(pattern: str) -> None:
    watch = Agent("watch")

    async def handle(event: Any, context: PlatformContext) -> None: ...

    watch.on_event(pattern, FACTS)(handle)
    assert watch.events_consumed == [pattern][: "*" not in pattern], "only the named event"
    with pytest.raises(ConfigError, match="two handlers"):
        watch.on_event(pattern, topic="business-facts")(handle)
    tool = Tool("hands")
    tool.on_invoke("work.requested")(handle)
    with pytest.raises(ConfigError, match="two handlers"):
        tool.on_invoke("work.requested")(handle)


@pytest.mark.parametrize(
    ("default", "asked", "expected"),
    [
        (None, {}, ("work.requested.completed", "action-results")),
        ("work.done", {}, ("work.done", "action-results")),
        ("work.done", {"response_event": "mine"}, ("mine", "action-results")),
        (None, {"response_event": "mine", "response_topic": "business-facts"}, ("mine", "business-facts")),
    ],
)
@pytest.mark.parametrize("fails", [False, True])
async def test_a_reply_has_the_callers_event_and_topic_or_else_the_tools(
    platform: Platform, default: str | None, asked: dict[str, Any], expected: tuple[str, str], fails: bool
) -> None:
    tool = Tool("hands", default_response_event=default)

    @tool.on_invoke("work.requested")
    async def handle(request: InvocationContext, context: PlatformContext) -> str:
        if fails:
            raise ValueError("broken")
        return "done"

    caller = Agent("caller")

    @caller.on_event("begin", FACTS)
    async def begin(event: Any, context: PlatformContext) -> None:
        await context.bus.publish("action-requests", "work.requested", {}, correlation_id="key", **asked)

    await platform.start(tool, caller)
    await platform.publish(FACTS, "begin", {})

    async def reply() -> Any:
        rows = await platform.services.store.events.events(limit=100)
        return next((row.event for row in rows if row.event.source == "hands"), None)

    event = await until(platform, reply)
    assert (event.type, event.topic) == expected
    assert (event.correlation_id, event.data["success"]) == ("key", not fails)


async def test_callers_at_the_same_time_each_get_their_own_replies(platform: Platform) -> None:
    tool = Tool("echo")

    @tool.on_invoke("echo.requested")
    async def echo(request: InvocationContext, context: PlatformContext) -> Any:
        return request.data["said"]

    await platform.start(tool)
    callers = [platform.as_user(tenant_id="default", user_id=f"user-{n % 2}") for n in range(20)]
    replies: list[Any] = await asyncio.gather(
        *(one.request("echo.requested", {"said": n}, timeout=PATIENCE) for n, one in enumerate(callers))
    )
    assert [reply["result"] for reply in replies] == list(range(20))


async def test_a_slow_listener_gets_every_event_of_a_burst_once(platform: Platform) -> None:
    watch, seen = Agent("watch", max_in_flight=2), list[int]()

    @watch.on_event("counted", FACTS)
    async def handle(event: Any, context: PlatformContext) -> None:
        await asyncio.sleep(0)
        seen.append(event.data["n"])

    await platform.start(watch)
    await asyncio.gather(*(platform.publish(FACTS, "counted", {"n": n}) for n in range(300)))

    async def all_handled() -> bool:
        return len(set(seen)) == 300 and await platform.services.store.queue.backlog(1) == 0

    await until(platform, all_handled)
    assert sorted(seen) == list(range(300))
