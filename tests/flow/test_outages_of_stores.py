"""An outage of the store is a pause of its handlers, and never one of their attempts."""

from datetime import datetime
from typing import Any

import pytest
from kit import as_time_passes, events
from worst import HAS_BROKER

from soorma_ai import InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.errors import StoreUnavailable
from soorma_ai.kernel.ports import Work
from soorma_ai.kernel.rules.delivery.disposition import MAX_ATTEMPTS
from soorma_ai.kernel.runtime.handling.execute import COMMIT_TRIES
from soorma_ai.kernel.runtime.handling.handler_task import LEASE
from soorma_ai.testing.clock import VirtualClock

pytestmark = pytest.mark.skipif(HAS_BROKER, reason="a bus says by itself when it is away")

OFTEN = MAX_ATTEMPTS + 1


def clerk(attempts: list[int]) -> Tool:
    """Return a tool with a handler that reads the store."""
    tool = Tool("clerk")

    @tool.on_invoke("file.requested")
    async def file(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        attempts.append(context.attempt)
        await context.memory.get_task_context("drawer")
        return {"filed": True}

    return tool


async def test_a_store_away_within_a_handler_is_waited_for_without_an_attempt(
    platform: Platform, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts: list[int] = []
    plans = platform.services.store.plans
    real = plans.agents_of_task

    async def look(*given: Any, **named: Any) -> Any:
        if len(attempts) <= OFTEN:
            raise StoreUnavailable("the server starts up")
        return await real(*given, **named)

    monkeypatch.setattr(plans, "agents_of_task", look)
    await platform.start(clerk(attempts))
    await platform.publish("action-requests", "file.requested", {})
    await as_time_passes(clock, lambda: is_filed(platform))
    assert attempts == [1] * (OFTEN + 1)
    assert not await platform.dead_letters()


async def test_a_store_without_commits_for_longer_than_all_leases_is_no_attempt(
    platform: Platform, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts: list[int] = []
    queue, refused = platform.services.store.queue, list[datetime]()
    real = queue.commit

    async def commit(work: Work, now: datetime) -> Any:
        if work.delivery.agent == "clerk" and len(refused) < OFTEN * COMMIT_TRIES:
            refused.append(now)
            raise StoreUnavailable("the disk is full")
        return await real(work, now)

    monkeypatch.setattr(queue, "commit", commit)
    await platform.start(clerk(attempts))
    await platform.publish("action-requests", "file.requested", {})
    await as_time_passes(clock, lambda: is_filed(platform))
    assert (refused[-1] - refused[0]).total_seconds() > LEASE.total_seconds()
    assert attempts == [1, 1], "it is handled once more when the store is back, as the same attempt"


async def is_filed(platform: Platform) -> bool:
    return any(one.type == "file.requested.completed" for one in await events(platform))
