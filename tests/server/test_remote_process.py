"""The own work of a process without a store, beside the handling of its leases."""

import asyncio
import logging
from typing import Any

import httpx
import pytest
from remote_kit import PLACE, doubler, start_remote

from soorma_ai import InvocationContext, Platform, PlatformContext, RemoteAgents, Tool
from soorma_ai.kernel.runtime.handling.handler_task import LEASE
from soorma_ai.server import app
from soorma_ai.testing.clock import VirtualClock

DOUBLE = "double.requested"


async def test_a_remote_process_sweeps_no_store(platform: Platform, caplog: pytest.LogCaptureFixture) -> None:
    async with start_remote(platform, doubler()):
        await platform.request(DOUBLE, {"number": 2}, timeout=20)
    assert [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING] == []


async def test_a_delivery_held_beyond_its_lease_causes_no_busy_loop_of_leases(
    platform: Platform, clock: VirtualClock
) -> None:
    tool, begun, go_on, leases = Tool("slow"), asyncio.Event(), asyncio.Event(), list[str]()

    @tool.on_invoke(DOUBLE)
    async def double(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        begun.set()
        await go_on.wait()
        return {}

    async def counted(scope: Any, receive: Any, send: Any) -> None:
        leases.extend(path for path in [scope["path"]] if path.endswith("/lease"))
        await served(scope, receive, send)

    served = app(platform, rate=None)
    await platform.start()
    transport = httpx.ASGITransport(counted, client=("127.0.0.1", 5000))
    async with RemoteAgents(PLACE, clock=VirtualClock(), transport=transport) as remote:
        await remote.start(tool)
        await platform.ask(DOUBLE, {"number": 1})
        await begun.wait()
        await clock.advance(LEASE.total_seconds() + 1)
        leases.clear()
        for _ in range(5000):
            await asyncio.sleep(0)
        assert len(leases) <= 2
        go_on.set()
