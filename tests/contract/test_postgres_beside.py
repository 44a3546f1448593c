"""Concurrent transactions of several processes: each is begun, by a connection of its own, before another has ended."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Generator
from contextlib import contextmanager
from threading import Barrier
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace
from postgres_server import Server
from store_kit import (
    LEASE,
    NOW,
    FreeHands,
    agent,
    claim_all,
    do,
    event,
    expectation,
    find,
    hold_delivery,
    in_hand,
    in_line,
    open_store,
    plan,
    reply,
    save_running_plan,
)

from soorma_ai.adapters.postgres import PostgresStore
from soorma_ai.adapters.postgres.connection import Connection
from soorma_ai.adapters.postgres.locks import LOCK
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.errors import LeaseLost, TransientError, VersionConflict
from soorma_ai.features.dead_letters.ports import LETTERS
from soorma_ai.features.upkeep.ports import UPKEEP
from soorma_ai.kernel.domain.effects import Ack, Expect, Publish, SavePlan, Spend
from soorma_ai.kernel.domain.expectations import ExpectationStatus
from soorma_ai.kernel.domain.limits import Charge, Reserved, Spent
from soorma_ai.kernel.ports import Delivery, Work
from soorma_ai.kernel.sql import connection as family
from soorma_ai.kernel.sql.tables import inbox, leases
from soorma_ai.kernel.sql.tenant_scope import HOUSE

CALL = Charge("plan-1", llm_calls=1, tokens=100, cost_usd=0.5)
TAKEN = "UPDATE inbox SET state = 'leased', ready_at = 9e9, fence = fence + 1, holder = 7"


@pytest.fixture
async def url(postgres: Server) -> str:
    return postgres.empty()


@pytest.fixture
async def stores(url: str) -> AsyncIterator[list[PostgresStore]]:
    async with (
        open_store(PostgresStore(url, ALL_FEATURES)) as one,
        open_store(PostgresStore(url, ALL_FEATURES)) as other,
    ):
        yield [one, other]


@contextmanager
def under_way(url: str, statement: str = LOCK) -> Generator[None]:
    """Run a statement in a transaction of another process, open until the end of the block."""
    with psycopg.connect(url) as other:
        other.execute("SELECT set_config('search_path', 'soorma', true), set_config('soorma.house', 'on', true)")
        other.execute(statement.encode())
        yield


async def start_calls(url: str, *asked: Coroutine[Any, Any, Any]) -> list[asyncio.Task[Any]]:
    """Start these calls, each once the one before waits for a lock."""
    tasks: list[asyncio.Task[Any]] = []
    for one in asked:
        tasks.append(asyncio.ensure_future(one))
        await asyncio.to_thread(_until_waiting, url, len(tasks))
    return tasks


def _until_waiting(url: str, count: int) -> None:
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with psycopg.connect(url, autocommit=True) as looking:
        while (looking.execute(query).fetchone() or (0,))[0] < count:
            pass


async def test_a_claim_waits_for_no_commit(stores: list[PostgresStore], url: str) -> None:
    await in_line(stores[0], "e-1", "e-2")
    with under_way(url):
        found = [await claim_all(store, limit=1) for store in stores]
    assert [[one.event.id for one in taken] for taken in found] == [["e-1"], ["e-2"]]


async def test_a_claim_leaves_deliveries_under_way_to_another(stores: list[PostgresStore], url: str) -> None:
    await in_line(stores[0], "e-1", "e-2")
    with under_way(url, f"{TAKEN} WHERE event_seq = 1"):
        assert [one.event.id for one in await claim_all(stores[0])] == ["e-2"]
    assert await claim_all(stores[1]) == []


class Meeting(Connection):
    """A connection: takes its seen deliveries once the other has seen them, too."""

    barrier = Barrier(2, timeout=60)

    def execute(self, sql: str, parameters: family.Parameters = (), /) -> family.Rows:
        if sql.startswith("UPDATE inbox SET state = 'leased'"):
            self.barrier.wait()
        return super().execute(sql, parameters)


class WithoutLocks(Meeting):
    taking = ""


def _claim(db: Connection) -> list[Delivery]:
    db.begin("BEGIN", db.act(HOUSE))
    found = inbox.claim(db, "worker", NOW, LEASE, 1)
    db.raw.execute("COMMIT")
    db.close()
    return found


@pytest.mark.parametrize(
    ("kind", "taken"), [(Meeting, [1, 2]), (WithoutLocks, [1, 1])], ids=["as it is", "unlocked rows"]
)
async def test_claims_at_the_same_moment_take_each_delivery_once(
    stores: list[PostgresStore], url: str, kind: type[Meeting], taken: list[int]
) -> None:
    """Without locks on rows a doubled claim shows here."""
    await in_line(stores[0], "e-1", "e-2")
    loop = asyncio.get_running_loop()
    found = await asyncio.gather(*(asyncio.to_thread(_claim, kind(url, loop)) for _ in range(2)))
    assert sorted(one.seq for each in found for one in each) == taken


async def test_a_claim_with_a_reserved_call_takes_its_turn(stores: list[PostgresStore], url: str) -> None:
    """A spend of that budget meanwhile is not led past its limits."""
    await do(stores[0], SavePlan(plan(next_call=CALL), None), Expect(expectation("q-1")))
    await stores[0].queue.arrive([reply("r-1", "q-1")], NOW)
    with under_way(url):
        (claiming,) = await start_calls(url, claim_all(stores[1], "planner"))
    assert [one.hold for one in await claiming] == [CALL]
    assert await stores[0].plans.read_spent("plan-1") == Spent(reserved=Reserved(1, 100, 0.5))


async def test_an_unreadable_event_is_set_aside_in_its_turn(stores: list[PostgresStore], url: str) -> None:
    await in_line(stores[0], "e-1", "e-2")
    with under_way(url, "UPDATE event SET rest = '{' WHERE id = 'e-1'"):
        pass
    with under_way(url):
        (claiming,) = await start_calls(url, claim_all(stores[1]))
    assert [one.event.id for one in await claiming] == ["e-2"]
    assert [letter.event.id for letter in await stores[0].part(LETTERS).dead_letters("default", 9)] == ["e-1"]


async def test_a_commit_waits_for_a_claim_that_takes_its_delivery_over(stores: list[PostgresStore], url: str) -> None:
    (held,) = await in_hand(stores[0], "e-1")
    with under_way(url, TAKEN):
        (committing,) = await start_calls(url, stores[0].queue.commit(Work(held, Ack(), (Publish(event("e-2")),)), NOW))
    with pytest.raises(LeaseLost):
        await committing
    assert await stores[0].events.event("e-2") is None


async def test_a_lease_under_renewal_is_not_claimed_by_another(stores: list[PostgresStore], url: str) -> None:
    await in_hand(stores[0], "e-1")
    with under_way(url, f"UPDATE inbox SET ready_at = {(NOW + 3 * LEASE).timestamp()}"):
        assert await claim_all(stores[1], now=NOW + LEASE) == []
    assert await claim_all(stores[1], now=NOW + LEASE) == []


async def test_a_delivery_of_a_dead_process_is_not_taken_from_its_claimant(
    stores: list[PostgresStore], url: str
) -> None:
    await in_hand(stores[0], "e-1")
    database = stores[0].database
    holder = database.writer.connection.holder
    with under_way(url, TAKEN):
        (voiding,) = await start_calls(url, database.write(lambda db: leases.void(db, [holder])))
    assert await voiding == 0
    assert await claim_all(stores[1], now=NOW + LEASE) == []


async def test_concurrent_replies_to_one_plan_all_arrive_under_one_lease(stores: list[PostgresStore], url: str) -> None:
    async with open_store(PostgresStore(url, ALL_FEATURES)) as third:
        await _meet_at_once([*stores, third], url)


async def _meet_at_once(stores: list[PostgresStore], url: str) -> None:
    hands = [FreeHands(planner=9) for _ in stores]
    await save_running_plan(stores[0], *(expectation(f"q-{n}", group_id="join") for n in range(3)))
    works = [Work(await hold_delivery(stores[0]), Ack(), (Publish(reply(f"r-{n}", f"q-{n}")),)) for n in range(3)]
    for store, free in zip(stores, hands, strict=True):
        store.deliver(free, LEASE)
    with under_way(url):
        commits = [store.queue.commit(work, NOW) for store, work in zip(stores, works, strict=True)]
        committing = await start_calls(url, *commits)
    await asyncio.gather(*committing)
    assert {(await find(stores[0], f"q-{n}")).status for n in range(3)} == {ExpectationStatus.MET}
    assert len([one for free in hands for one in free.held]) == 1
    assert await stores[0].queue.count_pending("planner", "plan-1") == 3


async def test_commits_at_once_do_not_overspend(stores: list[PostgresStore], url: str) -> None:
    await save_running_plan(stores[0])
    works = [Work(await hold_delivery(stores[0]), Ack(), (Spend("plan-1", 2, at_most=3),)) for _ in stores]
    with under_way(url):
        committing = await start_calls(
            url, *(one.queue.commit(work, NOW) for one, work in zip(stores, works, strict=True))
        )
    found = await asyncio.gather(*committing, return_exceptions=True)
    assert sorted(type(one) is VersionConflict for one in found) == [False, True]
    assert (await stores[0].plans.read_spent("plan-1")).actions == 2


async def test_a_commit_that_waits_for_a_registration_sees_it(stores: list[PostgresStore], url: str) -> None:
    one, other = stores
    other.deliver(FreeHands(), LEASE)
    with under_way(url):
        registering, sending = await start_calls(
            url,
            one.registry.register([agent("worker", "work.asked")], NOW),
            other.queue.send([event("e-1")], None, NOW),
        )
    await registering
    assert (await sending).agents == {"worker"}


async def test_a_user_under_erasure_gets_no_event_already_under_way(stores: list[PostgresStore], url: str) -> None:
    one, other = stores
    sent = event("e-1").model_copy(update={"user_id": "ann"})
    with under_way(url):
        forgetting, sending = await start_calls(
            url, one.part(UPKEEP).begin_forgetting("default", "ann", NOW), other.queue.send([sent], None, NOW)
        )
    await forgetting
    with pytest.raises(TransientError, match="'ann' is being forgotten"):
        await sending
    assert await one.events.event("e-1") is None


async def test_a_failing_commit_of_a_group_fails_alone(stores: list[PostgresStore], url: str) -> None:
    """No savepoint is made before one has failed."""
    await save_running_plan(stores[0])
    first, second, third = [await hold_delivery(stores[0]) for _ in range(3)]
    works = [
        Work(first, Ack(), (Publish(event("e-1", "nobody.asked")),)),
        Work(second, Ack(), (Publish(event("e-2", "nobody.asked")), Spend("plan-1", 1, at_most=0))),
        Work(third, Ack(), (Publish(event("e-3", "nobody.asked")),)),
        Work(replace(third, fence=9), Ack(), ()),
    ]
    with under_way(url):
        waiting = await start_calls(url, stores[0].queue.commit(works[0], NOW))
        waiting += [asyncio.ensure_future(stores[0].queue.commit(work, NOW)) for work in works[1:]]
    found = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(one) for one in found[1::2]] == [VersionConflict, LeaseLost]
    assert [await stores[0].events.event(f"e-{n}") is None for n in (1, 2, 3)] == [False, True, False]
    assert (await stores[0].plans.read_spent("plan-1")).actions == 0
