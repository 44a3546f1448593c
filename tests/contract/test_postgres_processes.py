"""Several stores over one database, as several processes have them; and a server that is gone for a while."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import timedelta
from functools import partial
from typing import Any

import psycopg
import pytest
from postgres_server import OWNER, Server, as_role
from store_kit import (
    LEASE,
    NOW,
    FreeHands,
    agent,
    claim_all,
    do,
    event,
    expectation,
    hold_delivery,
    in_line,
    later,
    open_store,
    planner,
    reply,
    save_running_plan,
)

from soorma_ai import InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.adapters.clock import SystemClock
from soorma_ai.adapters.postgres import PostgresStore
from soorma_ai.adapters.postgres import store as stores
from soorma_ai.adapters.postgres.connection import Connection
from soorma_ai.adapters.postgres.locks import LOCK
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.errors import ConfigError, LeaseLost, StoreUnavailable
from soorma_ai.features.remote.ports import LEASES
from soorma_ai.features.upkeep.ports import UPKEEP
from soorma_ai.kernel.domain.effects import Ack, Publish
from soorma_ai.kernel.ports import Delivery, Work

Pair = tuple[PostgresStore, PostgresStore]


@pytest.fixture
async def url(postgres: Server) -> str:
    return postgres.empty()


@pytest.fixture
async def both(url: str) -> AsyncIterator[Pair]:
    async with (
        open_store(PostgresStore(url, ALL_FEATURES)) as one,
        open_store(PostgresStore(url, ALL_FEATURES)) as other,
    ):
        yield one, other


def cut(url: str) -> None:
    """End all connections to the database, like a restart of its server."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def until_a_transaction_waits(url: str) -> None:
    """Return when a transaction waits for a lock."""
    with psycopg.connect(url, autocommit=True) as looking:
        while looking.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone() is None:
            pass


async def test_a_registration_that_has_returned_is_seen_by_every_later_commit(both: Pair) -> None:
    one, other = both
    other.deliver(FreeHands(), LEASE)
    await other.queue.send([event("before")], None, NOW)
    await one.registry.register([agent("worker", "work.asked")], NOW)
    assert (await other.queue.send([event("after")], None, NOW)).agents == {"worker"}
    assert [found.event.id for found in await claim_all(one)] == ["after"]


async def test_the_registry_is_put_together_once_for_each_change_by_any_process(both: Pair) -> None:
    one, other = both
    await other.registry.register([planner("b", "goal.first")], NOW)
    first = await one.registry.all_events("default")
    assert await one.registry.all_events("default") is first
    await other.queue.send([event("unrelated")], None, NOW)
    with pytest.raises(LeaseLost):
        await other.queue.begin(Delivery(99, "b", "b", event("none"), 1, 1))
    assert await one.registry.all_events("default") is first
    # It is the first revision again, with other content.
    await other.registry.deregister("b", later(3600))
    await other.registry.register([planner("b", "goal.second")], later(3600))
    assert [known.definition.event_name for known in await one.registry.all_events("default")] == ["goal.second"]


async def test_parts_of_prompts_are_known_until_a_process_removes_some(both: Pair) -> None:
    one, other = both
    await do(one)
    known = one.database.writer.connection
    assert not known.has_part(("", "default", "digest"), 1.0)
    await do(one)
    await other.queue.send([event("unrelated")], None, NOW)
    await one.queue.send([event("another")], None, NOW)
    assert known.has_part(("", "default", "digest"), 2.0)
    await other.part(UPKEEP).begin_forgetting("default", "ann", NOW)
    await other.part(UPKEEP).forget(10)
    await one.queue.send([event("a third")], None, NOW)
    assert not known.has_part(("", "default", "digest"), 3.0)


class BusyLoop(asyncio.SelectorEventLoop):
    """An event loop: busy for ever, counts its calls."""

    count = 0

    def call_soon_threadsafe(self, *given: Any, **more: Any) -> Any:
        self.count += 1


def test_a_busy_loop_is_asked_for_a_hand_once_in_a_transaction() -> None:
    with closing(BusyLoop()) as loop:
        writing = Connection("postgresql://nobody/none", loop)
        writing.hands = FreeHands(worker=9)
        assert [writing.take_hand("worker") for _ in range(50)] == [False] * 50
        assert loop.count == 1


