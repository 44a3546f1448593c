"""Row-level security: the rows seen by raw clients with a tenant's or a user's credentials, and by a statement of the
store without its tenant."""

import asyncio
import logging
from collections.abc import AsyncIterator, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace
from postgres_server import OWNER, SERVING, Server, as_role
from psycopg import errors, sql
from store_kit import LEASE, NOW, FreeHands, agent, do, entry, event, expectation, open_store, plan, step, wait

from soorma_ai.adapters.postgres import PostgresStore, row_level_security
from soorma_ai.adapters.postgres.full_text import word_tables
from soorma_ai.adapters.postgres.migrations import upgrade
from soorma_ai.adapters.postgres.schema import make, make_features, spell
from soorma_ai.adapters.postgres.sessions import connect
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.context_parts.memos import About, MemoKind, Shelf
from soorma_ai.errors import ConfigError
from soorma_ai.features.human_tasks.tables import ANSWERED, PEOPLE_TABLES
from soorma_ai.features.knowledge.rules import keep, make_memo
from soorma_ai.kernel.domain.effects import AppendStep, Expect, Publish, SavePlan, SaveValue
from soorma_ai.kernel.domain.identity import AuditEntry
from soorma_ai.kernel.domain.limits import Charge
from soorma_ai.kernel.domain.memory import MemoryKey, StoreMemory
from soorma_ai.kernel.domain.plans import ValueKind
from soorma_ai.kernel.ports import Settlement
from soorma_ai.kernel.sql.bodies import COLUMNS_OF_SPARSE
from soorma_ai.kernel.sql.connection import Reader
from soorma_ai.kernel.sql.schema import statements
from soorma_ai.kernel.sql.tenant_scope import HOUSE, TenantScope

# Roles of raw clients, by the tenant or user of their admission. Roles of tenants have all grants, roles of users those
# on their tables: policies hold under any grant.
TENANTS = {"raw_a": "a", "raw_b": "b"}
USERS = {"raw_ann": ("a", "ann"), "raw_bob": ("a", "bob")}
WORDS = (table for index in ALL_FEATURES.text_indexes for table in word_tables(index))
ALL_TABLES = (*row_level_security.TABLES, *ALL_FEATURES.tables, *WORDS)
# Tables without a row of a tenant, for roles that serve.
NOBODYS = {"meta", "store", "memo_total", "access"}
GUARDED = {table.name: table for table in ALL_TABLES}
OF_USERS = ("plan", "expectation", "session")
# Tables with a row of each tenant here.
FILLED = (
    *("event", "inbox", "timer", "expectation", "wait_key", "untaken", "plan", "step", "plan_value", "memory"),
    *("journal", "budget", "audit", "cancellation"),
)
THEIRS = sql.SQL("SELECT * FROM {} WHERE {} = 'b' LIMIT 1")


@contextmanager
def connect_as(url: str, role: str) -> Generator[psycopg.Connection]:
    """A client of libpq, with any claim about itself."""
    with psycopg.connect(as_role(url, role), autocommit=True) as raw:
        raw.execute(
            "SELECT set_config('search_path', 'soorma', false), set_config('soorma.tenant', 'b', false), "
            "set_config('soorma.user', 'ann', false), set_config('soorma.house', 'on', false)"
        )
        yield raw


@pytest.fixture(scope="session")  # roles are of the server, and a worker may come back to this module
def url(postgres: Server) -> str:
    made = postgres.database()
    with connect_as(made, OWNER) as owner:
        for role in (*TENANTS, *USERS):
            owner.execute(f"CREATE ROLE {role} LOGIN".encode())
            tenant, user = USERS.get(role) or (TENANTS[role], None)
            owner.execute("SELECT admit(%s, %s, %s)", (role, tenant, user))
            tables = OF_USERS if user else [*GUARDED]
            owner.execute(f"GRANT ALL ON {', '.join(tables)} TO {role}".encode())
    return made


