"""A handler may be stopped, lose its lease, or end too late: then none of its effects happens."""

import asyncio
import threading
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from kit import (
    PATIENCE,
    happens,
    is_idle,
    kill_platform,
    open_platform,
    order,
    pass_time,
    payments,
    planner,
    published_events,
    running_platform,
    stock,
    until,
    wait_for_end,
)

from soorma_ai import InvocationContext, Limits, Platform, PlatformContext, Tool
from soorma_ai.adapters.local_bus import LocalBus
from soorma_ai.adapters.sqlite.database import Database
from soorma_ai.adapters.sqlite.store import SqliteStore
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.errors import StoreUnavailable
from soorma_ai.kernel.ports import Delivery, ModelAnswer, ModelQuestion, StoredEvent
from soorma_ai.kernel.rules.waits.wakeups import CANCEL_REQUESTED
from soorma_ai.kernel.runtime.handling.handler_task import LEASE
from soorma_ai.kernel.sql.parts import SqlQueue
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import ScriptedReasoner, publish

RESERVE = publish("inventory.reserve.requested", order_id="A")


class Handler:
    """A tool's handler: works until `go_on` is set, and records its end."""

    def __init__(self, event_type: str = "inventory.reserve.requested") -> None:
        self.began, self.go_on, self.stopped = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.runs = 0
        self.tool = Tool("stock")
        self.tool.on_invoke(event_type)(self.handle)

    async def handle(self, request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        self.runs += 1
        self.began.set()
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.stopped.set()
            raise
        return {"run": self.runs}


async def at_work(platform: Platform) -> tuple[Handler, Any]:
    """A begun handler, and its open request."""
    work = Handler("work.requested")
    await platform.start(work.tool)
    asking = asyncio.ensure_future(platform.request("work.requested", {}, timeout=36000))
    await happens(work.began)
    return work, asking


class SlowReasoner(ScriptedReasoner):
    """Answers by its script, and then no more."""

    def __init__(self, *script: Any) -> None:
        super().__init__(script)
        self.answers = len(script)
        self.slow = asyncio.Event()
        self.calls = 0

    async def ask(self, question: ModelQuestion) -> ModelAnswer:
        self.calls += 1
        if self.calls > self.answers:
            self.slow.set()
            await asyncio.Event().wait()
        return await super().ask(question)


@pytest.mark.parametrize(
    ("script", "is_cancelled"),
    [([], True), ([RESERVE], True), ([RESERVE], False)],
    ids=["the first, cancelled", "a later one, cancelled", "a later one, at its deadline"],
)
async def test_the_end_of_a_plan_ends_the_call_of_its_model(
    platform: Platform, clock: VirtualClock, script: list[Any], is_cancelled: bool
) -> None:
    reasoner = SlowReasoner(*script)
    # Over before the handler's own time is.
    minds = planner([], limits=Limits(deadline=timedelta(minutes=30)))
    minds.reasoner = reasoner
    plan = await order(platform, minds, stock())
    await happens(reasoner.slow)
    if is_cancelled:
        assert await platform.cancel(plan.plan_id, "no longer wanted")
    else:
        await clock.advance(timedelta(minutes=30))
    found = await wait_for_end(platform, plan.plan_id)
    status, reason = ("cancelled", "no longer wanted") if is_cancelled else ("failed", "limit_exceeded: deadline")
    assert (found.status, str(found.reason).startswith(reason), reasoner.calls) == (status, True, len(script) + 1)
    calls = found.usage.llm_calls + found.usage.reserved.llm_calls
    assert calls == len(script) + 1, "the call was charged before it was sent"


async def test_cancelling_a_plan_stops_its_running_handler(platform: Platform) -> None:
    work = Handler()
    plan = await order(platform, planner([RESERVE]), work.tool)
    await happens(work.began)
    await platform.cancel(plan.plan_id)
    await happens(work.stopped)
    found = await wait_for_end(platform, plan.plan_id)
    assert (found.status, work.runs) == ("cancelled", 1)

    async def answered() -> list[Any]:
        replies = await published_events(platform, topic="action-results")
        return [event.data["error"] for event in replies if event.source == "stock"]

    (error,) = await until(platform, answered)
    assert error["code"] == "cancelled"


class SlowToRelease(SqlQueue):
    """A queue with a pause between the end of a handling and the release of its delivery."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.releasing, self.go_on = asyncio.Event(), asyncio.Event()

    async def release(self, deliveries: Sequence[Delivery]) -> None:
        self.releasing.set()
        await self.go_on.wait()
        await super().release(deliveries)


async def test_a_cancellation_received_twice_releases_the_delivery_in_hand(path: Path, clock: VirtualClock) -> None:
    work, store, bus = Handler(), SqliteStore(path, ALL_FEATURES), LocalBus()
    slow = store.queue = SlowToRelease(store.database)
    async with Platform(store=store, bus=bus, clock=clock) as platform:
        plan = await order(platform, planner([RESERVE]), work.tool)
        await happens(work.began)
        await platform.cancel(plan.plan_id)
        await happens(slow.releasing)
        told = await published_events(platform, topic="plan-events")
        await bus.publish([StoredEvent(0, one) for one in told if one.type == CANCEL_REQUESTED])
        slow.go_on.set()
        await wait_for_end(platform, plan.plan_id)
        await until(platform, lambda: is_idle(platform))


async def test_a_long_handler_keeps_its_lease(platform: Platform, clock: VirtualClock) -> None:
    work, asking = await at_work(platform)
    await pass_time(platform, clock, 10 * LEASE)
    work.go_on.set()
    assert (await asking)["result"] == {"run": 1}


async def steal(store: SqliteStore, agent: str, clock: VirtualClock) -> Delivery:
    """Let another owner take a held delivery."""
    (stolen,) = await store.queue.claim(agent, clock.now() + 2 * LEASE, LEASE, 1)
    return stolen


@pytest.mark.parametrize("is_stopped", [True, False], ids=["it is stopped", "it goes on"])
async def test_a_handler_with_a_lost_lease_commits_nothing(path: Path, clock: VirtualClock, is_stopped: bool) -> None:
    store = SqliteStore(path, ALL_FEATURES)
    async with Platform(store=store, clock=clock) as platform:
        work, asking = await at_work(platform)
        await steal(store, "stock", clock)
        if is_stopped:
            await clock.advance(LEASE.total_seconds() / 3)
            await happens(work.stopped)
        else:
            work.go_on.set()
            await until(platform, lambda: _nothing_in_hand(platform))
        assert await published_events(platform, topic="action-results") == []
        asking.cancel()


async def _nothing_in_hand(platform: Platform) -> bool:
    await platform.services.store.queue.backlog(1)
    platform.services.signals.signal_commit(is_leaving=True)
    await asyncio.sleep(0)
    return not [task for task in asyncio.all_tasks() if task.get_name() == "stock:work.requested"]


async def test_an_orderly_end_is_neither_an_attempt_nor_a_crash(path: Path, clock: VirtualClock) -> None:
    for _ in range(8):
        work = Handler("work.requested")
        async with running_platform(path, clock, work.tool) as platform:
            if not await platform.services.store.queue.backlog(1):
                await platform.publish("action-requests", "work.requested", {})
            await happens(work.began)
            for task in asyncio.all_tasks():
                if task.get_name() == "stock:work.requested":
                    task.cancel()
            await happens(work.stopped)
    work = Handler("work.requested")
    work.go_on.set()
    async with running_platform(path, clock, work.tool) as platform:
        await until(platform, lambda: published_events(platform, topic="action-results"))
        (answer,) = await published_events(platform, topic="action-results")
        assert answer.data["success"] is True


async def test_a_handler_in_a_thread_keeps_its_delivery_until_it_ends(platform: Platform) -> None:
    began, go_on, runs = threading.Event(), threading.Event(), 0
    tool = Tool("stock")

    @tool.on_invoke("inventory.reserve.requested")
    def reserve(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        nonlocal runs
        runs += 1
        began.set()
        go_on.wait(PATIENCE)
        return {}

    plan = await order(platform, planner([RESERVE]), tool)
    await asyncio.to_thread(began.wait, PATIENCE)
    await platform.cancel(plan.plan_id)
    await wait_for_end(platform, plan.plan_id)
    assert await platform.services.store.queue.backlog(1) == 1, "its delivery is not given back while it works"
    go_on.set()
    await until(platform, lambda: is_idle(platform))
    assert runs == 1
    (answer,) = [e for e in await published_events(platform, topic="action-results") if e.source == "stock"]
    assert "whether it was done is not known" in str(answer.data["error"])


async def test_a_stepping_clock_does_not_hand_a_delivery_over_twice(platform: Platform, clock: VirtualClock) -> None:
    work, asking = await at_work(platform)
    store: Any = platform.services.store
    ((held,),) = await store.database.write(
        lambda db: db.execute("SELECT seq FROM inbox WHERE state = 'leased'").fetchall()
    )
    taken = await store.queue.claim("stock", clock.now() + 3 * LEASE, LEASE, 9, [held])
    assert taken == []
    work.go_on.set()
    assert (await asking)["result"] == {"run": 1}


async def test_a_cancellation_raised_by_a_handler_is_its_failure(platform: Platform) -> None:
    tool, calls = Tool("fragile"), 0

    @tool.on_invoke("work.requested")
    async def work(request: InvocationContext, context: PlatformContext) -> None:
        nonlocal calls
        calls += 1
        inner = asyncio.ensure_future(asyncio.sleep(PATIENCE))
        inner.cancel()
        await inner

    await platform.start(tool)
    reply: Any = await platform.request("work.requested", {}, timeout=PATIENCE)
    assert (reply["error"]["code"], calls) == ("handler_error", 1)


async def test_an_interrupted_poison_candidate_does_not_end_the_search_for_others(
    path: Path, clock: VirtualClock
) -> None:
    async def stuck(platform: Platform, work: Handler) -> None:
        await platform.__aenter__()
        await platform.start(work.tool)
        await happens(work.began)

    for life in range(2):
        platform, work = open_platform(path, clock), Handler("work.requested")
        if life == 0:
            async with open_platform(path, clock) as first:
                await first.services.store.registry.register([work.tool.registration()], clock.now())
                for n in range(3):
                    await first.publish("action-requests", "work.requested", {"n": n})
                rows = await first.services.store.queue.unsent(9)
                await first.services.store.queue.arrive([row.event for row in rows], clock.now())
        await stuck(platform, work)
        await has_run(work, 3)
        await kill_platform(platform)
    platform, work = open_platform(path, clock), Handler("work.requested")
    await stuck(platform, work)
    (interrupted,) = [task for task in asyncio.all_tasks() if task.get_name() == "stock:work.requested"]
    interrupted.cancel()
    work.go_on.set()
    await until(platform, lambda: is_idle(platform))
    await platform.__aexit__(None, None, None)


async def has_run(work: Handler, times: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while work.runs < times:
            work.began.clear()
            await work.began.wait()


async def test_poison_candidates_are_found_whenever_their_agent_comes(path: Path, clock: VirtualClock) -> None:
    for _ in range(2):
        platform, work = open_platform(path, clock), Handler("work.requested")
        await platform.__aenter__()
        await platform.start(work.tool)
        if not await platform.services.store.queue.backlog(1):
            await platform.publish("action-requests", "work.requested", {})
        await happens(work.began)
        await kill_platform(platform)
    async with open_platform(path, clock) as platform:
        await platform.start(payments())
        work = Handler("work.requested")
        work.go_on.set()
        await platform.start(work.tool)
        await until(platform, lambda: is_idle(platform))
        assert work.runs == 1


class OutOfOrder(SqlQueue):
    """A queue with a claim that fails for a full disk while its agent ends."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.claiming, self.go_on = asyncio.Event(), asyncio.Event()

    async def claim_poison_candidate(self, *given: Any, **more: Any) -> Delivery | None:
        self.claiming.set()
        await self.go_on.wait()
        raise StoreUnavailable("the disk is full")


async def test_a_claim_failing_at_the_end_of_its_process_does_not_block_the_end(
    path: Path, clock: VirtualClock
) -> None:
    store = SqliteStore(path, ALL_FEATURES)
    broken = store.queue = OutOfOrder(store.database)
    platform = Platform(store=store, clock=clock)
    await platform.__aenter__()
    await platform.start(Handler("work.requested").tool)
    await happens(broken.claiming)
    closing = asyncio.ensure_future(platform.__aexit__(None, None, None))
    for _ in range(20):
        await asyncio.sleep(0)
    broken.go_on.set()
    await asyncio.wait_for(closing, PATIENCE)


class SlowToClaim(SqlQueue):
    """A queue that returns claimed deliveries only once `go_on` is set."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.claimed, self.go_on = asyncio.Event(), asyncio.Event()

    async def claim(self, *given: Any, **more: Any) -> list[Delivery]:
        taken = await super().claim(*given, **more)
        if taken:
            self.claimed.set()
            await self.go_on.wait()
        return taken


@pytest.mark.parametrize("is_told_first", [True, False])
async def test_an_end_in_the_middle_of_a_claim_leaves_no_lease(
    path: Path, clock: VirtualClock, is_told_first: bool
) -> None:
    """The claim returns so many turns of the loop before the end, or after it."""
    for n in range(12):
        work, store = Handler("work.requested"), SqliteStore(path, ALL_FEATURES)
        work.go_on.set()
        slow = store.queue = SlowToClaim(store.database)
        platform = Platform(store=store, clock=clock)
        await platform.__aenter__()
        await platform.start(work.tool)
        await platform.publish("action-requests", "work.requested", {"n": n})
        await happens(slow.claimed)
        closing = asyncio.ensure_future(platform.__aexit__(None, None, None)) if is_told_first else None
        if not is_told_first:
            slow.go_on.set()
        for _ in range(n):
            await asyncio.sleep(0)
        slow.go_on.set()
        await (closing or platform.__aexit__(None, None, None))
    async with open_platform(path, clock) as platform:
        rows: Any = await platform.services.store.database.write(  # type: ignore[attr-defined]
            lambda db: db.execute("SELECT count(*) FROM inbox WHERE crashes > 0").fetchone()
        )
        assert rows == (0,)
