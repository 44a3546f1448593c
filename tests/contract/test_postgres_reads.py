"""A read of one statement goes to the server in one message, and answers as a transaction does."""

from collections.abc import AsyncIterator

import psycopg
import pytest
from postgres_server import LEAVE, Server
from store_kit import NOW, do, open_store, plan

from soorma_ai.adapters.postgres import PostgresStore
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.kernel.domain.effects import SavePlan
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.sql.connection import Reader
from soorma_ai.kernel.sql.tables import plans
from soorma_ai.kernel.sql.tenant_scope import TenantScope

ECHO = "SELECT CAST(? AS TEXT), 'a % and %s', ? + 1, CAST(? AS TEXT) IS NULL"
TEXTS = ["plain", "it's", "a\\b", "100 %s", "$1; COMMIT", "\U0001f989", "a\0b", ""]


@pytest.fixture
async def url(postgres: Server) -> str:
    return postgres.empty()


@pytest.fixture
async def store(url: str) -> AsyncIterator[PostgresStore]:
    async with open_store(PostgresStore(url, ALL_FEATURES)) as store:
        yield store


@pytest.mark.parametrize("text", TEXTS)
async def test_parameters_arrive_as_they_do_in_a_transaction(store: PostgresStore, text: str) -> None:
    for number in (-1, 2**40, 0.5, 2**70, 1e300, 7):

        def query(db: Reader, number: float = number) -> object:
            return db.execute(ECHO, (text, number, None)).fetchone()

        assert await store.database.read(query, is_single=True) == await store.database.read(query)


async def test_a_tenant_reads_its_own_rows_alone(store: PostgresStore) -> None:
    await do(store, SavePlan(plan("p-a", tenant="a"), None), SavePlan(plan("p-b", tenant="b"), None))

    async def found(tenant: str) -> list[bool]:
        reads = [lambda db, one=one: plans.plan_status(db, one) for one in ("p-a", "p-b")]
        return [await store.database.read(read, TenantScope(tenant), is_single=True) is not None for read in reads]

    assert (await found("a"), await found("b")) == ([True, False], [False, True])


async def test_a_query_of_more_statements_reads_rows_of_one_moment(store: PostgresStore) -> None:
    await do(store, SavePlan(plan(), None))

    def query(db: Reader) -> tuple[object, ...]:
        return tuple(db.execute("SELECT now(), pg_current_snapshot()::text").fetchone() for _ in range(3))

    first, *others = await store.database.read(query, is_single=True)
    assert others == [first, first]


async def test_a_read_after_the_loss_of_a_connection_is_answered(store: PostgresStore, url: str) -> None:
    await do(store, SavePlan(plan(), None))
    assert await store.plans.plan_status("plan-1") == (PlanStatus.RUNNING, None)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(LEAVE)
    assert await store.plans.plan_status("plan-1") == (PlanStatus.RUNNING, None)
    assert await store.plans.plan_status("plan-2") is None
    assert await store.registry.live_events("default", NOW) == ()