@pytest.fixture
async def store(url: str) -> AsyncIterator[PostgresStore]:
    with connect_as(url, OWNER) as owner:
        is_new = owner.execute("SELECT count(*) FROM plan").fetchone() == (0,)
    async with open_store(PostgresStore(url, ALL_FEATURES)) as made:
        if is_new:
            made.deliver(FreeHands(), LEASE)
            await made.registry.register([agent("worker", "work.asked"), agent("theirs", tenant="b")], NOW)
            for tenant, user in (("a", "ann"), ("b", "bea")):
                await fill(made, tenant, user)
        yield made


async def fill(store: PostgresStore, tenant: str, user: str) -> None:
    """Make a plan with a question and a request, its step, value, memory and journal; a request in the inbox, and an
    untaken one; a cancelled goal, and an audit row."""
    name = f"plan-{tenant}"
    made = plan(name, tenant=tenant)
    own: dict[str, Any] = {"tenant_id": tenant, "plan_id": name, "root_plan_id": name, "user_id": user}
    of_plan: dict[str, Any] = {"tenant": tenant, "plan_id": name, "root_plan_id": name}
    await do(
        store,
        SavePlan(replace(made, lineage=replace(made.lineage, user_id=user)), None),
        AppendStep(step(0, name)),
        Expect(wait(f"wait-{tenant}", **own, keys=(f"reply:{tenant}",))),
        Expect(expectation(f"q-{tenant}", **own)),
        SaveValue(name, ValueKind.STATE, "k", tenant),
        StoreMemory(MemoryKey(tenant, name, "k"), tenant),
        Publish(event(f"asked-{tenant}", "nobody.asked", **of_plan)),
        Publish(event(f"work-{tenant}", **of_plan)),
    )
    delivery = (await store.queue.claim("worker", NOW, LEASE, 1))[0]
    charge = Charge(name, 1, 5, 0.0)
    await store.plans.settle(Settlement(charge, charge, entry(plan_id=name, cause=f"work-{tenant}")), delivery)
    await store.audit.record(AuditEntry(tenant, user, None, "submit", name, NOW, "done"))
    await store.queue.send([event(f"goal-{tenant}", "goal.given", tenant=tenant)], None, NOW)
    with connect_as(store_url(store), OWNER) as owner:
        owner.execute("INSERT INTO cancellation (plan_id, reason) VALUES (%s, 'no')", (name,))


def store_url(store: PostgresStore) -> str:
    return store.database._url  # type: ignore[attr-defined]


def column_of(table: str) -> sql.Identifier:
    return sql.Identifier("whose" if GUARDED[table].tenant else "tenant")


def tenants_in(raw: psycopg.Connection, table: str) -> list[Any]:
    if table == "taking":
        return []
    seen = sql.SQL("SELECT DISTINCT {} FROM {}").format(column_of(table), sql.Identifier(table))
    return [tenant for (tenant,) in raw.execute(seen).fetchall()]


async def test_a_client_with_a_tenants_credentials_sees_its_rows_alone(store: PostgresStore, url: str) -> None:
    for role, tenant in TENANTS.items():
        with connect_as(url, role) as raw:
            seen = {table: tenants_in(raw, table) for table in GUARDED}
        assert {one for found in seen.values() for one in found} <= {tenant, None, ""}, seen
        assert {table: seen[table] for table in FILLED} == {table: [tenant] for table in FILLED}
    with connect_as(url, "raw_a") as raw:
        assert raw.execute("SELECT agent FROM agent WHERE tenant IS NOT NULL").fetchall() == []