async def test_operations_during_the_wait_for_the_lock_share_its_commit(url: str) -> None:
    commits: list[str] = []
    store = PostgresStore(url, ALL_FEATURES)
    store.notify(lambda is_leaving: commits.append("commit"), lambda arrival: None)
    async with open_store(store):
        commits.clear()
        with psycopg.connect(url) as other:
            other.execute("SET search_path = soorma")
            other.execute(LOCK.encode())
            sent = [asyncio.ensure_future(store.queue.send([event("e-0")], None, NOW, keys=["alone"]))]
            await asyncio.to_thread(until_a_transaction_waits, url)
            sent += [asyncio.ensure_future(store.queue.send([event(f"e-{n}")], None, NOW)) for n in (1, 2)]
            await asyncio.sleep(0)
            assert commits == []
        await asyncio.gather(*sent)
        assert commits == ["commit"]


async def test_two_processes_never_hold_one_owner_at_once(both: Pair) -> None:
    await save_running_plan(both[0], *(expectation(f"q-{n}") for n in range(6)))
    await both[0].queue.arrive([reply(f"r-{n}", f"q-{n}") for n in range(6)], NOW)
    seen: list[str] = []
    for _ in range(6):
        found = await asyncio.gather(*(claim_all(store, "planner") for store in (*both, *both)))
        ((store, delivery),) = [
            (store, one) for store, taken in zip((*both, *both), found, strict=True) for one in taken
        ]
        seen.append(delivery.event.id)
        await store.queue.commit(Work(delivery, Ack(), ()), NOW)
    assert seen == [f"r-{n}" for n in range(6)]


async def test_two_concurrent_commits_for_one_owner_make_one_lease(both: Pair) -> None:
    one, other = both
    await save_running_plan(one, expectation("q-1"), expectation("q-2"))
    works = [Work(await hold_delivery(one), Ack(), (Publish(reply(f"r-{n}", f"q-{n}")),)) for n in (1, 2)]
    hands = FreeHands(planner=9), FreeHands(planner=9)
    for store, free in zip(both, hands, strict=True):
        store.deliver(free, LEASE)
    await asyncio.gather(one.queue.commit(works[0], NOW), other.queue.commit(works[1], NOW))
    assert len(hands[0].held + hands[1].held) == 1
    assert await one.queue.count_pending("planner", "plan-1") == 2


async def test_a_reader_by_cursor_misses_no_late_commit(both: Pair) -> None:
    wanted = {f"e-{store}-{n}" for store in (0, 1) for n in range(40)}
    sending = asyncio.gather(
        *(both[store].queue.send([event(f"e-{store}-{n}")], None, NOW) for n in range(40) for store in (0, 1))
    )
    seen: list[str] = []
    place, is_over = 0, False
    while not is_over:
        is_over = sending.done()
        page = await both[0].events.page("default", place, 100)
        place = page.after
        seen += [row.event.id for row in page.events]
    assert (set(seen), len(seen)) == (wanted, len(wanted))


async def test_a_process_started_beside_others_takes_nothing_from_them(url: str) -> None:
    async with open_store(PostgresStore(url, ALL_FEATURES)) as one:
        await in_line(one, "e-1")
        (held,) = await claim_all(one)
        async with open_store(PostgresStore(url, ALL_FEATURES)) as other:
            assert await claim_all(other) == []
            await other.registry.leave(["worker"])
            assert [row.live for row in await one.registry.agents(NOW)] == [True], "the other has an instance of it"
        await one.queue.commit(Work(held, Ack(), ()), NOW)


async def test_a_lost_connection_is_a_pause(both: Pair, url: str) -> None:
    one, other = both
    await in_line(one, "e-1")
    cut(url)
    await one.queue.arrive([event("e-2")], NOW)
    assert [found.event.id for found in await claim_all(other)] == ["e-1", "e-2"]
    assert await one.plans.plan("none") is None
    await do(one, Publish(event("e-3", "nobody.asked")))
    assert await other.events.event("e-3") is not None


async def test_a_process_started_beside_a_disconnected_one_takes_nothing_from_it(url: str) -> None:
    async with open_store(PostgresStore(url, ALL_FEATURES)) as one:
        await in_line(one, "e-1")
        (held,) = await claim_all(one)
        cut(url)
        async with open_store(PostgresStore(url, ALL_FEATURES)) as other:
            assert await claim_all(other) == []
            assert await one.queue.renew([held], NOW + 2 * LEASE) == [held]
            await one.queue.commit(Work(held, Ack(), ()), NOW)
            assert await claim_all(other, now=NOW + 2 * LEASE) == []


