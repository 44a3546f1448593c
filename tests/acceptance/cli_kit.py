"""Ways to call `soorma` on a store, and the plans of a small shop."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Generator
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import places
from click.testing import CliRunner, Result

from soorma_ai import Platform
from soorma_ai.apps.cli.loader import load_agents
from soorma_ai.apps.cli.main import cli

APPS = Path(__file__).parent / "apps"
SOORMA = (sys.executable, "-m", "soorma_ai")
GOALS = ("order.check", "order.place", "order.break", "order.deliver")


@dataclass(frozen=True)
class Shop:
    """Calls `soorma` in this process, or in others, on one store."""

    store: Path

    @property
    def url(self) -> str:
        return places.url_of(self.store)

    def __call__(self, *arguments: str, env: dict[str, str] | None = None, typed: BinaryIO | None = None) -> Result:
        environment = {**places.environment_of(self.store), "COLUMNS": "100", "FORCE_COLOR": None, **(env or {})}
        return CliRunner().invoke(cli, arguments, typed, env=environment)

    def json(self, *arguments: str) -> Any:
        result = self(*arguments, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    def process(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, check=False, capture_output=True, text=True, cwd=APPS, env=self._environment, input=""
        )

    def run(self, *arguments: str) -> Result:
        with chdir(APPS):
            return self("run", "orders:agents", *arguments)

    def ask(self, goal: str, typed: str) -> Result:
        """Run `soorma run` for a person with this input, then end of file."""
        reader, writer = os.pipe()
        os.write(writer, typed.encode())
        os.close(writer)
        with chdir(APPS), os.fdopen(reader, "rb") as keyboard:
            return self("run", "orders:agents", goal, "--answer", "ask", typed=keyboard)

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        """Start a process without a terminal, its output unread."""
        return subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=APPS, env=self._environment
        )

    @contextmanager
    def background(
        self, *command: str, ready: str, told: list[str] | None = None, folder: Path = APPS
    ) -> Generator[subprocess.Popen[str]]:
        """Run until the block ends; the block begins at a printed line with `ready`. The output before it is `told`."""
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder, env=self._environment
        )
        assert process.stdout is not None
        try:
            told = [] if told is None else told
            for line in process.stdout:
                told.append(line)
                if ready in line:
                    break
            else:
                raise AssertionError(f"{command} ended before it was ready: {''.join(told)}")
            yield process
        finally:
            process.kill()
            process.wait()
            process.stdout.close()

    def on_a_terminal(self, *arguments: str, until: bytes, typed: bytes) -> tuple[int, bytes, bytes]:
        """Run `soorma` for a person typing at the sight of `until`: exit code, stdout, and the terminal's output until
        then."""
        controller, terminal = pty.openpty()
        environment = {**self._environment, "TERM": "xterm"}
        with subprocess.Popen(
            (*SOORMA, *arguments), stdin=terminal, stdout=subprocess.PIPE, stderr=terminal, cwd=APPS, env=environment
        ) as process:
            os.close(terminal)
            seen = b""
            while until not in seen:
                seen += os.read(controller, 4096)
            os.write(controller, typed)
            printed, _ = process.communicate()
            os.close(controller)
        return process.returncode, printed, seen

    def plan(self, goal: str) -> dict[str, Any]:
        return next(plan for plan in self.json("plans", "ls") if plan["goal_event"] == goal)

    def wait(self, event: str) -> str:
        return next(wait["wait_id"] for wait in self.json("inbox") if wait["expected_event"] == event)

    @property
    def _environment(self) -> dict[str, str]:
        return {**os.environ, **places.environment_of(self.store), "COLUMNS": "100"}


async def run_to_the_end(store: Path, plan_id: str) -> None:
    """Run the agents until the plan has ended."""
    with chdir(APPS):
        agents = load_agents("orders:agents")
    async with Platform(f"sqlite:///{store}") as platform:
        await platform.start(*agents)
        await (await platform.follow(plan_id)).result()


async def seed(store: Path) -> None:
    import orders

    async with Platform(f"sqlite:///{store}") as platform:
        await platform.start(*orders.agents)
        for goal in GOALS:
            handle = await platform.submit(goal, {"order_id": f"o-{goal}"})
            await _settled(platform, handle.plan_id)


async def _settled(platform: Platform, plan_id: str) -> None:
    """Tell whether the plan has ended, or waits for a person."""
    changed = platform.services.signals.watch()
    while True:
        plan = await platform.services.store.plans.plan(plan_id)
        if plan is not None and (plan.status.is_final or plan.status == "paused"):
            platform.services.signals.unwatch(changed)
            return
        await changed.wait()
        changed.clear()