@pytest.mark.parametrize("table", FILLED)
async def test_rows_of_another_tenant_are_neither_counted_locked_nor_written(
    store: PostgresStore, url: str, table: str
) -> None:
    named, whose = sql.Identifier(table), column_of(table)
    with connect_as(url, OWNER) as owner, connect_as(url, "raw_a") as raw:
        row = columns_of(owner, table)
        theirs = sql.SQL("FROM {} WHERE {} = 'b'").format(named, whose)
        (all_of_them,) = owner.execute(sql.SQL("SELECT count(*) {}").format(theirs)).fetchone() or (0,)
        assert all_of_them > 0
        assert raw.execute(sql.SQL("SELECT count(*) {}").format(theirs)).fetchone() == (0,)
        assert raw.execute(sql.SQL("SELECT 1 {} FOR UPDATE").format(theirs)).fetchall() == []
        assert raw.execute(sql.SQL("DELETE {}").format(theirs)).rowcount == 0
        given = sql.SQL("UPDATE {} SET {} = {} WHERE {} = 'b'").format(named, whose, whose, whose)
        assert raw.execute(given).rowcount == 0
        # A copy of their row is not inserted beside it, nor an own row given to them.
        columns = sql.SQL(", ").join(map(sql.Identifier, row))
        values = sql.SQL(", ").join(sql.Placeholder() * len(row))
        with pytest.raises(errors.InsufficientPrivilege, match="row-level security"):
            raw.execute(sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(named, columns, values), [*row.values()])
        if not GUARDED[table].tenant:
            with pytest.raises(errors.InsufficientPrivilege, match="row-level security"):
                raw.execute(sql.SQL("UPDATE {} SET tenant = 'b'").format(named))
        assert owner.execute(sql.SQL("SELECT count(*) {}").format(theirs)).fetchone() == (all_of_them,)


def columns_of(owner: psycopg.Connection, table: str) -> dict[str, object]:
    """Return a row of the other tenant, without the columns numbered by the database."""
    found = owner.execute(THEIRS.format(sql.Identifier(table), column_of(table)))
    names = [column.name for column in found.description or ()]
    row: Sequence[object] = found.fetchone() or ()
    return {name: value for name, value in zip(names, row, strict=True) if name not in ("seq", "rowid")}


async def test_a_row_has_the_tenant_of_its_parent_and_not_of_its_writer(store: PostgresStore, url: str) -> None:
    with connect_as(url, "raw_a") as raw:
        for statement in (
            "INSERT INTO step (plan_id, ordinal, rest, whose) VALUES ('plan-b', 99, '{}', 'a')",
            "INSERT INTO plan_value (plan_id, kind, key, body, whose) VALUES ('plan-b', 'state', 'x', '1', 'a')",
            "UPDATE step SET plan_id = 'plan-b'",
            "INSERT INTO timer (id, due, body) VALUES ('t', 0, '{\"tenantid\":\"b\"}')",
        ):
            with pytest.raises(errors.InsufficientPrivilege, match="row-level security"):
                raw.execute(statement.encode())


async def test_a_client_with_a_users_credentials_sees_the_users_rows_alone(store: PostgresStore, url: str) -> None:
    with connect_as(url, "raw_ann") as raw:
        assert raw.execute("SELECT plan_id FROM plan").fetchall() == [("plan-a",)]
        assert sorted(raw.execute("SELECT id FROM expectation").fetchall()) == [("q-a",), ("wait-a",)]
    with connect_as(url, "raw_bob") as raw:
        assert [raw.execute(f"SELECT count(*) FROM {one}".encode()).fetchone() for one in OF_USERS] == [(0,)] * 3
        assert raw.execute("UPDATE plan SET status = 'cancelled'").rowcount == 0
        assert raw.execute("SELECT 1 FROM plan FOR UPDATE").fetchall() == []
        for table in ("event", "step", "memory", "inbox"):
            with pytest.raises(errors.InsufficientPrivilege, match="permission denied"):
                raw.execute(f"SELECT 1 FROM {table}".encode())


