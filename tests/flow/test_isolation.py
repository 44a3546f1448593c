"""Handlers are isolated: a fault of one harms no other, and the platform closes."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from kit import PATIENCE, as_time_passes, happens, is_idle, open_platform, until, wait_for_requests

from soorma_ai import Agent, InvocationContext, Platform, PlatformContext, ResultContext, TaskContext, Tool, Worker
from soorma_ai.adapters.sqlite.store import SqliteStore
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.errors import ConfigError, Fatal, LocalProtocolError, TransientError
from soorma_ai.kernel.ports import Delivery
from soorma_ai.kernel.runtime.handling.handler_task import LEASE
from soorma_ai.kernel.runtime.loops import supervisor
from soorma_ai.kernel.sql.parts import SqlQueue
from soorma_ai.testing.clock import VirtualClock

LIMIT = timedelta(seconds=30)


class Own(BaseException):
    """An exception of the handler alone."""


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


def good() -> Tool:
    tool = Tool("good")
    tool.on_invoke("good.requested")(lambda request, context: "good")
    return tool


async def works(platform: Platform) -> bool:
    """Tell whether another agent is served."""
    return (await platform.request("good.requested", {}, timeout=PATIENCE))["result"] == "good"


def bad(handler: Callable[..., Any], **options: Any) -> Tool:
    tool = Tool("bad", handler_timeout=LIMIT)
    tool.on_invoke("bad.requested", **options)(handler)
    return tool


def raises(error: BaseException) -> Callable[..., Any]:
    async def handle(request: InvocationContext, context: PlatformContext) -> None:
        raise error

    return handle


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KeyboardInterrupt(), "RuntimeError: the handler let out KeyboardInterrupt"),
        (SystemExit(3), "RuntimeError: the handler let out SystemExit: 3"),
        (GeneratorExit(), "RuntimeError: the handler let out GeneratorExit"),
        (Own("boo"), "RuntimeError: the handler let out Own: boo"),
        (BaseExceptionGroup("several", [Own("boo")]), "RuntimeError: the handler let out BaseExceptionGroup"),
        (Mute(), "Mute: (it has no words that can be printed)"),
        (ValueError("\ud800\0"), "ValueError: \\ud800\\x00"),
        (ValueError("x" * 10**7), f"ValueError: {'x' * 9000}"),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("is_plain", [False, True], ids=["async", "plain"])
async def test_any_exception_of_a_handler_fails_only_its_own_delivery(
    platform: Platform, error: BaseException, said: str, is_plain: bool
) -> None:
    def plain(request: InvocationContext, context: PlatformContext) -> None:
        raise error

    await platform.start(good(), bad(plain if is_plain else raises(error)))
    reply: Any = await platform.request("bad.requested", {}, timeout=PATIENCE)
    assert reply["error"]["code"] == "handler_error"
    assert reply["error"]["message"].startswith(said)
    assert [letter.attempts for letter in await platform.dead_letters()] == [1]
    assert await works(platform)


async def test_only_a_fatal_error_is_raised_at_the_waiting_caller(platform: Platform) -> None:
    class Missed(Fatal): ...

    await platform.start(bad(raises(BaseExceptionGroup("several", [Own(), Missed("no recording")]))))
    with pytest.raises(Missed, match="no recording"):
        await platform.request("bad.requested", {}, timeout=PATIENCE)


async def cancels_itself(request: InvocationContext, context: PlatformContext) -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)


async def cancels_itself_and_returns(request: InvocationContext, context: PlatformContext) -> str:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    return "done"


async def test_a_handler_that_cancels_itself_has_had_an_attempt(platform: Platform, clock: VirtualClock) -> None:
    await platform.start(good(), bad(cancels_itself))
    asking = asyncio.ensure_future(platform.request("bad.requested", {}, timeout=3600))
    letters = await as_time_passes(clock, platform.dead_letters)
    assert [letter.attempts for letter in letters] == [5]
    reply: Any = await asking
    assert reply["error"]["message"] == "the handler cancelled its own task (tried 5 times; it may work later)"
    assert await works(platform)


async def test_a_cancellation_left_behind_by_a_handler_reaches_no_other_task(platform: Platform) -> None:
    await platform.start(bad(cancels_itself_and_returns))
    assert (await platform.request("bad.requested", {}, timeout=PATIENCE))["result"] == "done"


async def test_a_time_limit_inside_of_a_handler_stays_inside(platform: Platform) -> None:
    async def handle(request: InvocationContext, context: PlatformContext) -> str:
        with suppress(TimeoutError):
            async with asyncio.timeout(0):
                await asyncio.sleep(PATIENCE)
        return "in time"

    await platform.start(bad(handle))
    assert (await platform.request("bad.requested", {}, timeout=PATIENCE))["result"] == "in time"


async def test_a_handler_that_cancels_every_task_ends_nothing_of_the_platform(
    platform: Platform, clock: VirtualClock
) -> None:
    others = asyncio.Event()
    slow = Tool("slow")

    @slow.on_invoke("slow.requested")
    async def wait(request: InvocationContext, context: PlatformContext) -> int:
        await others.wait()
        return request.attempt

    main = asyncio.current_task()

    async def handle(request: InvocationContext, context: PlatformContext) -> None:
        for task in asyncio.all_tasks() - {main}:
            task.cancel()
        await asyncio.sleep(0)

    await platform.start(good(), slow, bad(handle))
    await platform.publish("action-requests", "slow.requested", {}, idempotency_key="k")
    await platform.publish("action-requests", "bad.requested", {})
    await as_time_passes(clock, platform.dead_letters)
    serving = asyncio.create_task(platform.request("good.requested", {}, timeout=3600))
    async with asyncio.timeout(2 * PATIENCE):
        # Over a broker its client has ended as well: untaken messages are sent again a moment after it is back.
        while not (await asyncio.wait({serving}, timeout=0.1))[0]:
            await clock.advance(0.5)
    assert (await serving)["result"] == "good"
    others.set()
    await until(platform, lambda: is_idle(platform))
    replies = await platform.services.store.events.events(limit=1000)
    assert [row.event.data["result"] for row in replies if row.event.source == "slow"] == [1]


class Swallows:
    """A handler that goes on when it is cancelled."""

    def __init__(self, *ignored: type[BaseException]) -> None:
        self.runs = 0
        self.began = asyncio.Event()
        self._ignored = ignored

    async def __call__(self, request: InvocationContext, context: PlatformContext) -> None:
        self.runs += 1
        self.began.set()
        while True:
            with suppress(*self._ignored):
                await asyncio.sleep(PATIENCE)

    async def handle(self, request: InvocationContext, context: PlatformContext) -> None:
        await self(request, context)


async def test_a_handler_past_its_time_limit_has_had_an_attempt(
    platform: Platform, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    began = asyncio.Event()

    async def never(request: InvocationContext, context: PlatformContext) -> None:
        began.set()
        await asyncio.Event().wait()

    await platform.start(good(), bad(never, attempts=2))
    asking = asyncio.ensure_future(platform.request("bad.requested", {}, timeout=3600))
    await happens(began)
    await clock.advance(LIMIT - timedelta(seconds=1))
    assert await works(platform)
    assert "delivery_failed" not in caplog.text
    letters = await as_time_passes(clock, platform.dead_letters)
    assert [letter.attempts for letter in letters] == [2]
    reply: Any = await asking
    assert reply["error"] == {
        "code": "handler_timeout",
        "message": "the handler did not end within 0:00:30 (tried 2 times; it may work later)",
    }
    assert "handler_left_behind" not in caplog.text


@pytest.mark.parametrize("ignored", [[asyncio.CancelledError], [BaseException]], ids=["cancellation", "everything"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_handler_that_swallows_cancellation_is_left_behind_at_its_limit(
    platform: Platform, clock: VirtualClock, caplog: pytest.LogCaptureFixture, ignored: list[type[BaseException]]
) -> None:
    stubborn = Swallows(*ignored)
    await platform.start(good(), bad(stubborn.handle, attempts=2))
    asking = asyncio.ensure_future(platform.request("bad.requested", {}, timeout=3600))
    letters = await as_time_passes(clock, platform.dead_letters)
    assert ([letter.attempts for letter in letters], stubborn.runs) == ([2], 2)
    assert (await asking)["error"]["code"] == "handler_timeout"  # type: ignore[index,call-overload]
    assert caplog.text.count("handler_left_behind agent=bad event_type=bad.requested") == 2
    assert await works(platform)


@pytest.fixture
def little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A platform that closes waits for no handler."""
    monkeypatch.setattr(supervisor, "DRAIN_SECONDS", 0.0)
    monkeypatch.setattr(supervisor, "GRACE_SECONDS", 0.01)


