"""`soorma serve` on a database that stands still: who calls is told, and SIGTERM ends the process all the same."""

import os
import re
import signal
import subprocess
from collections.abc import Generator
from time import monotonic

import httpx
import postgres_server
import pytest
from cli_kit import APPS, SOORMA

from soorma_ai import Client
from soorma_ai.errors import DeadlineExceeded, ServerUnavailable

pytestmark = pytest.mark.skipif(
    not postgres_server.is_there(), reason="needs the wheel that brings a PostgreSQL server"
)

# What `docs/deploy.md` gives a process to end.
STOP_GRACE = 30.0


@pytest.fixture
def server() -> postgres_server.Server:
    return postgres_server.shared()


@pytest.fixture
def served(server: postgres_server.Server) -> Generator[tuple[subprocess.Popen[str], str]]:
    environment = {**os.environ, "SOORMA_STORE_URL": server.database(), "SOORMA_BUS_URL": "local:"}
    command = (*SOORMA, "serve", "orders:agents", "--port", "0")
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=APPS, env=environment
    )
    assert process.stdout is not None
    try:
        told = ""
        for line in process.stdout:
            told += line
            if "serves" in line and (found := re.search(r"http://\S+:\d+", told)):
                yield process, found[0]
                return
        raise AssertionError(told)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_process_whose_database_is_frozen_answers_in_time_and_ends_when_it_is_told_to(
    server: postgres_server.Server, served: tuple[subprocess.Popen[str], str]
) -> None:
    process, url = served
    assert httpx.get(f"{url}/readyz").status_code == 200
    with server.frozen():
        begun = monotonic()
        with Client(url) as client, pytest.raises((DeadlineExceeded, ServerUnavailable)):
            client.request("stock.reserve", {}, timeout=2)
        assert monotonic() - begun < 2 + 1
        assert httpx.get(f"{url}/healthz").status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOP_GRACE) == 0