async def test_a_memo_has_the_tenant_of_its_shelf_and_no_users_credentials_reach_memos(
    store: PostgresStore, url: str
) -> None:
    people = [("a", "ann"), ("a", "bob"), ("b", "bea")]
    shelves = [Shelf(tenant, MemoKind.KNOWLEDGE, user) for tenant, user in people]
    await do(store, *(keep(make_memo(shelf, "k", f"said {shelf.user_id}", "bot", NOW, About())) for shelf in shelves))
    with connect_as(url, "raw_a") as raw:
        assert users_of_memos(raw) == {"ann", "bob"}, "a tenant's role reads for all its users"
        assert raw.execute("SELECT DISTINCT whose FROM memo_word").fetchall() == [("a",)]
    assert await store.database.read(users_of_memos, TenantScope("a", "ann")) == {"ann"}
    with connect_as(url, "raw_ann") as raw:
        for table in ("shelf", "memo", "memo_word", "memo_length", "memo_signs", "memo_numbers"):
            with pytest.raises(errors.InsufficientPrivilege, match="permission denied"):
                raw.execute(f"SELECT 1 FROM {table}".encode())


def users_of_memos(db: Reader | psycopg.Connection) -> set[str]:
    return {user for (user,) in db.execute("SELECT user_id FROM memo JOIN shelf USING (shelf)").fetchall()}


def all_plans(db: Reader) -> set[str]:
    """Read plans without a condition on the tenant."""
    return {plan_id for (plan_id,) in db.execute("SELECT plan_id FROM plan").fetchall()}


async def test_a_statement_without_a_tenant_finds_the_rows_of_its_scope(store: PostgresStore) -> None:
    assert await store.database.read(all_plans) == {"plan-a", "plan-b"}, "the store itself sees all"
    assert await store.database.read(all_plans, TenantScope("a")) == {"plan-a"}
    assert await store.database.read(all_plans, TenantScope("a", "bob")) == set()
    assert await store.database.read(all_plans, TenantScope(None)) == set(), "a scope without a tenant sees nothing"
    assert await store.database.read(all_plans, TenantScope("' OR true --")) == set()
    scoped = store.within("a").plans
    assert await scoped.plan("plan-b") is None
    assert await scoped.expectation("wait-b") is None
    assert await store.within("a").events.event("work-b") is None
    found = await scoped.plans(tenant_id=None, status=None, root_plan_id=None, limit=9)
    assert [one.plan_id for one in found] == ["plan-a"]


async def test_each_operation_of_a_group_runs_in_its_own_scope(store: PostgresStore) -> None:
    def touch(db: Reader) -> int:
        return db.execute("UPDATE plan SET version = version").rowcount

    def touch_and_fail(db: Reader) -> None:
        assert all_plans(db) == {"plan-b"}
        raise RuntimeError("of no concern to the others")

    def find(db: Reader) -> set[str]:
        return all_plans(db)

    wanted = [*(TenantScope(one) for one in "abab"), HOUSE, TenantScope("nobody")]
    found, counts, failed = await asyncio.gather(
        asyncio.gather(*(store.database.write(find, acting) for acting in wanted)),
        asyncio.gather(*(store.database.write(touch, acting) for acting in wanted)),
        asyncio.gather(*(store.database.write(touch_and_fail, TenantScope("b")) for _ in "12"), return_exceptions=True),
    )
    assert found == [{"plan-a"}, {"plan-b"}, {"plan-a"}, {"plan-b"}, {"plan-a", "plan-b"}, set()]
    assert counts == [1, 1, 1, 1, 2, 0]
    assert [type(one) for one in failed] == [RuntimeError, RuntimeError]


async def test_each_table_is_guarded_or_holds_no_rows_of_tenants(url: str) -> None:
    guarded = """
        SELECT relname, relrowsecurity AND EXISTS (SELECT 1 FROM pg_policy WHERE polrelid = pg_class.oid)
        FROM pg_class WHERE relnamespace = 'soorma'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f')
    """
    with connect_as(url, OWNER) as owner:
        found = dict(owner.execute(guarded).fetchall())
    assert {table for table, is_guarded in found.items() if not is_guarded} == NOBODYS, "police() is missing"
    assert set(found) == {*GUARDED, *NOBODYS}


async def test_a_role_beyond_row_level_security_is_logged_at_the_start(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "soorma_ai.store"):
        async with open_store(PostgresStore(url, ALL_FEATURES)):
            assert caplog.messages == []
        async with open_store(PostgresStore(as_role(url, OWNER), ALL_FEATURES)):
            (told,) = caplog.messages
    assert told.startswith("row-level security is not in force, because role 'postgres' is a superuser: let another")


