"""An unusable file is refused with the fault and the cure. A look at a file changes nothing."""

import shutil
import sqlite3
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
from store_kit import NOW, answer, do, event, gate, in_hand, later, open_store, plan, save_running_plan, unsent_ids

from soorma_ai.adapters.sqlite import SqliteStore
from soorma_ai.adapters.sqlite.file import files
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.errors import ConfigError, LocalProtocolError, NotFound, SoormaError, StoreUnavailable
from soorma_ai.kernel.domain.effects import SavePlan
from soorma_ai.kernel.domain.people import Person


async def refusal_of(path: Path, *, read_only: bool = False) -> SoormaError:
    store = SqliteStore(path, ALL_FEATURES, read_only=read_only)
    with pytest.raises(SoormaError) as told:
        await store.open(NOW)
    assert str(path) in str(told.value)
    await store.close()
    return told.value


@asynccontextmanager
async def filled_store(path: Path) -> AsyncGenerator[SqliteStore]:
    async with open_store(SqliteStore(path, ALL_FEATURES)) as store:
        await do(store, SavePlan(plan(), None))
        yield store


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A store closed by its owner."""
    path = tmp_path / "store.db"
    async with filled_store(path):
        return path


@pytest.mark.parametrize("name", ["a/b/store.db", "empty.db", "a b?c#d%41&mode=memory é.db"])
async def test_a_store_is_made_in_a_missing_directory_an_empty_file_and_under_any_name(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "empty.db").touch()
    async with filled_store(tmp_path / name) as store:
        assert await store.plans.plan("plan-1") == plan()
        assert await store.database.write(lambda db: db.execute("PRAGMA synchronous").fetchone()) == (2,)
        assert await store.database.write(lambda db: db.execute("PRAGMA journal_mode").fetchone()) == ("wal",)
    assert (tmp_path / name).is_file()


@pytest.mark.parametrize(
    ("name", "fault"), [(".", "writable directory"), ("file/store.db", "writable directory"), ("n" * 300, "n")]
)
async def test_a_place_unfit_for_a_store_is_refused_with_the_fault(tmp_path: Path, name: str, fault: str) -> None:
    (tmp_path / "file").write_text("x")
    error = await refusal_of(tmp_path / name)
    assert type(error) is ConfigError and fault in str(error)


def notes(path: Path) -> None:
    path.write_text("Dear diary, " * 500)


def anothers_database(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as theirs:
        theirs.execute("CREATE TABLE plan (theirs)")


def newer_schema(path: Path) -> None:
    with closing(sqlite3.connect(path)) as newer:
        newer.execute("PRAGMA user_version = 99")


def damage(path: Path, start: int = 100, end: int | None = 4096) -> None:
    content = bytearray(path.read_bytes())
    content[start:end] = b"\xff" * len(content[start:end])
    path.write_bytes(content)


def everything_at(path: Path) -> tuple[list[Path], bytes]:
    return list(path.parent.iterdir()), path.read_bytes()


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (notes, ["not an SQLite database"]),
        (anothers_database, ["another program"]),
        (newer_schema, ["99", "newer"]),
        (damage, ["damaged", "backup"]),
    ],
)
async def test_a_file_other_than_a_store_is_refused_and_left_unchanged(
    path: Path, spoil: Callable[[Path], None], words: list[str], read_only: bool
) -> None:
    spoil(path)
    before = everything_at(path)
    error = await refusal_of(path, read_only=read_only)
    assert type(error) is ConfigError and all(word in str(error) for word in words)
    after = everything_at(path)
    assert after[1] == before[1]
    assert after == before or spoil is not notes


async def test_later_damage_is_reported_by_the_call_that_finds_it(path: Path) -> None:
    damage(path, 3 * 4096, None)
    store = SqliteStore(path, ALL_FEATURES)
    with pytest.raises(ConfigError, match="damaged"):
        await store.open(NOW)
        await store.plans.plan("plan-1")
    await store.close()


async def test_a_file_locked_by_another_program_may_be_free_later(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BUSY_MS", 10)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store = SqliteStore(path, ALL_FEATURES)
    with pytest.raises(StoreUnavailable, match="locked"):
        await store.open(NOW)
    other.execute("ROLLBACK")
    await store.open(NOW)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="locked"):
        await store.queue.send([event("e-1")], None, NOW)
    assert await store.plans.plan("plan-1") == plan(), "reading goes on"
    other.close()
    await store.queue.send([event("e-1")], None, NOW)
    await store.close()


async def test_a_reader_needs_a_store(tmp_path: Path) -> None:
    assert type(await refusal_of(tmp_path / "nothing.db", read_only=True)) is NotFound
    (tmp_path / "empty.db").touch()
    assert type(await refusal_of(tmp_path / "empty.db", read_only=True)) is ConfigError
    with pytest.raises(LocalProtocolError, match="path of a file"):
        SqliteStore(None, ALL_FEATURES, read_only=True)


async def test_a_reader_sees_the_owners_commits_writes_nothing_and_frees_no_lease(tmp_path: Path) -> None:
    reader = SqliteStore(tmp_path / "store.db", ALL_FEATURES, read_only=True)
    async with filled_store(tmp_path / "store.db") as owner:
        await save_running_plan(owner, gate("g-1"), plan_id="plan-2")
        (held,) = await in_hand(owner, "e-1")
        await reader.open(NOW)
        await owner.queue.send([event("e-2")], None, NOW)
        assert await unsent_ids(reader) == ["e-2"]
        for attempt in (
            reader.queue.send([event("x")], None, NOW),
            reader.queue.claim("worker", later(99), later(99) - NOW, 1),
            reader.plans.answer("g-1", answer("a"), Person(), NOW),
            reader.plans.cancel("plan-1", "x", NOW),
        ):
            with pytest.raises(LocalProtocolError, match="read-only"):
                await attempt
        assert await owner.queue.renew([held], later(60)) == [held]
    assert await reader.plans.plan("plan-1") == plan()
    await reader.close()
    with pytest.raises(StoreUnavailable, match="not open"):
        await reader.plans.plan("plan-1")


async def test_the_store_of_a_killed_owner_can_be_read_and_taken_over(tmp_path: Path) -> None:
    async with filled_store(tmp_path / "live.db"):
        for suffix in ("", "-wal"):  # a kill leaves a file, and a log not yet copied into it
            shutil.copyfile(tmp_path / f"live.db{suffix}", tmp_path / f"left.db{suffix}")
    for read_only in (True, False):
        async with open_store(SqliteStore(tmp_path / "left.db", ALL_FEATURES, read_only=read_only)) as store:
            assert await store.plans.plan("plan-1") == plan()


async def test_memory_is_a_store_of_its_own() -> None:
    async with open_store(SqliteStore(None, ALL_FEATURES)) as one, open_store(SqliteStore(None, ALL_FEATURES)) as two:
        await do(one, SavePlan(plan(), None))
        assert await two.plans.plan("plan-1") is None
