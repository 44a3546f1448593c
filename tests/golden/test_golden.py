"""Files of earlier versions are upgraded, and every plan in them runs to its right end."""

import asyncio
import re
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from situations import CALLS_LEFT, ENDS, PLOTS, Shop

from soorma_ai import Platform
from soorma_ai.adapters.sqlite.file import files, migrations
from soorma_ai.adapters.sqlite.file.connection import Connection
from soorma_ai.adapters.sqlite.file.full_text import make_index
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.errors import ConfigError, SoormaError
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.sql.schema import VERSION
from soorma_ai.testing.clock import START, VirtualClock

HERE = Path(__file__).parent
GOLDEN = sorted(HERE.glob("*.db"), key=lambda path: int(path.stem.removeprefix("v")))
OLDER = [path for path in GOLDEN if path.stem != f"v{VERSION}"]
NOTHING_TO_DO = """
    SELECT (SELECT count(*) FROM outbox) + (SELECT count(*) FROM timer)
        + (SELECT count(*) FROM expectation WHERE status = 'open' AND kind <> 'client')
        + (SELECT count(*) FROM inbox WHERE state NOT IN ('done', 'dead'))
"""


def name(path: Path) -> str:
    return path.stem


@pytest.fixture(params=GOLDEN, ids=name)
def left(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return Path(shutil.copy(request.param, tmp_path / "store.db"))


@pytest.fixture(params=OLDER, ids=name)
def older(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return Path(shutil.copy(request.param, tmp_path / "store.db"))


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(query).fetchall()


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as db:
        return [f"version {db.execute('PRAGMA user_version').fetchone()}", *db.iterdump()]


def test_every_version_has_its_golden_file() -> None:
    assert [path.stem for path in GOLDEN] == [f"v{number}" for number in range(1, VERSION + 1)]
    for path in GOLDEN:
        with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as db:
            assert db.execute("PRAGMA user_version").fetchone() == (int(path.stem[1:]),)


# To their ends


async def test_every_plan_in_a_file_comes_to_its_right_end(left: Path) -> None:
    before = events_of(left)
    shop = Shop()
    async with Platform(f"sqlite:///{left}", clock=VirtualClock(START + timedelta(hours=1), seed="later")) as platform:
        await platform.start(*shop.main_agents(), shop.evening(), shop.island())
        answered: set[str] = set()
        await platform.publish("business-facts", "slot.chosen", {"order_id": "a-1"})

        async def has_ended() -> bool:
            for wait in await platform.waits():
                if wait.proposed_event and wait.wait_id not in answered:
                    answered.add(wait.wait_id)
                    assert await platform.answer(wait.wait_id, {"approved": True}) == "accepted"
            return rows(left, NOTHING_TO_DO) == [(0,)]

        await until(platform, has_ended)
        plans = {plan.goal_event: plan for plan in await platform.services.store.plans.plans(**EVERY_PLAN)}
        usage = {goal: (await platform.services.store.plans.read_spent(plan.plan_id)) for goal, plan in plans.items()}
    assert {goal: (plan.status, plan.result) for goal, plan in plans.items()} == ENDS
    assert len(answered) == 3
    # Once each, by their earlier keys.
    assert Counter((tool, event) for tool, event, _ in shop.calls) == CALLS_LEFT
    assert set(shop.calls.values()) == {1}
    assert shop.asked.count("order.journalled") == 1, "its first decision is in the journal"
    assert usage["order.journalled"].llm_calls == 2
    assert_no_event_lost_or_doubled(left, before)


EVERY_PLAN: dict[str, Any] = {"tenant_id": None, "status": None, "root_plan_id": None, "limit": 99}


async def until(platform: Platform, condition: Callable[[], Awaitable[bool]]) -> None:
    changed = platform.services.signals.watch()
    async with asyncio.timeout(30):
        while not await condition():
            await changed.wait()
            changed.clear()


def events_of(path: Path) -> dict[str, EventEnvelope]:
    return {id: EventEnvelope.from_json(body) for id, body in rows(path, "SELECT id, body FROM event")}


def assert_no_event_lost_or_doubled(path: Path, before: dict[str, EventEnvelope]) -> None:
    after = events_of(path)
    assert before.items() <= after.items()
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]
    assert rows(path, "SELECT count(*) FROM inbox WHERE state = 'dead'") == [(1,)]
    results = (event for event in after.values() if event.topic == "action-results")
    answers = Counter(event.correlation_id for event in results if "plan_id" in event.data)
    goals = {event.id for event in after.values() if event.type in PLOTS}
    assert set(answers) == goals
    assert set(answers.values()) == {1}
    requests = Counter(event.type for event in after.values() if event.topic == "action-requests")
    assert requests == Counter(
        dict.fromkeys(PLOTS, 1)
        | {"stock.reserve": 7, "slow.work": 2, "courier.deliver": 2, "payment.charge": 3}
        | {"island.reserve": 1}
    )
    spent = rows(path, "SELECT sum(actions) FROM budget WHERE root_plan_id NOT LIKE 'events:%'")
    assert spent == [(sum(requests.values()) - len(PLOTS),)], "one action for each request of a plan"


async def test_an_older_plan_keeps_its_versions_and_an_older_request_its_reply(left: Path) -> None:
    version = rows(left, "PRAGMA user_version")[0][0]
    async with Platform(f"sqlite:///{left}", clock=VirtualClock(START + timedelta(hours=1))) as platform:
        plans = [await platform.plan(plan.plan_id) for plan in await platform.plans(status="completed")]
        reply = await platform.request("stock.reserve", {"sku": "B"}, idempotency_key="a client's")
    assert {plan.agent_version for plan in plans} == {"0.1.0"}
    prompts = {plan.prompt.split()[0] if plan.prompt else "" for plan in plans}
    assert prompts == {"" if version == 1 else "planner/decide"}
    assert reply["result"] == {"by": "stock"}


async def test_ended_plans_can_be_removed_from_a_file_of_any_version(left: Path) -> None:
    async with Platform(f"sqlite:///{left}", clock=VirtualClock(START + timedelta(days=31))) as platform:
        pruned = await platform.prune()
        assert (pruned.plans, pruned.kept) == (3, 1), "the fourth that is over has a dead letter"
        assert len(await platform.plans(limit=99)) == 11


# The tables


def shape(path: Path) -> dict[str, Any]:
    """Return the catalogue of tables, indexes and their statements, without spaces and quotes."""
    with closing(sqlite3.connect(path)) as db:
        made = db.execute(
            "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"
        ).fetchall()
        told: dict[str, Any] = {
            f"{kind} {item}": (table, "".join(sql.replace('"', "").split())) for kind, item, table, sql in made
        }
        told |= {f"options of {row[1]}": row[2:] for row in db.execute("PRAGMA table_list") if row[0] == "main"}
        for kind, item, _, _ in made:
            if kind == "table":
                told[f"columns of {item}"] = db.execute(f"PRAGMA table_xinfo({item})").fetchall()
                indexes = db.execute(f"PRAGMA index_list({item})").fetchall()
                told[f"indexes of {item}"] = sorted(row[1:] for row in indexes)
                for row in indexes:
                    told[f"columns of {row[1]}"] = db.execute(f"PRAGMA index_xinfo({row[1]})").fetchall()
        told["sequences"] = {name for (name,) in db.execute("SELECT name FROM sqlite_sequence")}
    return told


def open_and_close(path: Path) -> None:
    files.open_writer(path, ALL_FEATURES).close()


def test_the_tables_of_an_upgraded_file_are_those_of_a_new_one(left: Path, tmp_path: Path) -> None:
    open_and_close(left)
    open_and_close(tmp_path / "new.db")
    found, wanted = shape(left), shape(tmp_path / "new.db")
    assert found.pop("sequences") == {"event", "inbox", "plan"}
    wanted.pop("sequences")
    assert found == wanted
    assert len(found) > 60


def test_the_comparison_of_tables_sees_another_condition_of_an_index(tmp_path: Path) -> None:
    open_and_close(tmp_path / "one.db")
    open_and_close(tmp_path / "two.db")
    with closing(sqlite3.connect(tmp_path / "two.db")) as db:
        db.execute("DROP INDEX inbox_dead")
        db.execute("CREATE INDEX inbox_dead ON inbox (seq) WHERE state = 'done'")
    assert shape(tmp_path / "one.db") != shape(tmp_path / "two.db")


def without_tenants(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a row with the earlier names of agents, before their tenant was part of the key."""
    return tuple(re.sub(r"\b(\w+)@(default|island)\b", r"\1", one) if isinstance(one, str) else one for one in row)


def test_an_upgrade_of_a_file_changes_only_the_names_of_agents(older: Path) -> None:
    tables = [name for (name,) in rows(older, "SELECT name FROM sqlite_master WHERE type = 'table'")]
    columns = {t: [row[1] for row in rows(older, f"PRAGMA table_info({t})")] for t in tables}
    read = {table: rows(older, f"SELECT {', '.join(columns[table])} FROM {table}") for table in tables}
    before = {table: sorted(map(without_tenants, found)) for table, found in read.items()}
    open_and_close(older)
    for table in tables:
        # A row with a `rest` has its former body there.
        has_rest = any(row[1] == "rest" for row in rows(older, f"PRAGMA table_info({table})"))
        names = ["rest" if has_rest and name == "body" else name for name in columns[table]]
        after = rows(older, f"SELECT {', '.join(names)} FROM {table}")
        assert sorted(map(without_tenants, after)) == before[table]
    times = rows(older, "SELECT abs(time - (julianday(json_extract(body, '$.time')) - 2440587.5) * 86400) FROM event")
    assert max(times) < (0.001,)


@pytest.mark.parametrize("broken", ["'{'", "CAST(x'7bff' AS TEXT)"], ids=["no JSON", "no UTF-8"])
async def test_a_file_with_an_unreadable_plan_can_be_upgraded(older: Path, broken: str) -> None:
    # Since version 2 an index makes such a row of an ended plan unwritable.
    status = "completed" if rows(older, "PRAGMA user_version") == [(1,)] else "paused"
    found = rows(older, f"SELECT plan_id FROM plan WHERE status = '{status}' AND plan_id = root_plan_id ORDER BY seq")
    (damaged,), (other,), *_ = found
    with closing(sqlite3.connect(older)) as db:
        for table in ("plan", "expectation"):
            column = "rest" if ("rest",) in db.execute(f"SELECT name FROM pragma_table_info('{table}')") else "body"
            db.execute(f"UPDATE {table} SET {column} = {broken} WHERE plan_id = ?", (damaged,))
        db.commit()
    async with Platform(f"sqlite:///{older}", clock=VirtualClock(START + timedelta(hours=1))) as platform:
        assert (await platform.plan(other)).status == status
        with pytest.raises(ConfigError, match=r"cannot be read|damaged"):
            await platform.plan(damaged)
        pruned = await platform.prune(timedelta(days=1))
        assert pruned.plans == 0
    assert rows(older, "PRAGMA integrity_check") == [("ok",)]
    assert (damaged,) in rows(older, "SELECT plan_id FROM plan")


# A kill on the way


def statements_of(older: Path) -> int:
    """Return the number of statements: BEGIN, the steps, missing parts of features, the version, COMMIT."""
    version, there = rows(older, "PRAGMA user_version")[0][0], rows(older, "SELECT name FROM sqlite_master")
    names = {name for (name,) in there}
    lacking = [*ALL_FEATURES.missing(names), *ALL_FEATURES.missing_text_indexes(names, make_index)]
    return sum(len(migrations.STEPS[step]) for step in range(version, VERSION)) + len(lacking) + 3


class Failing(Connection):
    """Fails at its n-th writing statement."""

    left = 0

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        if sql.lstrip().split()[0] not in ("PRAGMA", "SELECT") or "user_version =" in sql:
            Failing.left -= 1
            if Failing.left == 0:
                raise sqlite3.OperationalError("broken off")
        return super().execute(sql, *parameters)


def test_a_file_stays_unchanged_by_an_upgrade_with_an_error_at_any_statement(
    older: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, count = dump(older), statements_of(older)
    with monkeypatch.context() as failing:
        failing.setattr(files, "Connection", Failing)
        for Failing.left in range(1, count + 1):
            with pytest.raises(SoormaError, match="broken off"):
                files.open_writer(older, ALL_FEATURES)
            assert Failing.left == 0
    assert dump(older) == before
    open_and_close(older)
    assert rows(older, "PRAGMA user_version") == [(VERSION,)]


KILLED = """
import os, signal, sqlite3, sys
from pathlib import Path
from soorma_ai.adapters.sqlite.file import files
from soorma_ai.assembly import ALL_FEATURES

left = int(sys.argv[2])

def count(sql):
    global left
    left -= not sql.startswith(("PRAGMA", "SELECT")) or "user_version =" in sql
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

real = files._open

def watched(*given, **named):
    made = real(*given, **named)
    made.set_trace_callback(count)
    return made

files._open = watched
files.open_writer(Path(sys.argv[1]), ALL_FEATURES)
"""


def test_a_file_stays_unchanged_by_a_killed_upgrade(older: Path) -> None:
    before, count = dump(older), statements_of(older)
    # The upgrade of the oldest file contains those of the others.
    between = range(4, count - 2, 7) if older in (OLDER[0], OLDER[-1]) else ()
    for position in (2, *between, count - 2, count - 1, count):
        command = [sys.executable, "-c", KILLED, str(older), str(position)]
        assert subprocess.run(command, check=False).returncode == -9, position
        assert dump(older) == before, position
    open_and_close(older)
    assert rows(older, "PRAGMA integrity_check") == [("ok",)]
    assert rows(older, "PRAGMA user_version") == [(VERSION,)]


def test_reading_an_older_file_is_refused_with_a_cure_and_changes_nothing(older: Path) -> None:
    before = older.read_bytes()
    with pytest.raises(ConfigError, match="start the platform on it once, which brings it forward"):
        files.open_reader(older)
    assert older.read_bytes() == before


def test_rows_of_an_older_version_keep_their_owners(older: Path) -> None:
    open_and_close(older)
    assert set(rows(older, "SELECT tenant, user_id FROM plan")) == {("default", "local"), ("island", "ann")}
    assert rows(older, "SELECT count(*) FROM plan WHERE user_id <> json_extract(body, '$.lineage.user_id')") == [(0,)]
    kept = "status = 'open' OR kind = 'client' OR group_id IS NOT NULL"
    owners = set(rows(older, f"SELECT tenant, user_id FROM expectation WHERE {kept}"))
    assert owners == {("default", "local"), ("island", "ann")}