@asynccontextmanager
async def closing_platform(path: Path, clock: VirtualClock, *agents: Agent) -> AsyncIterator[Platform]:
    """A platform with a request for `bad`; it must close in time."""
    platform = open_platform(path, clock)
    await platform.__aenter__()
    await platform.start(*agents)
    await platform.ask("bad.requested", {}, idempotency_key="k")
    yield platform
    async with asyncio.timeout(PATIENCE):
        await platform.__aexit__(None, None, None)


@pytest.mark.parametrize("ignored", [[asyncio.CancelledError], [BaseException]], ids=["cancellation", "everything"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("little_patience")
async def test_a_platform_closes_though_a_handler_swallows_its_cancellation(
    path: Path, clock: VirtualClock, caplog: pytest.LogCaptureFixture, ignored: list[type[BaseException]]
) -> None:
    stubborn = Swallows(*ignored)
    async with closing_platform(path, clock, bad(stubborn.handle)):
        await happens(stubborn.began)
    assert "handler_left_behind agent=bad event_type=bad.requested" in caplog.text
    assert asyncio.all_tasks() == {asyncio.current_task()}, "an event loop that ends would wait for it"
    async with open_platform(path, clock) as platform:
        assert await crashes(platform) == 0
        await platform.start(bad(lambda request, context: request.attempt))
        assert (await platform.request("bad.requested", {}, timeout=PATIENCE, idempotency_key="k"))["result"] == 1


async def crashes(platform: Platform) -> Any:
    store: Any = platform.services.store
    return (await store.database.write(lambda db: db.execute("SELECT sum(crashes) FROM inbox").fetchone()))[0]


@pytest.mark.usefixtures("little_patience")
async def test_a_platform_closes_though_a_plain_handler_and_a_hook_never_return(
    path: Path, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    began, go_on = threading.Event(), threading.Event()

    def handle(request: InvocationContext, context: PlatformContext) -> None:
        began.set()
        go_on.wait(PATIENCE)

    tool = bad(handle)
    tool.on_shutdown(lambda: go_on.wait(PATIENCE))
    async with closing_platform(path, clock, tool):
        await asyncio.to_thread(began.wait, PATIENCE)
    assert "handler_left_behind agent=bad" in caplog.text
    assert "hook_left_behind agent=bad" in caplog.text
    go_on.set()


async def test_plain_handlers_that_never_return_take_no_thread_from_another_agent(platform: Platform) -> None:
    began, go_on = threading.Semaphore(0), threading.Event()

    def handle(request: InvocationContext, context: PlatformContext) -> None:
        began.release()
        go_on.wait(PATIENCE)

    await platform.start(good(), bad(handle))
    for n in range(70):
        await platform.publish("action-requests", "bad.requested", {"n": n})
    for _ in range(64):
        assert await asyncio.to_thread(began.acquire, timeout=PATIENCE)
    assert await works(platform)
    go_on.set()


async def test_a_context_ends_with_its_handler(platform: Platform) -> None:
    worker, late, left = Worker("hasty"), asyncio.Event(), list[asyncio.Task[None]]()

    async def records_late(task: TaskContext, context: PlatformContext) -> None:
        await late.wait()
        for call in (
            context.bus.announce("late.fact", {}),
            context.bus.request("late.requested", {}, "late.done"),
            context.memory.create_session("late"),
            task.delegate("late.requested", {}, "late.done"),
            task.report_progress(0.5),
            task.complete({}),
        ):
            with pytest.raises(LocalProtocolError, match="has ended, and its context with it"):
                await call
        await platform.publish("business-facts", "late.fact", {"from": "outside"})

    @worker.on_task("hasty.requested")
    async def handle(task: TaskContext, context: PlatformContext) -> None:
        left.append(asyncio.create_task(records_late(task, context)))
        await task.delegate("good.requested", {}, "good.done")

    @worker.on_result("good.done")
    async def go_on(result: ResultContext, context: PlatformContext) -> None:
        await (await result.restore_task()).complete({})

    await platform.start(good(), worker)
    await platform.publish("action-requests", "hasty.requested", {})
    await wait_for_requests(platform, "good.requested")
    late.set()
    await asyncio.wait_for(left[0], PATIENCE)


async def test_of_two_starts_at_once_of_one_name_the_second_is_refused(platform: Platform) -> None:
    first, second = good(), good()
    told = await asyncio.gather(platform.start(first), platform.start(second), return_exceptions=True)
    assert told[0] is None
    assert isinstance(told[1], ConfigError) and "two agents are called good" in str(told[1])
    assert await works(platform)


async def test_a_name_is_free_again_when_its_start_failed(platform: Platform) -> None:
    broken = good()
    broken.on_startup(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        await platform.start(broken)
    await platform.start(good())
    assert await works(platform)


class CommitsFirst(SqlQueue):
    """A queue that commits a delivery while its lease is being renewed."""

    def __init__(self, store: SqliteStore) -> None:
        super().__init__(store.database)
        self.renewing, self.committed = asyncio.Event(), asyncio.Event()

    async def renew(self, deliveries: Sequence[Delivery], until: Any) -> list[Delivery]:
        self.renewing.set()
        await self.committed.wait()
        return await super().renew(deliveries, until)

    async def commit(self, work: Any, now: Any) -> None:
        await super().commit(work, now)
        self.committed.set()


async def test_a_commit_during_the_renewal_of_leases_is_no_lost_lease(
    path: Path, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    store = SqliteStore(path, ALL_FEATURES)
    queue = store.queue = CommitsFirst(store)

    began = asyncio.Event()

    async def handle(request: InvocationContext, context: PlatformContext) -> None:
        began.set()
        await queue.renewing.wait()

    async with Platform(store=store, clock=clock) as platform:
        await platform.start(bad(handle))
        asking = asyncio.ensure_future(platform.request("bad.requested", {}, timeout=3600))
        await happens(began)
        await clock.advance(LEASE / 3)
        assert (await asking)["success"]
        await store.queue.renew([], clock.now())
        await asyncio.sleep(0)
    assert "leases_lost" not in caplog.text


class LostError(Exception): ...


@pytest.mark.parametrize("error", [ConnectionResetError("gone"), TransientError("busy"), LostError("gone")])
async def test_the_attempts_and_retry_on_of_a_handler_count(
    platform: Platform, clock: VirtualClock, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    await platform.start(bad(raises(error), retry_on=LostError, attempts=7))
    asking = asyncio.ensure_future(platform.request("bad.requested", {}, timeout=3600))
    letters = await as_time_passes(clock, platform.dead_letters)
    assert [letter.attempts for letter in letters] == [7]
    reply: Any = await asking
    assert reply["error"]["code"] == "unavailable"
    assert "tried 7 times; it may work later" in reply["error"]["message"]
    failed = [record for record in caplog.records if record.message.startswith("delivery_failed")]
    assert len(failed) == 7 and not any(record.exc_info for record in failed[:-1]), "a line while it is tried again"


async def test_a_handler_of_results_has_attempts_of_its_own(platform: Platform, clock: VirtualClock) -> None:
    worker, tried = Worker("clerk"), list[int]()

    @worker.on_task("bad.requested", attempts=1)
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        await task.delegate("good.requested", {}, "good.done")

    @worker.on_result("good.done", attempts=7)
    async def go_on(result: ResultContext, context: PlatformContext) -> None:
        tried.append(context.attempt)
        raise TimeoutError("slow")

    await platform.start(good(), worker)
    asking = asyncio.ensure_future(platform.request("bad.requested", {}, timeout=3600))
    await as_time_passes(clock, platform.dead_letters)
    reply: Any = await asking
    assert reply["error"]["message"] == "TimeoutError: slow (tried 7 times; it may work later)"
    assert tried == [1, 2, 3, 4, 5, 6, 7]
