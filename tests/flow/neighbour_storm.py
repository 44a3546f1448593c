"""Two stores on one NATS. It is killed again and again, each time with all its data, while one store asks the other.

make neighbours                                            500 requests, 20 kills
make neighbours ARGS="--requests 40 --kills 2 --seed 7"    a small one
"""

import argparse
import asyncio
import logging
import random
import shutil
import sys
import tempfile
from collections import Counter
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from kit import until
from nats_server import NatsServer

from soorma_ai import ChoreographyPlanner, InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.errors import SoormaError
from soorma_ai.kernel.domain.stores import MAILBOX
from soorma_ai.testing.scripted import ScriptedReasoner, complete, publish

COUNT = "count.requested"
IN_FLIGHT = 24
# Every so many requests one is a plan's.
PLANS_EVERY = 5
PATIENCE = 300.0
_TOOK = "number taken:"


@dataclass
class StormOutcome:
    """Outcome: the numbers with a right answer, the count of handlings of each, the faults of the others, and the
    longest wait for an answer."""

    answered: set[int] = field(default_factory=set[int])
    handled: Counter[int] = field(default_factory=Counter[int])
    faults: list[str] = field(default_factory=list[str])
    kills: int = 0
    longest: float = 0.0
    left: int = 0

    @property
    def doubled(self) -> list[int]:
        return [number for number, count in self.handled.items() if count > 1]


def counter(handled: Counter[int]) -> Tool:
    tool = Tool("counter")

    @tool.on_invoke(COUNT)
    async def count(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        number = int(request.data["number"])
        handled[number] += 1
        return {"counted": number}

    return tool


def asker() -> ChoreographyPlanner:
    """Return a planner that asks once, and completes with the answer."""

    def decide(prompt: Any) -> Any:
        said = str(prompt).replace("\\", "")
        number = int(said.partition(_TOOK)[2].split(";")[0])
        return complete({"counted": number}) if '"counted"' in said else publish(COUNT, number=number)

    return ChoreographyPlanner("asker", goals=["count"], reasoner=ScriptedReasoner(decide))


class Server(NatsServer):
    """A server of NATS. A kill loses its data."""

    def lose_everything(self) -> None:
        self.kill()
        shutil.rmtree(self._folder)
        self._folder.mkdir()


async def storm(folder: Path, requests: int, kills: int, seed: int) -> StormOutcome:
    """Ask `requests` times, and kill the server `kills` times meanwhile."""
    found, chance = StormOutcome(), random.Random(seed)
    (folder / "nats").mkdir(parents=True)
    server = Server(folder / "nats")
    await asyncio.to_thread(server.start)
    bus = f"{server.url}/storm"
    async with AsyncExitStack() as opened:
        opened.callback(server.stop)
        there = await opened.enter_async_context(Platform(f"sqlite:///{folder / 'there.db'}", bus))
        home = await opened.enter_async_context(Platform(f"sqlite:///{folder / 'home.db'}", bus))
        await there.start(counter(found.handled))
        await home.start(asker())
        await _ask(home, -PLANS_EVERY, found)  # when it is answered, the stores know each other
        room = asyncio.Semaphore(IN_FLIGHT)
        asking = [asyncio.create_task(_ask_when_there_is_room(home, one, found, room)) for one in range(requests)]
        for kill in range(kills):
            await _some_are_answered(home, found, asking, (kill + 0.5) * requests / kills)
            await asyncio.sleep(chance.uniform(0.0, 0.2))
            server.lose_everything()
            found.kills += 1
            await asyncio.sleep(chance.uniform(0.0, 1.0))
            await asyncio.to_thread(server.start)
        await asyncio.gather(*asking)
        found.left = await _are_done(home, there)
    return found


async def _ask_when_there_is_room(home: Platform, number: int, found: StormOutcome, room: asyncio.Semaphore) -> None:
    async with room:
        await _ask(home, number, found)


async def _ask(home: Platform, number: int, found: StormOutcome) -> None:
    start = monotonic()
    try:
        if number % PLANS_EVERY == 0:
            plan = await home.submit("count", {"note": f"{_TOOK}{number};"})
            result: Any = await plan.result(timeout=PATIENCE)
        else:
            reply: Any = await home.request(COUNT, {"number": number}, timeout=PATIENCE)
            result = reply["result"]
        if result == {"counted": number}:
            found.answered.add(number)
        else:
            found.faults.append(f"{number}: {result}")
    except SoormaError as error:
        found.faults.append(f"{number}: {error!r}")
    found.longest = max(found.longest, monotonic() - start)


async def _some_are_answered(
    home: Platform, found: StormOutcome, asking: list[asyncio.Task[None]], count: float
) -> None:
    await until(home, lambda: len(found.answered) >= count or all(one.done() for one in asking))


async def _are_done(*platforms: Platform) -> int:
    """Return the number of events left in the mailboxes when they should be empty."""
    for one in platforms:
        with suppress(TimeoutError):
            await until(one, partial(_is_empty, one))
    return sum([await in_mailboxes(one) for one in platforms])


async def _is_empty(platform: Platform) -> bool:
    return await in_mailboxes(platform) == 0


async def in_mailboxes(platform: Platform) -> int:
    """Return the number of events kept for other stores."""
    found = await platform.services.store.queue.backlogs("default", 1_000)
    return sum(one.waiting + one.in_hand for one in found if one.agent.startswith(MAILBOX))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--requests", type=int, default=500)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    logging.basicConfig(level=logging.CRITICAL)
    folder = Path(tempfile.mkdtemp(prefix="soorma-storm-"))
    start = monotonic()
    try:
        found = asyncio.run(storm(folder, given.requests, given.kills, given.seed))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    lost = given.requests - len([one for one in found.answered if one >= 0])
    print(f"seed {given.seed}: {given.requests} requests, {found.kills} kills, {monotonic() - start:.0f} s")
    print(f"{lost} lost, {len(found.doubled)} doubled, {found.left} left, longest answer {found.longest:.1f} s")
    for fault in found.faults[:12]:
        print(fault)
    return int(bool(lost or found.doubled or found.left))


if __name__ == "__main__":
    sys.exit(main())
