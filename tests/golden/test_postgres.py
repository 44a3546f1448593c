"""A file moved to PostgreSQL, and a database of an earlier version, continue to their right end."""

import json
import shutil
import sqlite3
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner, Result
from postgres_server import OWNER, Server, as_role
from situations import CALLS_LEFT, ENDS, Shop
from test_golden import EVERY_PLAN, GOLDEN, NOTHING_TO_DO, dump, until

from soorma_ai import Platform
from soorma_ai.adapters.postgres import PostgresStore, migrations
from soorma_ai.adapters.postgres.sessions import connection_to
from soorma_ai.adapters.single_writer.lock import OwnerLock
from soorma_ai.apps.cli.main import cli
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.errors import ConfigError
from soorma_ai.features.trials.retirement.ports import MODELS
from soorma_ai.features.trials.retirement.records import ModelReplacement
from soorma_ai.features.trials.shadow.records import ShadowDay
from soorma_ai.features.upkeep import postgres as upkeep
from soorma_ai.kernel.sql.schema import VERSION
from soorma_ai.testing.clock import START, VirtualClock

DUMPS = sorted(Path(__file__).parent.glob("*.sql"), key=lambda path: int(path.stem[1:]))
NUMBERS = count(1)


@pytest.fixture
def url(postgres: Server) -> str:
    return postgres.empty()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a file with work in every possible situation of rest."""
    return Path(shutil.copy(GOLDEN[-1], tmp_path / "store.db"))


def soorma(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments, env={"SOORMA_STORE_URL": None, "SOORMA_URL": None})


def owners(url: str) -> str:
    return as_role(url, OWNER)


def rows(url: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(owners(url), options="-c search_path=soorma") as db:
        return db.execute(query.encode()).fetchall()


async def comes_to_its_end(url: str) -> None:
    """Run every plan from its state to its end."""
    shop = Shop()
    async with Platform(url, clock=VirtualClock(START + timedelta(hours=1), seed="later")) as platform:
        await platform.start(*shop.main_agents(), shop.evening(), shop.island())
        answered: set[str] = set()
        await platform.publish("business-facts", "slot.chosen", {"order_id": "a-1"})

        async def has_ended() -> bool:
            for wait in await platform.waits():
                if wait.proposed_event and wait.wait_id not in answered:
                    answered.add(wait.wait_id)
                    assert await platform.answer(wait.wait_id, {"approved": True}) == "accepted"
            return rows(url, NOTHING_TO_DO) == [(0,)]

        await until(platform, has_ended)
        plans = {plan.goal_event: plan for plan in await platform.services.store.plans.plans(**EVERY_PLAN)}
        reply = await platform.request("stock.reserve", {"sku": "B"}, idempotency_key="a client's")
    assert {goal: (plan.status, plan.result) for goal, plan in plans.items()} == ENDS
    assert len(answered) == 3
    assert Counter((tool, event) for tool, event, _ in shop.calls) == CALLS_LEFT
    assert set(shop.calls.values()) == {1}
    assert shop.asked.count("order.journalled") == 1, "its first decision is in the journal"
    assert reply["result"] == {"by": "stock"}


async def test_a_store_moved_out_of_its_file_continues_in_the_database(file: Path, url: str) -> None:
    before = dump(file)
    run = soorma("db", "move", str(file), owners(url), "--json")
    assert run.exit_code == 0, run.output
    moved = {one["table"]: one["rows"] for one in json.loads(run.stdout)}
    assert moved["plan"] == 15
    assert moved["journal"] > 0
    assert moved["timer"] > 0
    assert dump(file) == before
    (highest,) = rows(url, "SELECT max(seq) FROM event")
    await comes_to_its_end(url)
    assert rows(url, f"SELECT count(*) > 0 FROM event WHERE seq > {highest[0]}") == [(True,)]


# Dumps of earlier versions


def test_every_version_has_its_golden_dump() -> None:
    assert [path.stem for path in DUMPS] == [f"v{number}" for number in range(migrations.FIRST, VERSION + 1)]


@pytest.fixture(params=DUMPS, ids=lambda path: path.stem)
def left(request: pytest.FixtureRequest, postgres: Server) -> str:
    """Load a dump into a database, and upgrade it."""
    name = f"golden_{request.param.stem}_{next(NUMBERS)}"
    postgres.execute(f"CREATE DATABASE {name}")
    with psycopg.connect(postgres.url(name), autocommit=True) as db:
        db.execute(request.param.read_bytes())
    run = soorma("db", "upgrade", "--store", postgres.url(name), "--json")
    assert json.loads(run.stdout)["from"] == int(request.param.stem[1:])
    return postgres.url(name)


async def test_every_plan_in_a_dump_comes_to_its_right_end(left: str) -> None:
    await comes_to_its_end(left)


def test_the_tables_of_an_upgraded_dump_are_those_of_a_new_database(left: str, url: str) -> None:
    assert shape(left) == shape(url)
    assert len(shape(url)) > 300


def shape(url: str) -> set[tuple[Any, ...]]:
    """Return the catalogue of columns, indexes, constraints, functions and policies."""
    return {
        row
        for query in (
            "SELECT table_name, column_name, data_type, collation_name, column_default, is_nullable, is_identity, "
            "identity_generation FROM information_schema.columns WHERE table_schema = 'soorma'",
            "SELECT indexdef FROM pg_indexes WHERE schemaname = 'soorma'",
            "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint "
            "WHERE connamespace = 'soorma'::regnamespace",
            "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'soorma'::regnamespace AND prokind = 'f'",
            "SELECT relname, relrowsecurity, relforcerowsecurity FROM pg_class "
            "WHERE relnamespace = 'soorma'::regnamespace AND relkind = 'r'",
            "SELECT tablename, policyname, roles::text, cmd, qual, with_check FROM pg_policies "
            "WHERE schemaname = 'soorma'",
        )
        for row in rows(url, query)
    }


# Moves


async def test_a_replaced_model_and_the_outcomes_of_a_shadow_are_moved(tmp_path: Path, url: str) -> None:
    made = ModelReplacement("a", "b", START, (1e-6, 2e-6))
    async with Platform(f"sqlite:///{tmp_path}/store.db") as platform:
        await platform.services.store.part(MODELS).replace_model("default", made)
    with closing(sqlite3.connect(tmp_path / "store.db")) as db, db:
        db.execute("INSERT INTO shadow VALUES ('d-1', 'default', 'ann', 'orders', 1.0, NULL)")
        db.execute("INSERT INTO shadow_budget VALUES ('default', 'orders', '2030-01-01', 1.0, 0.5)")
    run = soorma("db", "move", f"{tmp_path}/store.db", owners(url))
    assert run.exit_code == 0, run.output
    async with Platform(url) as platform:
        assert await platform.services.store.part(MODELS).replacements("default") == {"a": made}
        found = await platform.shadow_report("orders")
    assert (found.unanswered, found.days) == (1, (ShadowDay("2030-01-01", 0.5),))


async def test_knowledge_is_moved_with_its_search_words_and_no_number_is_reused(tmp_path: Path, url: str) -> None:
    texts = {f"k{n}": f"note {n} of {'cats' if n % 3 else 'dogs and cats cats'} \0 x" for n in range(8)}
    async with Platform(f"sqlite:///{tmp_path}/store.db") as platform:
        for key, text in texts.items():
            await platform.memory.store_knowledge(text, key=key, tags=["even" if int(key[1]) % 2 == 0 else "odd"])
        await platform.memory.delete_knowledge("k7")
        found = [memo.key for memo in await platform.memory.search_knowledge("cats")]
        tagged = {memo.key for memo in await platform.memory.search_knowledge(tags=["even"])}
    run = soorma("db", "move", f"{tmp_path}/store.db", owners(url))
    assert run.exit_code == 0, run.output
    async with Platform(url) as platform:
        assert [memo.key for memo in await platform.memory.search_knowledge("cats")] == found
        assert {memo.key for memo in await platform.memory.search_knowledge(tags=["even"])} == tagged
        await platform.memory.store_knowledge("a ninth", key="k9")
    assert rows(url, "SELECT max(seq) FROM memo") == [(9,)], "8 was the number of a deleted memo"


def test_an_impossible_move_is_refused_and_changes_neither_store(file: Path, url: str, tmp_path: Path) -> None:
    assert soorma("db", "move", str(file), "sqlite:///other.db").exit_code == 1
    assert "no store at" in soorma("db", "move", str(tmp_path / "none.db"), owners(url)).output
    assert not (tmp_path / "none.db.owner").exists()
    with OwnerLock.take(file, purpose="a shop"):
        assert "is owned by" in soorma("db", "move", str(file), owners(url)).output
    with psycopg.connect(owners(url), autocommit=True) as db:
        db.execute("INSERT INTO soorma.store VALUES (1, 'another')")
        run = soorma("db", "move", str(file), owners(url))
        assert (run.exit_code, "not empty: its table 'store'" in run.output) == (1, True), run.output
        db.execute("DELETE FROM soorma.store")
        # A server with a change of inserted values.
        db.execute(
            "CREATE FUNCTION soorma.spoil() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN NEW.version := NEW.version + 1; RETURN NEW; END $$"
        )
        db.execute("CREATE TRIGGER spoil BEFORE INSERT ON soorma.plan FOR EACH ROW EXECUTE FUNCTION soorma.spoil()")
        try:
            run = soorma("db", "move", str(file), owners(url))
        finally:
            db.execute("DROP TRIGGER spoil ON soorma.plan")
            db.execute("DROP FUNCTION soorma.spoil")
    assert "table 'plan' came otherwise than it was: 15 rows" in run.output
    assert rows(url, "SELECT (SELECT count(*) FROM event) + (SELECT count(*) FROM plan)") == [(0,)]


# The schema


async def test_a_database_is_created_once_and_upgraded_only_by_command(postgres: Server) -> None:
    postgres.execute("CREATE DATABASE to_be_made")
    url = postgres.url("to_be_made")
    assert f"created with schema {VERSION}" in soorma("db", "upgrade", "--store", url).output
    assert f"schema {VERSION}, nothing to do" in soorma("db", "upgrade", "--store", url).output
    at_version(url, VERSION - 1)
    with pytest.raises(ConfigError, match=f"its schema is {VERSION - 1}.*soorma db upgrade"):
        await PostgresStore(url, ALL_FEATURES).open(START)
    at_version(url, VERSION + 1)
    run = soorma("db", "upgrade", "--store", url)
    assert (run.exit_code, "written by a newer version" in run.output) == (1, True)


def test_of_several_parallel_creations_of_a_database_one_takes_effect(postgres: Server) -> None:
    postgres.execute("CREATE DATABASE made_at_once")
    with ThreadPoolExecutor() as pool:
        done = list(pool.map(upkeep.upgrade, [postgres.url("made_at_once")] * 3, [ALL_FEATURES] * 3))
    assert sorted(done) == [(0, VERSION), (VERSION, VERSION), (VERSION, VERSION)]


async def test_an_upgrade_beside_an_open_store_is_refused(postgres: Server) -> None:
    url = postgres.database()
    store = PostgresStore(url, ALL_FEATURES)
    await store.open(START)
    try:
        with connection_to(owners(url)) as made, pytest.raises(ConfigError, match="stop them first"):
            migrations.upgrade(made, ALL_FEATURES, wanted=VERSION + 1, steps={VERSION: ("SELECT 1",)})
    finally:
        await store.close()
    with connection_to(owners(url)) as made:
        done = migrations.upgrade(made, ALL_FEATURES, wanted=VERSION + 1, steps={VERSION: ("SELECT 1",)})
    assert done == (VERSION, VERSION + 1)


def at_version(url: str, version: int) -> None:
    with psycopg.connect(url) as db:
        db.execute("UPDATE soorma.meta SET version = %s", (version,))


@pytest.mark.parametrize("golden", [GOLDEN[0], GOLDEN[-1]], ids=lambda path: path.stem)
def test_a_file_is_upgraded_by_command(golden: Path, tmp_path: Path) -> None:
    file = Path(shutil.copy(golden, tmp_path / "store.db"))
    before, told = int(golden.stem[1:]), soorma("db", "upgrade", "--store", f"sqlite:///{file}", "--json")
    assert json.loads(told.stdout) == {"store": f"sqlite:///{file}", "from": before, "to": VERSION}
    with OwnerLock.take(file, purpose="a shop"):
        assert soorma("db", "upgrade", "--store", f"sqlite:///{file}").exit_code == 1
