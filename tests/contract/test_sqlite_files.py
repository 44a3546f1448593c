"""A file that cannot be used is told: what was found, and what to do. Looking at one changes nothing."""

import shutil
import sqlite3
from pathlib import Path

import pytest
from store_kit import NOW, agent, answer, claimed, do, event, gate, later, plan, running, unsent_ids

from soorma_ai.adapters.sqlite import SqliteStore
from soorma_ai.adapters.sqlite.file import files
from soorma_ai.domain.effects import SavePlan
from soorma_ai.domain.people import Person
from soorma_ai.errors import ConfigError, LocalProtocolError, NotFound, SoormaError, StoreUnavailable


async def refused(path: Path, *, read_only: bool = False) -> SoormaError:
    store = SqliteStore(path, read_only=read_only)
    with pytest.raises(SoormaError) as told:
        await store.open(NOW)
    assert str(path) in str(told.value)
    await store.close()
    return told.value


async def filled(path: Path) -> SqliteStore:
    store = SqliteStore(path)
    await store.open(NOW)
    await do(store, SavePlan(plan(), None))
    return store


async def test_a_missing_directory_is_made(tmp_path: Path) -> None:
    store = await filled(tmp_path / "a" / "b" / "store.db")
    await store.close()


async def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch()
    await (await filled(path)).close()


async def test_a_directory_is_no_store(tmp_path: Path) -> None:
    error = await refused(tmp_path)
    assert type(error) is ConfigError and "writable directory" in str(error)


