"""`agent.run()` is a whole program: set up by the environment, running until it is stopped."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import places
import pytest
from offline_kit import contents_of, offline

from soorma_ai.adapters.single_writer.lock import owner_of

PROGRAM = """
from soorma_ai import InvocationContext, PlatformContext, Tool

clock = Tool("clock")


@clock.on_invoke("time.asked")
async def tell(request: InvocationContext, context: PlatformContext) -> dict[str, str]:
    return {"time": "noon"}


clock.on_startup(lambda: print("started", flush=True))
clock.on_shutdown(lambda: print("stopped", flush=True))
clock.run()
"""


@contextmanager
def run_program(folder: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=offline(folder, **places.environment_of(folder / "shop.db")),
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def outcome_of(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    said, complained = process.communicate(timeout=20)
    return process.returncode, said, complained


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_an_agent_runs_until_a_signal_and_leaves_in_order(tmp_path: Path, told: signal.Signals) -> None:
    database = tmp_path / "shop.db"
    with run_program(tmp_path) as process:
        assert process.stdout and process.stdout.readline() == "started\n"
        assert [(row.agent, row.live) for row in contents_of(database)[1]] == [("clock", True)]
        owner = owner_of(database)
        assert owner is not None
        assert (owner.pid, owner.purpose) == (process.pid, "clock")
        process.send_signal(told)
        assert outcome_of(process) == (0, "stopped\n", "")
    assert [(row.agent, row.live) for row in contents_of(database)[1]] == [("clock", False)]
    assert owner_of(database) is None
    assert not database.with_name("shop.db.sock").exists()


def test_a_second_agent_on_the_same_store_gets_the_owners_name(tmp_path: Path) -> None:
    with run_program(tmp_path) as first:
        assert first.stdout and first.stdout.readline() == "started\n"
        with run_program(tmp_path) as second:
            code, said, complained = outcome_of(second)
        assert (code, said) == (1, "")
        assert f"is owned by process {first.pid} (clock): stop it" in complained.splitlines()[-1]
        assert first.poll() is None