async def test_deliveries_of_a_process_not_seen_for_a_while_are_free(url: str) -> None:
    async with open_store(PostgresStore(url, ALL_FEATURES, absence=timedelta(milliseconds=50))) as living:
        freed = asyncio.Event()
        living.notify(lambda is_leaving: None, lambda arrival: freed.set())
        await in_line(living, "e-1", "e-2", "e-3")
        (lent,) = await living.part(LEASES).lend("worker", NOW, LEASE, 1)
        (held,) = await claim_all(living, limit=1)
        assert await claim_all(living, limit=1)
        with psycopg.connect(as_role(url, OWNER), autocommit=True) as connection:
            connection.execute("UPDATE soorma.inbox SET holder = 1 WHERE event_seq = 3")
        freed.clear()
        async with asyncio.timeout(20):
            await freed.wait()
        (again,) = await claim_all(living)
        assert (again.event.id, again.attempt) == ("e-3", 2)
        assert await living.queue.renew([lent, held], NOW + LEASE) == [lent, held]


@pytest.mark.parametrize("crashes", [0, 1])
async def test_deliveries_of_a_dead_process_are_handled_though_nothing_else_happens(
    url: str, crashes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "PostgresStore", partial(PostgresStore, absence=timedelta(milliseconds=50)))
    tool, handled = Tool("worker"), asyncio.Event()

    @tool.on_invoke("work.asked")
    async def work(request: InvocationContext, context: PlatformContext) -> None:
        handled.set()

    async with open_store(PostgresStore(url, ALL_FEATURES)) as dead:
        await in_line(dead, "e-1")
        assert await dead.queue.claim("worker", SystemClock().now(), timedelta(hours=1), 1)
        async with Platform(url) as living:
            await living.start(tool)
            with psycopg.connect(as_role(url, OWNER), autocommit=True) as connection:
                connection.execute("UPDATE soorma.inbox SET holder = 1, crashes = %s", (crashes,))
            async with asyncio.timeout(10):
                await handled.wait()


async def test_a_delivery_of_a_dead_process_is_claimed_again_after_its_lease(url: str) -> None:
    async with (
        open_store(PostgresStore(url, ALL_FEATURES)) as one,
        open_store(PostgresStore(url, ALL_FEATURES)) as other,
    ):
        await in_line(one, "e-1")
        assert await claim_all(one)
        (again,) = await claim_all(other, now=NOW + LEASE)
        assert (again.event.id, again.attempt) == ("e-1", 2)


async def test_two_platforms_share_the_work_of_one_database(url: str) -> None:
    tool, handled = Tool("parts"), list[str]()

    @tool.on_invoke("part.requested")
    async def answer(request: InvocationContext, context: PlatformContext) -> dict[str, object]:
        handled.append(str(request.data["n"]))
        return {"n": request.data["n"]}

    async with Platform(url) as working, Platform(url) as asking:
        await working.start(tool)
        found = await asyncio.gather(*(asking.request("part.requested", {"n": n}, timeout=20) for n in range(3)))
    assert [reply["result"] for reply in found] == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert sorted(handled) == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("postgresql://postgres@127.0.0.1:1/none?connect_timeout=1", "cannot be used now"),
        ("postgresql://ann:s3cret@127.0.0.1:1/none?nonsense=1", "none of PostgreSQL"),
        ("postgresql://ann:s3cret/2@127.0.0.1/none", "none of PostgreSQL"),
    ],
    ids=["nobody is there", "an option that is none", "a password that is not encoded"],
)
async def test_an_unusable_server_is_refused_with_the_reason(given: str, told: str) -> None:
    with pytest.raises((ConfigError, StoreUnavailable), match=told) as refused:
        await PostgresStore(given, ALL_FEATURES).open(NOW)
    assert "s3cret" not in str(refused.value)


async def test_a_newer_database_is_refused(url: str) -> None:
    with psycopg.connect(as_role(url, OWNER), autocommit=True) as connection:
        connection.execute("UPDATE soorma.meta SET version = version + 1")
    try:
        with pytest.raises(ConfigError, match="written by a newer version"):
            await PostgresStore(url, ALL_FEATURES).open(NOW)
    finally:
        with psycopg.connect(as_role(url, OWNER), autocommit=True) as connection:
            connection.execute("UPDATE soorma.meta SET version = version - 1")