@pytest.mark.parametrize("role", [*TENANTS, *USERS])
async def test_a_role_without_admission_serves_nothing(url: str, role: str) -> None:
    with pytest.raises(ConfigError, match="admit"):
        await PostgresStore(as_role(url, role), ALL_FEATURES).open(NOW)


def test_a_role_able_to_bypass_policies_is_not_admitted(url: str) -> None:
    with connect_as(url, OWNER) as owner:
        for role, told in ((OWNER, "bypasses row-level security"), ("raw_all", "bypasses row-level security")):
            if role == "raw_all":
                owner.execute("CREATE ROLE raw_all LOGIN BYPASSRLS")
            with pytest.raises(errors.RaiseException, match=told):
                owner.execute("SELECT admit(%s)", (role,))
    with connect_as(url, "raw_a") as raw, pytest.raises(errors.InsufficientPrivilege):
        raw.execute("SELECT admit('raw_a')")


async def test_an_older_database_is_guarded_after_its_upgrade(postgres: Server) -> None:
    postgres.execute("CREATE DATABASE from_before")
    url = postgres.url("from_before")
    new = {
        *row_level_security.make(),
        *row_level_security.guard(ALL_TABLES),
        *spell((*statements(ANSWERED), *statements(PEOPLE_TABLES))),
    }
    unguarded = [one for one in (*make(), *make_features(ALL_FEATURES)) if one not in new]
    with connect(url) as owner:
        owner.execute("CREATE SCHEMA soorma")
        for statement in (
            *unguarded,
            "ALTER TABLE inbox DROP COLUMN holder, DROP COLUMN outcome",
            "DROP INDEX expectation_age",
            "ALTER TABLE plan DROP COLUMN place",
            "ALTER TABLE budget DROP COLUMN unpriced_calls, DROP COLUMN held_calls, DROP COLUMN held_tokens, "
            "DROP COLUMN held_usd",
            *(one.replace(" TEXT", "").replace("ADD", "DROP") for one in LATER_COLUMNS),
            "UPDATE meta SET version = 10",
            *OLD_ROWS,
        ):
            owner.execute(statement.encode())
        upgrade(owner, ALL_FEATURES)
        owner.execute(f"SELECT admit('{SERVING}')".encode())
        for table in ("inbox", "plan_value", "timer", "memo", "memo_word"):
            assert tenants_in(owner, table) == ["b"]
    async with open_store(PostgresStore(as_role(url, SERVING), ALL_FEATURES)) as store:
        assert await store.database.read(all_plans, TenantScope("b")) == {"p"}
        assert await store.database.read(all_plans, TenantScope("a")) == set()


LATER_COLUMNS = [one.replace(" INTEGER NOT NULL DEFAULT 0", "") for one in statements(COLUMNS_OF_SPARSE)]
OLD_ROWS = (
    r"INSERT INTO event (id, tenant, type, topic, digest, rest) VALUES ('e', 'b', 't', 'business-facts', '\x', '{}')",
    "INSERT INTO inbox (agent, event_seq, owner, priority, state) VALUES ('worker', 1, 'p', 1, 'done')",
    "INSERT INTO plan (plan_id, tenant, agent, status, root_plan_id, goal_id, version, rest) "
    "VALUES ('p', 'b', 'worker', 'running', 'p', 'e', 1, '{}')",
    "INSERT INTO plan_value VALUES ('p', 'state', 'k', '1')",
    """INSERT INTO timer (id, due, body) VALUES ('t', 9e9, '{"tenantid":"b"}')""",
    "INSERT INTO shelf (tenant, user_id, is_shared, kind, agent) VALUES ('b', 'u', 0, 'fact', '')",
    "INSERT INTO memo (shelf, key, body) VALUES (1, 'k', '{}')",
    "INSERT INTO memo_word VALUES ('1_word', 1, 1)",
)
