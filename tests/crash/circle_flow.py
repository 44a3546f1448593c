"""Two circles within a plan: workers that delegate to each other, and a worker that asks again after every answer.

Each is stopped by its limit. A restart gives back nothing of the spent budget.
"""

from typing import Any

from deciding import DecidingModel
from life import Life, live

from soorma_ai import (
    ChoreographyPlanner,
    InvocationContext,
    Limits,
    PlatformContext,
    ResultContext,
    TaskContext,
    Tool,
    Worker,
)

LIMITS = Limits(max_nesting=5, max_events=60)
PING, PONG, AGAIN, ECHO = "ping.requested", "pong.requested", "again.requested", "echo.requested"


def decide(told: str) -> dict[str, Any]:
    if "limit_exceeded: max_events" in told:
        return {"action": "complete", "result": {"stopped": 2}}
    if "limit_exceeded: max_nesting" in told:
        return {"action": f"publish:{AGAIN}", "data": {}}
    return {"action": f"publish:{PING}", "data": {}}


def relay_worker(life: Life, name: str, takes: str, asks: str) -> Worker:
    worker = Worker(name)

    @worker.on_task(takes)
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        life.outside.effect("pass", task.idempotency_key)
        await task.delegate(asks, {}, "passed")

    @worker.on_result("passed")
    async def done(result: ResultContext, context: PlatformContext) -> None:
        await (await result.restore_task()).fail(result.error or "")

    return worker


def repeating_worker(life: Life) -> Worker:
    worker = Worker("again")

    @worker.on_task(AGAIN)
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        await task.delegate(ECHO, {}, "echoed")

    @worker.on_result("echoed")
    async def go_on(result: ResultContext, context: PlatformContext) -> None:
        await (await result.restore_task()).delegate(ECHO, {}, "echoed")

    return worker


def echo(life: Life) -> Tool:
    tool = Tool("echo")

    @tool.on_invoke(ECHO)
    async def say(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        life.outside.effect("echo", request.idempotency_key)
        return {}

    return tool


async def story(life: Life) -> None:
    planner = ChoreographyPlanner(
        "circles", goals=["circle.wanted"], reasoner=DecidingModel(life, decide), limits=LIMITS
    )
    workers = relay_worker(life, "ping", PING, PONG), relay_worker(life, "pong", PONG, PING)
    async with life.platform() as platform:
        await platform.start(*workers, repeating_worker(life), echo(life), planner)
        life.point("submit.before")
        plan = await platform.submit("circle.wanted", {}, idempotency_key="circle")
        await plan.result()


if __name__ == "__main__":
    live(story)
