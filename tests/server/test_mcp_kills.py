"""An at-most-once tool of a server, by stdio or streamable HTTP, under a kill of either side before each message:
called once at most, and an unknown outcome is told. `make mcp` takes every message, the gate two."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from soorma_ai import McpServer
from soorma_ai.gateways.mcp.trust import write_trust

# A life starts three programs, slowly on a busy machine.
pytestmark = pytest.mark.timeout(500)

HERE = Path(__file__).parent
MESSAGES = 8
EVERY = [(victim, number) for victim in ("server", "client") for number in range(1, MESSAGES + 1)]
HTTP_MESSAGES = 8
HTTP_POINTS = [(victim, number) for victim in ("server", "client") for number in range(1, HTTP_MESSAGES + 1)]
SAMPLE = [("server", 8), ("client", 8)]
IS_WHOLE = os.environ.get("SOORMA_MCP_KILLS") == "all"
POINTS = EVERY if IS_WHOLE else SAMPLE


async def confirm(folder: Path) -> None:
    server = McpServer("till", [sys.executable, str(HERE / "mcp_program.py"), str(folder)])
    write_trust(folder / "mcp.trust.json", "till", await server.list_tools())


def live(folder: Path, victim: str, number: int) -> str:
    """Return the outcome of a life; empty for a killed one."""
    relay = [sys.executable, str(HERE / "mcp_relay.py"), str(folder), victim, str(number)]
    life = [sys.executable, str(HERE / "mcp_life.py"), str(folder), *relay]
    return subprocess.run(life, check=False, capture_output=True, text=True, timeout=200).stdout.strip()


def live_by_http(folder: Path, victim: str, number: int) -> str:
    """Return the outcome of a life over streamable HTTP; empty for a killed one."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    words = [str(HERE / "mcp_http_relay.py"), str(folder), port, victim, str(number)]
    told, unseen = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen([sys.executable, *words], stdout=told, stderr=unseen, text=True) as relay:
        try:
            assert relay.stdout is not None
            url = f"http://127.0.0.1:{relay.stdout.readline().strip()}/mcp"
            life = [sys.executable, str(HERE / "mcp_life.py"), str(folder), url]
            return subprocess.run(life, check=False, capture_output=True, text=True, timeout=200).stdout.strip()
        finally:
            relay.terminate()


def notes(folder: Path) -> int:
    return (folder / "calls").read_text().splitlines().count("note hi")


@pytest.mark.parametrize(("victim", "number"), POINTS)
async def test_a_kill_doubles_no_call_and_an_unknown_outcome_is_told(tmp_path: Path, victim: str, number: int) -> None:
    await confirm(tmp_path)
    outcome = live(tmp_path, victim, number) or live(tmp_path, "none", 0)
    assert (tmp_path / "struck").exists()
    assert (outcome, notes(tmp_path)) in (("done", 1), ("in_doubt", 0), ("in_doubt", 1))


@pytest.mark.skipif(not IS_WHOLE, reason="make mcp")
@pytest.mark.parametrize(("victim", "number"), HTTP_POINTS)
async def test_a_kill_over_http_doubles_no_call_and_an_unknown_outcome_is_told(
    tmp_path: Path, victim: str, number: int
) -> None:
    await confirm(tmp_path)
    outcome = live_by_http(tmp_path, victim, number) or live_by_http(tmp_path, "none", 0)
    assert (tmp_path / "struck").exists()
    assert (outcome, notes(tmp_path)) in (("done", 1), ("in_doubt", 0), ("in_doubt", 1))


@pytest.mark.skipif(not IS_WHOLE, reason="make mcp")
async def test_the_points_of_kills_are_all_messages_of_a_call(tmp_path: Path) -> None:
    await confirm(tmp_path)
    assert live(tmp_path, "none", 0) == "done"
    assert len((tmp_path / "messages").read_text().splitlines()) == MESSAGES
    (tmp_path / "http").mkdir()
    await confirm(tmp_path / "http")
    assert live_by_http(tmp_path / "http", "none", 0) == "done"
    assert len((tmp_path / "http" / "messages").read_text().splitlines()) == HTTP_MESSAGES
