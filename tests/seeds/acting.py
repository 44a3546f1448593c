"""An agent that runs a sample's code inside a handler."""

from collections.abc import Awaitable, Callable
from typing import Any

from kit import until

from soorma_ai import Agent, Platform, PlatformContext

Act = Callable[[PlatformContext], Awaitable[Any]]


async def act(platform: Platform, does: Act, *, plan_id: str | None = None) -> Any:
    """The result of `does` inside a handler, after the commit of its effects."""
    caller = Agent("caller")
    given: list[Any] = []

    @caller.on_event("caller.begins", topic="system-events")
    async def handle(event: Any, context: PlatformContext) -> None:
        given[:] = [await does(context)]
        await context.bus.publish("system-events", "caller.acted", {})

    await platform.start(caller)
    await platform.publish("system-events", "caller.begins", {}, plan_id=plan_id)

    async def is_done() -> bool:
        rows = await platform.services.store.events.events(limit=1000)
        return any(row.event.type == "caller.acted" for row in rows)

    await until(platform, is_done)
    return given[0]


async def sent_events(platform: Platform, *types: str) -> list[Any]:
    """The events of these types, after at least one of each."""

    async def all_there() -> list[Any]:
        rows = await platform.services.store.events.events(limit=1000)
        found = [row.event for row in rows if row.event.type in types]
        return found if {event.type for event in found} == set(types) else []

    return await until(platform, all_there)
