"""Circles stop over processes, too: two processes on one database, and two stores on one NATS."""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import postgres_server
import pytest
from circles import (
    MOST_IN_A_CIRCLE,
    answers_by_asking,
    count,
    echo,
    has_letter,
    passes_on,
    ping_pong,
    repeats,
    request_result,
)
from kit import PATIENCE, is_idle, planner, until
from nats_server import NatsServer
from worst import HAS_BROKER

from soorma_ai import Agent, InvocationContext, Limits, Platform, PlatformContext, Tool, Worker
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.ports import ModelQuestion
from soorma_ai.testing.scripted import complete, publish

pytestmark = pytest.mark.skipif(HAS_BROKER, reason="it chooses its bus itself, and runs once")

MOST = 300


@dataclass
class Pair:
    """Two platforms, and those of their stores with a log of its own."""

    one: Platform
    other: Platform
    logs: Sequence[Platform]

    async def start(self, here: Sequence[Agent], there: Sequence[Agent]) -> None:
        """Start agents in both, and return when each knows the requests of the other."""
        await self.other.start(*there)
        await self.one.start(*here)
        await until(self.one, lambda: _knows(self.one, there))
        await until(self.other, lambda: _knows(self.other, here))

    async def count(self) -> int:
        """Return the number of events in the longest log once all work is done."""
        while not all([await is_idle(platform) for platform in self.logs]):
            for platform in self.logs:
                await until(platform, lambda platform=platform: is_idle(platform))
        return max([await count(platform) for platform in self.logs])


async def _knows(platform: Platform, agents: Sequence[Agent]) -> bool:
    registry, now = platform.services.store.registry, platform.services.clock.now()
    known = {row.registration.name for row in await registry.agents(now) if row.live}
    return known >= {agent.name for agent in agents if isinstance(agent, Tool | Worker)}


@asynccontextmanager
async def two_processes(limits: Limits | None = None) -> AsyncGenerator[Pair]:
    if not postgres_server.is_there():
        pytest.skip("needs the wheel that brings a PostgreSQL server")
    url = postgres_server.shared().empty()
    async with Platform(url, limits=limits or Limits()) as one, Platform(url, limits=limits or Limits()) as other:
        yield Pair(one, other, [one])


@asynccontextmanager
async def two_stores(folder: Path, server: NatsServer, limits: Limits | None = None) -> AsyncGenerator[Pair]:
    bus, urls = server.namespace_url(), [f"sqlite:///{folder / name}.db" for name in ("one", "other")]
    async with AsyncExitStack() as opened:
        one, other = [await opened.enter_async_context(Platform(url, bus, limits=limits or Limits())) for url in urls]
        yield Pair(one, other, [one, other])


@pytest.fixture(params=["two processes on PostgreSQL", "two stores on NATS"])
async def pair(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Pair]:
    opened = (
        two_stores(tmp_path, request.getfixturevalue("nats_server")) if "NATS" in request.param else two_processes()
    )
    async with opened as made:
        yield made


async def test_workers_in_a_delegation_circle_are_stopped_and_the_asker_gets_the_limit(pair: Pair) -> None:
    ping, pong = ping_pong()
    await pair.start([ping], [pong])
    answer = await request_result(pair.one, "ping.requested")
    assert answer["success"] is False
    assert "limit_exceeded" in answer["error"]["message"]
    assert await pair.count() < MOST_IN_A_CIRCLE


def asks_once(question: ModelQuestion) -> JsonObject:
    """Ask for a part, and complete with whether a limit was heard of."""
    said = question.messages[-1].content
    if "The goal came" in said:
        return publish("part.requested")
    return complete({"heard": "limit_exceeded" in said or re.search(r'"heard": ?true', said) is not None})


async def test_planners_and_workers_in_a_circle_are_stopped_and_the_asker_gets_the_limit(pair: Pair) -> None:
    back = passes_on("back", "back.requested", "order.received")  # goals of planners stay in their store
    await pair.start([planner(asks_once), back], [passes_on("parts", "part.requested", "back.requested")])
    plan = await pair.one.submit("order.received", {})
    assert await plan.result(timeout=PATIENCE) == {"heard": True}
    assert await pair.count() < MOST_IN_A_CIRCLE


async def test_an_agent_with_a_request_for_every_answer_is_stopped(pair: Pair) -> None:
    await pair.start([answers_by_asking("again", "echo.done", "echo.requested")], [echo()])
    await pair.one.publish("business-facts", "round.begun", {})
    await until(pair.one, lambda: has_letter(pair.one, "max_hops"))
    assert await pair.count() < MOST_IN_A_CIRCLE


async def test_facts_in_a_circle_of_two_processes_are_stopped() -> None:
    async with two_processes() as pair:
        await pair.start([repeats("tick", "tock.came", "tick.came")], [repeats("tock", "tick.came", "tock.came")])
        await pair.one.publish("business-facts", "tick.came", {})
        await until(pair.one, lambda: has_letter(pair.one, "max_hops"))
        assert await pair.count() == 65


async def test_a_doubling_circle_of_two_processes_makes_no_more_than_max_events() -> None:
    async with two_processes(Limits(max_events=MOST)) as pair:
        here, there = (repeats(name, "twice.came", "twice.came") for name in ("here", "there"))
        await pair.start([here], [there])
        await pair.one.publish("business-facts", "twice.came", {})
        await until(pair.one, lambda: has_letter(pair.one, "max_events"))
        assert MOST // 2 <= await pair.count() <= MOST + 1


def doubles(name: str, other: str) -> tuple[Tool, Agent]:
    """Agents of one store: a request begins a fact, and a fact two more and a request to the other store."""
    tool, agent = Tool(name), Agent(f"{name}-twice")

    @tool.on_invoke(f"{name}.requested")
    async def begin(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        await context.bus.announce(f"{name}.came", {})
        return {}

    @agent.on_event(f"{name}.came", topic="business-facts")
    async def double(event: EventEnvelope, context: PlatformContext) -> None:
        for number in range(2):
            await context.bus.announce(f"{name}.came", {"of": number})
        await context.bus.request(f"{other}.requested", {}, "nobody.hears")

    return tool, agent


async def test_a_doubling_circle_of_two_stores_makes_no_more_than_max_events_for_each_root(
    tmp_path: Path, nats_server: NatsServer
) -> None:
    """Events that come back from another store count under a second root."""
    async with two_stores(tmp_path, nats_server, Limits(max_events=MOST)) as pair:
        await pair.start(doubles("here", "there"), doubles("there", "here"))
        await request_result(pair.one, "here.requested")
        await until(pair.one, lambda: has_letter(pair.one, "max_events"))
        assert MOST // 10 <= await pair.count() <= 2 * MOST
