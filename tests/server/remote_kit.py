"""A platform and, over HTTP, agents without a store."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Unpack

import httpx

from soorma_ai import (
    Agent,
    InvocationContext,
    Platform,
    PlatformContext,
    RemoteAgents,
    ResultContext,
    TaskContext,
    Tool,
    Worker,
)
from soorma_ai.kernel.ports import Authenticator, Clock
from soorma_ai.server import Options, app

PLACE = "http://127.0.0.1:8700"


@asynccontextmanager
async def start_remote(
    platform: Platform,
    *agents: Agent,
    token: str | None = None,
    auth: Authenticator | None = None,
    clock: Clock | None = None,
    **options: Unpack[Options],
) -> AsyncGenerator[RemoteAgents]:
    """Start agents in a process of their own, as far as the platform can tell."""
    transport = httpx.ASGITransport(app(platform, auth=auth, **options), client=("127.0.0.1", 5000))
    await platform.start()
    async with RemoteAgents(PLACE, token=token, clock=clock, transport=transport) as remote:
        await remote.start(*agents)
        yield remote


def adder() -> Worker:
    """Return a worker with two parallel requests: it adds their results, and remembers its task."""
    worker = Worker("adder", events_produced=["sum.done"])

    @worker.on_task("sum.requested")
    async def begin(task: TaskContext[Any], context: PlatformContext) -> None:
        task.state["asked"] = task.data["numbers"]
        for number in task.data["numbers"]:
            await task.delegate("double.requested", {"number": number}, "double.done")
        await task.report_progress(0.5, "asked")

    @worker.on_result("double.done")
    async def join(result: ResultContext, context: PlatformContext) -> None:
        task = await result.restore_task()
        if task.is_complete():
            parts = await task.aggregate_parallel_results(None) or {}
            total = sum(part["result"]["double"] for part in parts.values())
            await context.bus.announce("sum.done", {"total": total})
            await task.complete({"total": total, "asked": task.state["asked"]})

    return worker


def doubler(name: str = "doubler") -> Tool:
    tool = Tool(name)

    @tool.on_invoke("double.requested")
    async def double(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        return {"double": 2 * request.data["number"]}

    return tool
