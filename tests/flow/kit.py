"""Kit of the flow tests: small agents, and waits without sleeps."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager
from datetime import timedelta
from inspect import isawaitable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from places import ON_POSTGRES
from worst import IS_WORST, WorstPlatform, alone

from soorma_ai import (
    Agent,
    Approval,
    ChoreographyPlanner,
    InvocationContext,
    PlanHandle,
    Platform,
    PlatformContext,
    Reject,
    Tool,
    Wait,
)
from soorma_ai.kernel.domain import schema_cost, schemas
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.verdicts import Verdicts
from soorma_ai.kernel.runtime.handling import check_ahead
from soorma_ai.kernel.runtime.handling.handler_task import LEASE
from soorma_ai.kernel.sql.parts import SqlStore
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import ScriptedReasoner

# Seconds to wait for an expected effect, on a busy machine too.
PATIENCE = 60.0
# Seconds in which a step of the virtual clock passes: a handling takes longer on a server, and must not outlast its
# lease.
STEP = 0.05 if ON_POSTGRES else 0.002

T = TypeVar("T")
MOST_TURNS = 100_000

if IS_WORST:
    alone()

ORDER_ID = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
AMOUNT = {
    "type": "object",
    "properties": {"amount": {"type": "number", "minimum": 0}},
    "required": ["amount"],
    "additionalProperties": False,
}


def planner(script: Any, **options: Any) -> ChoreographyPlanner:
    options.setdefault("goals", ["order.received"])
    name = options.pop("name", "orders")
    return ChoreographyPlanner(name, reasoner=ScriptedReasoner(script), **options)


def stock() -> Tool:
    tool = Tool("stock")

    @tool.on_invoke("inventory.reserve.requested", payload_schema=ORDER_ID)
    async def reserve(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        if request.data["order_id"] == "none-left":
            raise Reject("no stock", code="out_of_stock")
        return {"reserved": request.data["order_id"]}

    return tool


def payments(approval: Approval | str | None = None, charged: list[Any] | None = None) -> Tool:
    tool = Tool("payments")

    @tool.on_invoke("payment.charge.requested", payload_schema=AMOUNT, approval=approval)
    async def charge(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        if charged is not None:
            charged.append(request.data["amount"])
        return {"charged": request.data["amount"]}

    return tool


def open_platform(path: Path, clock: VirtualClock | None = None) -> Platform:
    kind = WorstPlatform if IS_WORST else Platform
    return kind(f"sqlite:///{path}", clock=clock)


@asynccontextmanager
async def running_platform(path: Path, clock: VirtualClock | None, *agents: Agent) -> AsyncGenerator[Platform]:
    async with open_platform(path, clock) as platform:
        await platform.start(*agents)
        yield platform


async def kill_platform(platform: Platform) -> None:
    """Stop a platform as a kill of its process does: deliveries in hand are neither finished nor released."""

    async def is_not_given_back(deliveries: object) -> None: ...

    platform.services.store.queue.release = is_not_given_back  # type: ignore[method-assign]
    ends = [task for task in asyncio.all_tasks() if task.get_name() == "suspects" or ":" in task.get_name()]
    for task in ends:
        task.cancel()
    await asyncio.gather(*ends, return_exceptions=True)
    await platform.__aexit__(None, None, None)


async def order(platform: Platform, *agents: Agent, **data: Any) -> PlanHandle:
    """Start the agents, and submit an order of this data."""
    await platform.start(*agents)
    return await platform.submit("order.received", data)


async def pursue(platform: Platform, goal: str, data: Any, *agents: Agent, **named: Any) -> PlanHandle:
    """Start the agents, and submit this goal."""
    await platform.start(*agents)
    return await platform.submit(goal, data, **named)


async def tamper(platform: Platform, *statements: str) -> None:
    """Change rows by SQL, past every operation; plans in hand are read again."""

    def change(db: Any) -> None:
        for statement in statements:
            db.execute(statement)
        db.note_unknown()

    await platform.services.store.database.write(change)  # type: ignore[attr-defined]


async def until(platform: Platform, condition: Callable[[], Any]) -> Any:
    """Return the first true value of `condition`, awaited if it can be; it is checked after every commit."""
    watcher = platform.services.signals.watch()
    try:
        async with asyncio.timeout(PATIENCE):
            while not (found := await _value_of(condition)):
                await watcher.wait()
                watcher.clear()
            return found
    finally:
        platform.services.signals.unwatch(watcher)


async def _value_of(condition: Callable[[], Any]) -> Any:
    found = condition()
    return await found if isawaitable(found) else found


async def is_idle(platform: Platform) -> bool:
    """Tell whether no event waits to be handled, to be sent, or to arrive from a broker."""
    store = platform.services.store
    assert isinstance(store, SqlStore)
    is_sent = await store.database.read(lambda db: db.execute("SELECT 1 FROM outbox LIMIT 1").fetchone() is None)
    return is_sent and await store.queue.backlog(1) == 0


async def happens(event: asyncio.Event) -> None:
    async with asyncio.timeout(PATIENCE):
        await event.wait()


async def events(platform: Platform) -> list[EventEnvelope]:
    return [row.event for row in await platform.services.store.events.events(limit=1000)]


async def as_time_passes(clock: VirtualClock, condition: Callable[[], Awaitable[Any]], step: float = 0.5) -> Any:
    """Return the first true value of `condition` while time passes by `step` seconds, so that back-offs end."""
    async with asyncio.timeout(PATIENCE):
        while not (found := await condition()):
            await asyncio.sleep(STEP)
            await clock.advance(step)
        return found


async def pass_time(platform: Platform, clock: VirtualClock, span: timedelta) -> None:
    """Let time pass no faster than this platform renews its leases, so that long handlers keep their deliveries."""
    until_when = clock.now() + span
    while clock.now() < until_when:
        await clock.advance(min(LEASE / 3, until_when - clock.now()))
        await asyncio.sleep(0)
        # Done after every earlier request of the platform to its store.
        await platform.services.store.queue.renew([], clock.now())


async def the_wait(platform: Platform) -> Wait:
    """Return the one open question, once there is one."""
    waits = await until(platform, platform.waits)
    assert len(waits) == 1
    return waits[0]


async def wait_for_end(platform: Platform, plan_id: str) -> Any:
    """Return the details of a plan once it has ended, in any way."""

    async def is_final() -> Any:
        plan = await platform.services.store.plans.plan(plan_id)
        return plan is not None and plan.status.is_final

    await until(platform, is_final)
    return await platform.plan(plan_id)


async def wait_for_step(platform: Platform, plan_id: str, kind: str) -> None:
    """Return when the history of a plan has a line of this kind."""

    async def has_one() -> bool:
        return any(step.kind == kind for step in await platform.services.store.plans.steps(plan_id))

    await until(platform, has_one)


async def sleeps(platform: Platform, plan_id: str) -> None:
    """Return when a plan waits, for a person or for an agent to ask."""

    async def is_paused() -> bool:
        plan = await platform.services.store.plans.plan(plan_id)
        return plan is not None and plan.status == "paused"

    await until(platform, is_paused)


async def published_events(platform: Platform, *, topic: str = "action-requests") -> list[EventEnvelope]:
    return [event for event in await events(platform) if event.topic == topic]


async def wait_for_requests(platform: Platform, event_type: str, count: int = 1) -> list[EventEnvelope]:
    """Return the requests of a type once there are `count` of them."""

    async def so_many() -> list[EventEnvelope]:
        found = [event for event in await published_events(platform) if event.type == event_type]
        return found if len(found) >= count else []

    return await until(platform, so_many)


async def types(platform: Platform, **query: Any) -> list[str]:
    return [event.type for event in await published_events(platform, **query)]


async def served_meanwhile(platform: Platform, work: Awaitable[T], monkeypatch: pytest.MonkeyPatch) -> tuple[T, int]:
    """Return the outcome of some work, and the number of another tenant's calls served before its large check ended.
    The check goes on until one was served; 0 for a check without slices."""
    begun, served, counted = asyncio.Event(), 0, list[int]()

    def examine(schema: Any, value: Any, most: int = schema_cost.MOST_IN_ALL) -> Generator[None, None, Any]:
        begun.set()
        found = yield from schemas.examine(schema, value, most=most)
        for _ in range(MOST_TURNS):
            if served:
                break
            yield
        counted.append(served)
        return found

    monkeypatch.setattr(check_ahead, "examine", examine)
    monkeypatch.setattr(schemas, "_VERDICTS", Verdicts())
    task, checking = asyncio.ensure_future(work), asyncio.ensure_future(begun.wait())
    await asyncio.wait((task, checking), return_when=asyncio.FIRST_COMPLETED)
    if begun.is_set():
        await platform.as_user(tenant_id="acme", user_id="ann").publish("business-facts", "order.placed", {})
        served = 1
    checking.cancel()
    return await task, max(counted, default=0)
