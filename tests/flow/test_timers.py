"""Timers are read when a delivery becomes due, and not again and again until its agent is free."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from kit import PATIENCE, as_time_passes, happens, is_idle, kill_platform, open_platform, published_events, until

from soorma_ai import InvocationContext, Platform, PlatformContext, Retry, Tool
from soorma_ai.adapters.sqlite.store import SqliteStore
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.kernel.runtime.handling.handler_task import LEASE
from soorma_ai.kernel.sql.parts import SqlQueue
from soorma_ai.testing.clock import VirtualClock


class CountingQueue(SqlQueue):
    """A queue: counts the reads of the next due time."""

    looks = 0

    async def next_due(self, agents: Sequence[str], *given: Any, **named: Any) -> datetime | None:
        self.looks += 1
        return await super().next_due(agents, *given, **named)


def counting_store(path: Path) -> tuple[SqliteStore, CountingQueue]:
    store = SqliteStore(path, ALL_FEATURES)
    queue = store.queue = CountingQueue(store.database)
    return store, queue


class Hands:
    """A tool: works on one request until `go_on` is set, and puts the others off for a second."""

    def __init__(self, **options: Any) -> None:
        self.began, self.go_on = asyncio.Event(), asyncio.Event()
        self.put_off, self.done = list[int](), list[int]()
        self.tool = Tool("hands", **options)
        self.tool.on_invoke("work.requested")(self.work)

    async def work(self, request: InvocationContext, context: PlatformContext) -> int:
        number = int(request.data["n"])
        if number == 0:
            self.began.set()
            await self.go_on.wait()
        elif number not in self.put_off:
            self.put_off.append(number)
            raise Retry("not yet", after=timedelta(seconds=1))
        self.done.append(number)
        return number


async def send_requests(platform: Platform, *numbers: int) -> None:
    for n in numbers:
        await platform.publish("action-requests", "work.requested", {"n": n})


async def all_done(platform: Platform, hands: Hands, *numbers: int) -> None:
    async def is_done() -> bool:
        return sorted(hands.done) == sorted(numbers) and await platform.services.store.queue.backlog(1) == 0

    await until(platform, is_done)
    assert len(await published_events(platform, topic="action-results")) == len(numbers)


async def is_looked_at_rarely(queue: CountingQueue, clock: VirtualClock) -> None:
    """Let seconds pass in small steps; after each, every task goes on as far as it can."""
    before = queue.looks
    for _ in range(200):
        await clock.advance(0.02)
        for _ in range(12):
            await asyncio.sleep(0)
    assert queue.looks - before < 20


async def test_a_delivery_due_behind_a_busy_agent_is_taken_once_it_is_free_without_polling(
    path: Path, clock: VirtualClock
) -> None:
    (store, queue), hands = counting_store(path), Hands(max_in_flight=1)
    async with Platform(store=store, clock=clock) as platform:
        await platform.start(hands.tool)
        await send_requests(platform, 1)
        await until(platform, lambda: hands.put_off == [1])
        await send_requests(platform, 0)
        await happens(hands.began)
        await is_looked_at_rarely(queue, clock)
        assert hands.done == []
        hands.go_on.set()
        await all_done(platform, hands, 0, 1)


async def test_a_poison_candidate_due_behind_another_is_taken_after_it_without_polling(
    path: Path, clock: VirtualClock
) -> None:
    for _ in range(2):
        platform, at_work = Platform(store=SqliteStore(path, ALL_FEATURES), clock=clock), asyncio.Semaphore(0)
        await platform.__aenter__()
        await platform.start(killing(at_work))
        if not await platform.services.store.queue.backlog(1):
            await send_requests(platform, 1, 0)
        async with asyncio.timeout(PATIENCE):
            await at_work.acquire()
            await at_work.acquire()
        await kill_platform(platform)
    (store, queue), hands = counting_store(path), Hands()
    async with Platform(store=store, clock=clock) as platform:
        await platform.start(hands.tool)
        await happens(hands.began)
        assert hands.put_off == [1], "it came first, and is to come again"
        await is_looked_at_rarely(queue, clock)
        assert hands.done == []
        hands.go_on.set()
        await all_done(platform, hands, 0, 1)


def killing(at_work: asyncio.Semaphore) -> Tool:
    tool = Tool("hands")

    @tool.on_invoke("work.requested")
    async def work(request: InvocationContext, context: PlatformContext) -> None:
        at_work.release()
        await asyncio.Event().wait()

    return tool


class PutBackClock(VirtualClock):
    """A clock with a wall time put back while a program runs."""

    ahead = timedelta()

    def now(self) -> datetime:
        return super().now() + self.ahead


async def test_a_retry_comes_though_the_clock_was_put_back(path: Path) -> None:
    attempts, clock, tool = list[int](), PutBackClock(), Tool("till")

    @tool.on_invoke("pay.requested", attempts=4)
    async def pay(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        attempts.append(request.attempt)
        if request.attempt < 3:
            clock.ahead -= timedelta(days=40)
            raise ConnectionError("away")
        return {"paid": True}

    async with open_platform(path, clock) as platform:
        await platform.start(tool)
        asked = asyncio.ensure_future(platform.request("pay.requested", {}, timeout=60))
        await as_time_passes(clock, lambda: is_done(asked))
        assert (await asked)["success"]
    assert attempts == [1, 2, 3]


@pytest.mark.parametrize("pause", [None, timedelta(hours=2)], ids=["its own back-off", "a pause that was asked for"])
async def test_a_stored_retry_comes_though_the_clock_was_put_back_between_two_runs(
    path: Path, pause: timedelta | None
) -> None:
    attempts: list[datetime] = []

    def till(clock: VirtualClock) -> Tool:
        tool = Tool("till")

        @tool.on_invoke("pay.requested", attempts=4)
        async def pay(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
            attempts.append(clock.now())
            if request.attempt == 1:
                raise ConnectionError("away") if pause is None else Retry(after=pause)
            return {"paid": True}

        return tool

    early, late = VirtualClock(), VirtualClock()
    await late.advance(timedelta(days=40).total_seconds())
    async with open_platform(path, late) as platform:
        await platform.start(till(late))
        await platform.publish("action-requests", "pay.requested", {})
        await until(platform, lambda: is_put_off(platform, late))
    begun = early.now()
    async with open_platform(path, early) as platform:
        await platform.start(till(early))
        step = (pause or timedelta(seconds=1)).total_seconds() / 4
        await as_time_passes(early, lambda: is_idle(platform), step)
    assert len(attempts) == 2
    # The time that passes here is less than the forty days put back.
    assert (pause or timedelta()) <= attempts[1] - begun < timedelta(days=10)


async def is_put_off(platform: Platform, clock: VirtualClock) -> bool:
    due = await platform.services.store.queue.next_due(["till"], clock.now())
    return due not in (None, clock.now() + LEASE)


async def is_done(asked: asyncio.Future[Any]) -> bool:
    return asked.done()
