"""A host with a wrong clock writes moments of the database's clock."""

import subprocess
import sys
from pathlib import Path

import psycopg
from postgres_server import OWNER, Server, as_role

WRONG = """
import sys, time
real = time.time_ns
time.time_ns = lambda: real() + 3_600_000_000_000 * int(sys.argv[2])

import asyncio
from soorma_ai import InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.adapters.clock import SystemClock

assert abs(SystemClock().now().timestamp() - time.time()) > 3000
hands = Tool("hands")

@hands.on_invoke("work.asked")
async def work(request: InvocationContext, context: PlatformContext) -> dict:
    print("leased", flush=True)
    await asyncio.Event().wait()

async def main():
    async with Platform(sys.argv[1]) as platform:
        await platform.start(hands)
        await platform.request("work.asked", {}, timeout=600)

asyncio.run(main())
"""
WRITTEN = """
    SELECT 'lease', ready_at - extract(epoch FROM clock_timestamp()) FROM soorma.inbox WHERE state = 'leased'
    UNION ALL SELECT 'event', time - extract(epoch FROM clock_timestamp()) FROM soorma.event
    UNION ALL SELECT 'deadline', due - 600 - extract(epoch FROM clock_timestamp()) FROM soorma.timer
    UNION ALL SELECT 'heartbeat', heartbeat - extract(epoch FROM clock_timestamp()) FROM soorma.agent
"""
HOUR = 3600


def moments_of(url: str, hours: int) -> dict[str, float]:
    """Return the seconds from now, by the database, to the moments written by a host that far ahead."""
    host = subprocess.Popen([sys.executable, "-c", WRONG, url, str(hours)], stdout=subprocess.PIPE, text=True)
    try:
        assert host.stdout is not None
        assert host.stdout.readline() == "leased\n"
        with psycopg.connect(as_role(url, OWNER)) as db:
            return {str(name): float(seconds) for name, seconds in db.execute(WRITTEN).fetchall()}
    finally:
        host.kill()
        host.communicate()


def test_a_host_an_hour_ahead_holds_a_lease_no_longer_and_gives_up_no_sooner(postgres: Server, tmp_path: Path) -> None:
    found = moments_of(postgres.database(), 1)
    assert found.keys() >= {"lease", "event", "heartbeat"}
    assert all(abs(seconds) < HOUR / 2 for seconds in found.values()), found