async def test_a_place_below_a_file_is_no_place(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    error = await refused(tmp_path / "file" / "store.db")
    assert type(error) is ConfigError and "writable directory" in str(error)


async def test_a_name_that_cannot_be_is_told(tmp_path: Path) -> None:
    assert type(await refused(tmp_path / ("n" * 300))) is ConfigError


def names_in(directory: Path) -> list[str]:
    return [found.name for found in directory.iterdir()]


@pytest.mark.parametrize("read_only", [False, True])
async def test_another_kind_of_file_is_told_and_left_as_it_is(tmp_path: Path, read_only: bool) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Dear diary, " * 500)
    error = await refused(path, read_only=read_only)
    assert type(error) is ConfigError and "not an SQLite database" in str(error)
    assert path.read_text() == "Dear diary, " * 500
    assert names_in(tmp_path) == ["notes.txt"]


@pytest.mark.parametrize("read_only", [False, True])
async def test_another_programs_database_is_told_and_left_as_it_is(tmp_path: Path, read_only: bool) -> None:
    path = tmp_path / "theirs.db"
    theirs = sqlite3.connect(path)
    theirs.execute("CREATE TABLE plan (theirs)")
    theirs.close()
    before = path.read_bytes()
    error = await refused(path, read_only=read_only)
    assert type(error) is ConfigError and "another program" in str(error)
    assert path.read_bytes() == before


@pytest.mark.parametrize("read_only", [False, True])
async def test_a_newer_schema_is_refused_and_left_as_it_is(tmp_path: Path, read_only: bool) -> None:
    path = tmp_path / "store.db"
    await (await filled(path)).close()
    newer = sqlite3.connect(path)
    newer.execute("PRAGMA user_version = 99")
    newer.close()
    error = await refused(path, read_only=read_only)
    assert type(error) is ConfigError and "99" in str(error) and "newer" in str(error)


@pytest.mark.parametrize("read_only", [False, True])
async def test_a_damaged_file_is_told(tmp_path: Path, read_only: bool) -> None:
    path = tmp_path / "store.db"
    await (await filled(path)).close()
    content = bytearray(path.read_bytes())
    content[100:4096] = b"\xff" * 3996
    path.write_bytes(content)
    error = await refused(path, read_only=read_only)
    assert type(error) is ConfigError and "damaged" in str(error) and "backup" in str(error)


async def test_damage_that_shows_later_is_told_by_the_call_that_finds_it(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await (await filled(path)).close()
    content = bytearray(path.read_bytes())
    content[3 * 4096 :] = b"\xff" * (len(content) - 3 * 4096)
    path.write_bytes(content)
    store = SqliteStore(path)
    with pytest.raises(ConfigError, match="damaged"):
        await store.open(NOW)
        await store.plans.plan("plan-1")
    await store.close()


async def test_a_file_locked_by_another_program_may_be_free_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    await (await filled(path)).close()
    monkeypatch.setattr(files, "BUSY_MS", 10)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store = SqliteStore(path)
    with pytest.raises(StoreUnavailable, match="locked"):
        await store.open(NOW)
    other.close()
    await store.open(NOW)
    assert await store.plans.plan("plan-1") == plan()
    await store.close()


async def test_a_writer_locked_out_for_a_while_recovers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BUSY_MS", 10)
    store = await filled(tmp_path / "store.db")
    other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="locked"):
        await store.queue.send([event("e-1")], None, NOW)
    assert await store.plans.plan("plan-1") == plan(), "reading goes on"
    other.close()
    await store.queue.send([event("e-1")], None, NOW)
    await store.close()


async def test_a_reader_needs_a_store(tmp_path: Path) -> None:
    assert type(await refused(tmp_path / "nothing.db", read_only=True)) is NotFound
    (tmp_path / "empty.db").touch()
    assert type(await refused(tmp_path / "empty.db", read_only=True)) is ConfigError
    with pytest.raises(LocalProtocolError, match="path of a file"):
        SqliteStore(None, read_only=True)


async def test_a_reader_sees_what_the_owner_commits(tmp_path: Path) -> None:
    owner = await filled(tmp_path / "store.db")
    reader = SqliteStore(tmp_path / "store.db", read_only=True)
    await reader.open(NOW)
    await owner.queue.send([event("e-1")], None, NOW)
    assert await unsent_ids(reader) == ["e-1"]
    await owner.close()
    assert await reader.plans.plan("plan-1") == plan()
    await reader.close()


async def test_a_reader_writes_nothing_and_frees_no_lease(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    owner = await filled(path)
    await owner.registry.register([agent("worker", "work.asked")], NOW)
    await running(owner, gate("g-1"), plan_id="plan-2")
    await owner.queue.arrive([event("e-1")], NOW)
    (held,) = await claimed(owner)
    reader = SqliteStore(path, read_only=True)
    await reader.open(NOW)
    for attempt in (
        reader.queue.send([event("x")], None, NOW),
        reader.queue.claim("worker", later(99), later(99) - NOW, 1),
        reader.plans.answer("g-1", answer("a"), Person(), NOW),
        reader.plans.cancel("plan-1", "x", NOW),
    ):
        with pytest.raises(LocalProtocolError, match="read-only"):
            await attempt
    await reader.close()
    with pytest.raises(StoreUnavailable, match="not open"):
        await reader.plans.plan("plan-1")
    assert await owner.queue.renew([held], later(60)) == [held]
    await owner.close()


async def test_a_store_whose_owner_was_killed_can_be_looked_at_and_taken_over(tmp_path: Path) -> None:
    store = await filled(tmp_path / "live.db")
    for suffix in ("", "-wal"):  # what a killed process leaves: a file, and a log not yet copied into it
        shutil.copyfile(tmp_path / f"live.db{suffix}", tmp_path / f"left.db{suffix}")
    await store.close()
    reader = SqliteStore(tmp_path / "left.db", read_only=True)
    await reader.open(NOW)
    assert await reader.plans.plan("plan-1") == plan()
    await reader.close()
    heir = SqliteStore(tmp_path / "left.db")
    await heir.open(NOW)
    assert await heir.plans.plan("plan-1") == plan()
    await heir.close()


async def test_a_path_may_hold_anything_a_file_name_may(tmp_path: Path) -> None:
    path = tmp_path / "a b?c#d%41&mode=memory é.db"
    store = await filled(path)
    assert await store.plans.plan("plan-1") == plan()
    await store.close()
    assert path.is_file()


async def test_commits_are_synced_and_the_log_is_write_ahead(tmp_path: Path) -> None:
    store = await filled(tmp_path / "store.db")
    assert await store.database.write(lambda db: db.execute("PRAGMA synchronous").fetchone()) == (2,)
    assert await store.database.write(lambda db: db.execute("PRAGMA journal_mode").fetchone()) == ("wal",)
    await store.close()


async def test_memory_is_a_store_of_its_own() -> None:
    one, two = SqliteStore(None), SqliteStore(None)
    await one.open(NOW)
    await two.open(NOW)
    await do(one, SavePlan(plan(), None))
    assert await two.plans.plan("plan-1") is None
    await one.close()
    await two.close()
