"""Programs run as by a reader of the project, in a directory of their own, without a key or a network."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import places

from soorma_ai.adapters.clock import SystemClock
from soorma_ai.assembly import make_store
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.ports import AgentRow

ROOT = Path(__file__).parents[2]
# Seconds: on a busy machine a program starts slowly.
PATIENCE = 500

# Python imports a module of this name first.
NO_NETWORK = """
import socket

_connect = socket.socket.connect

def connect(self, address):
    if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1", "localhost"):
        raise AssertionError(f"the network was asked for {address}")
    return _connect(self, address)

socket.socket.connect = socket.socket.connect_ex = connect
"""


def offline(folder: Path, **more: str) -> dict[str, str]:
    """Return the environment: no keys, none of our settings from the caller, an unreachable network, and the package of
    this checkout."""
    (folder / "offline").mkdir(exist_ok=True)
    (folder / "offline" / "sitecustomize.py").write_text(NO_NETWORK)
    kept = {k: v for k, v in os.environ.items() if not k.endswith(("_API_KEY", "_BASE_URL")) and "SOORMA_" not in k}
    path = os.pathsep.join(map(str, (folder / "offline", ROOT)))
    return {**kept, "SOORMA_MODEL_CALLS": "forbidden", "PYTHONPATH": path, **more}


def run(folder: Path, *arguments: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run `python arguments...` in `folder`, with the recordings, and with more in its environment."""
    recordings = folder / "cassettes"
    if not recordings.exists():
        recordings.symlink_to(ROOT / "cassettes")
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env=offline(folder, **more),
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE,
    )


def contents_of(path: Path) -> tuple[list[EventEnvelope], list[AgentRow]]:
    """Return the events and the agents in the store of `path`."""

    async def read() -> tuple[list[EventEnvelope], list[AgentRow]]:
        store, now = make_store(places.url_of(path), read_only=True), SystemClock().now()
        await store.open(now)
        rows, agents = await store.events.events(limit=1000), await store.registry.agents(now)
        await store.close()
        return [row.event for row in rows], agents

    return asyncio.run(read())
