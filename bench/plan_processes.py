"""Measure the steps per second of plans in several processes over one PostgreSQL server, beside DBOS on that server.

    make bench-plans ARGS="--plans 160 --processes 1,2,4"

The processes begin together, each with its own plans and a number of them in flight. A step is one decision of a
scripted model and one call of a tool; for DBOS, a workflow with two steps. *Waiting* is the share of the time in which
some connection waited for a lock.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

import psycopg

from bench.many_processes import DURABLE
from bench.measure import Lap
from bench.process import ROOT, python_of
from bench.rows.agents import count, count_to, counting, desk
from soorma_ai import Platform
from tests.postgres_server import Server, serving

PLANS, STEPS, IN_FLIGHT = 160, 5, 16
PROCESSES = "1,2,4"
LOOKED_EVERY = 0.005
OURS, DBOS = "soorma_ai", "DBOS"


async def work(url: str, plans: int, steps: int, in_flight: int) -> None:
    """Pursue a number of plans after a line on stdin, and print the moments of begin and end."""
    async with Platform(url) as platform:
        me = str(os.getpid())
        await platform.start(desk(), counting(count_to(steps)))
        await count(platform, f"warm {me}")
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        numbers = iter(range(plans))

        async def keep_on() -> None:
            for number in numbers:
                await count(platform, f"{me} {number}")

        with Lap() as lap:
            await asyncio.gather(*(keep_on() for _ in range(in_flight)))
    print(json.dumps(lap.per(plans * steps)))


class LockWatch(threading.Thread):
    """Counts the moments at which a connection waits for a lock."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self._url = url
        self._over = threading.Event()
        self._looks = self._waits = 0

    def run(self) -> None:
        with psycopg.connect(self._url, autocommit=True) as db:
            while not self._over.wait(LOOKED_EVERY):
                found = db.execute("SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted)").fetchone()
                self._looks += 1
                self._waits += bool(found and found[0])

    def share(self) -> float:
        """Return the share of waits, and end."""
        self._over.set()
        self.join()
        return self._waits / max(self._looks, 1)


def measure(server: Server, command: Sequence[str], processes: int, plans: int) -> tuple[float, float, float]:
    """Return steps per second, CPU of the processes in ms per step, and the share of waits for locks."""
    given = [str(plans // processes), str(STEPS), str(IN_FLIGHT)]
    running = [
        subprocess.Popen([*command, *given], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        for _ in range(processes)
    ]
    for one in running:
        assert one.stdout is not None
        while (line := one.stdout.readline()) != "ready\n":
            assert line, f"{command} ended before its begin"
    watch = LockWatch(server.url("postgres"))
    watch.start()
    for one in running:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    said = [json.loads(one.communicate()[0].splitlines()[-1]) for one in running]
    share = watch.share()
    steps = sum(one["units"] for one in said)
    seconds = max(one["end"] for one in said) - min(one["begin"] for one in said)
    return steps / seconds, sum(one["cpu_ms"] * one["units"] for one in said) / steps, share


def main() -> None:
    given = argparse.ArgumentParser()
    given.add_argument("--plans", type=int, default=PLANS)
    given.add_argument("--processes", default=PROCESSES)
    given.add_argument("--rounds", type=int, default=1)
    given.add_argument("--ours", action="store_true", help="without DBOS")
    given.add_argument("--work", nargs=4)
    options = given.parse_args()
    if options.work:
        url, *numbers = options.work
        asyncio.run(work(url, *map(int, numbers)))
        return
    programs = {OURS: [sys.executable, "-m", "bench.plan_processes", "--work"]}
    if not options.ours:
        programs[DBOS] = [str(python_of("dbos")), "-m", "bench.rivals.drive_dbos"]
    print("| | processes | steps a second | CPU of the processes, ms a step | waiting |")
    print("|---" * 5 + "|")
    with serving(DURABLE) as server:
        for _ in range(options.rounds):
            for name, command in programs.items():
                for processes in map(int, options.processes.split(",")):
                    url = server.database() if name == OURS else _plain(server)
                    speed, cpu, share = measure(server, [*command, url], processes, options.plans)
                    print(f"| {name} | {processes} | {speed:,.0f} | {cpu:.1f} | {share:.0%} |", flush=True)


def _plain(server: Server) -> str:
    """Return the URL of an empty database of its own."""
    name = f"plain_{time.monotonic_ns()}"
    server.execute(f"CREATE DATABASE {name}")
    return server.url(name)


if __name__ == "__main__":
    main()
