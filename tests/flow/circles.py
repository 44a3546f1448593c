"""Agents in circles, for tests of the breaker."""

from typing import Any

from kit import PATIENCE, planner

from soorma_ai import (
    Agent,
    ChoreographyPlanner,
    InvocationContext,
    Platform,
    PlatformContext,
    ResultContext,
    TaskContext,
    Tool,
    Worker,
)
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.testing.scripted import publish

MOST_IN_A_CIRCLE = 200


async def count(platform: Platform) -> int:
    """Return how many events are in the log."""
    rows, after = 0, 0
    while page := await platform.services.store.events.events(after=after, limit=1000):
        rows, after = rows + len(page), page[-1].seq
    return rows


async def request_result(platform: Platform, event_type: str) -> Any:
    return await platform.request(event_type, {}, timeout=PATIENCE)


def passes_on(name: str, takes: str, asks: str) -> Worker:
    """A worker: delegates its task to another worker, and passes the outcome on."""
    worker = Worker(name)

    @worker.on_task(takes)
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        await task.delegate(asks, task.data, f"{asks}.done")

    @worker.on_result(f"{asks}.done")
    async def done(result: ResultContext, context: PlatformContext) -> None:
        if result.success:
            await (await result.restore_task()).complete(result.result)
        else:
            await (await result.restore_task()).fail(result.error or "")

    return worker


def ping_pong() -> tuple[Worker, Worker]:
    return passes_on("ping", "ping.requested", "pong.requested"), passes_on("pong", "pong.requested", "ping.requested")


def repeats(name: str, hears: str, says: str, times: int = 1) -> Agent:
    """An agent: answers a fact by facts."""
    agent = Agent(name)

    @agent.on_event(hears, topic="business-facts")
    async def again(event: EventEnvelope, context: PlatformContext) -> None:
        for number in range(times):
            await context.bus.announce(says, {"after": event.id, "of": number})

    return agent


def answers_by_asking(name: str, answer: str, asks: str) -> Agent:
    """An agent outside of any task: asks again at every answer."""
    agent = Agent(name)

    @agent.on_event("round.begun", topic="business-facts")
    async def begin(event: EventEnvelope, context: PlatformContext) -> None:
        await context.bus.request(asks, {}, answer)

    @agent.on_event(answer, topic="action-results")
    async def again(event: EventEnvelope, context: PlatformContext) -> None:
        await context.bus.request(asks, {}, answer)

    return agent


def echo(publishes: int = 0) -> Tool:
    tool = Tool("echo")

    @tool.on_invoke("echo.requested")
    async def say(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        for number in range(publishes):
            await context.bus.announce("echo.said", {"n": number})
        return {"said": 1}

    return tool


def planner_and_worker() -> tuple[ChoreographyPlanner, Worker]:
    """A planner and a worker: the planner asks the worker, and the worker gives the same goal to the planner."""
    minds = planner([publish("part.requested", n=n) for n in range(20)])
    return minds, passes_on("parts", "part.requested", "order.received")


async def has_letter(platform: Platform, limit: str) -> bool:
    return any(letter.reason.startswith(f"limit_exceeded: {limit}") for letter in await platform.dead_letters())
