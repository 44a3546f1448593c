"""Data with costly checks, over HTTP: of a client, and of an agent without a store."""

from typing import Any

import pytest
from remote_kit import start_remote
from unit.worst_data import UNION, count_slices, items_of

from soorma_ai import InvocationContext, Platform, PlatformContext, ResultContext, TaskContext, Tool, Worker
from soorma_ai.kernel.domain import schemas
from soorma_ai.kernel.domain.verdicts import Verdicts
from soorma_ai.kernel.runtime.handling import check_ahead

BAD: Any = {"items": list(range(20_000))}


async def test_a_remote_commit_is_checked_in_slices(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    slices: list[int] = []
    monkeypatch.setattr(check_ahead, "examine", count_slices(slices))
    monkeypatch.setattr(schemas, "_VERDICTS", Verdicts())
    tool, worker = Tool("taker"), Worker("asker")

    @tool.on_invoke("shape.requested", payload_schema=items_of(UNION))
    async def take(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        return {}

    @worker.on_task("ask.requested")
    async def ask(task: TaskContext[Any], context: PlatformContext) -> None:
        await task.delegate("shape.requested", BAD, "shape.done")

    @worker.on_result("shape.done")
    async def never(result: ResultContext, context: PlatformContext) -> None:
        raise AssertionError

    await platform.start(tool)
    async with start_remote(platform, worker):
        reply: Any = await platform.request("ask.requested", {}, timeout=60)
    assert reply["success"] is False and "schema" in reply["error"]["message"]
    assert max(slices) > 1
