"""`soorma serve` on a frozen database: callers get an error in time, and SIGTERM ends the process.

`SOORMA_TEST_FREEZE=60` freezes it for a minute, with SIGTERM after the first half.
"""

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

# The grace period of `docs/deploy.md`.
STOP_GRACE = 30.0
# Seconds from the start of the freeze to SIGTERM. Calls continue until then.
UNTIL_SIGTERM = max(float(os.environ.get("SOORMA_TEST_FREEZE", STOP_GRACE)) - STOP_GRACE, 0.0)
TIMEOUT = 5.0 if UNTIL_SIGTERM else 2.0


@pytest.fixture
def server() -> postgres_server.Server:
    return postgres_server.shared()


@pytest.fixture
def frozen_server(server: postgres_server.Server) -> Generator[tuple[subprocess.Popen[str], str]]:
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
            if "Listening" in line and (found := re.search(r"http://\S+:\d+", told)):
                yield process, found[0]
                return
        raise AssertionError(told)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_process_with_a_frozen_database_answers_in_time_and_ends_on_sigterm(
    server: postgres_server.Server, frozen_server: tuple[subprocess.Popen[str], str]
) -> None:
    process, url = frozen_server
    assert httpx.get(f"{url}/readyz").status_code == 200
    with server.frozen():
        begun, is_asked = monotonic(), False
        while not is_asked or monotonic() - begun < UNTIL_SIGTERM:
            ask(url)
            is_asked = True
        assert httpx.get(f"{url}/healthz").status_code == 200
        process.send_signal(signal.SIGTERM)
        told_at = monotonic()
        assert process.wait(STOP_GRACE) == 0
        print(f"ended {monotonic() - told_at:.1f} s after SIGTERM, {monotonic() - begun:.1f} s into the freeze")


def ask(url: str) -> None:
    begun = monotonic()
    with Client(url) as client, pytest.raises((DeadlineExceeded, ServerUnavailable)):
        client.request("stock.reserve", {}, timeout=TIMEOUT)
    took = monotonic() - begun
    assert took < TIMEOUT + 1
    print(f"request(timeout={TIMEOUT:g}) ended after {took:.2f} s")
