"""A backup is all of one moment, checked and in its place in one step, while the owner of the file works on."""

import asyncio
import os
import resource
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from store_kit import NOW, claim_all, do, in_hand, open_store, plan, save_running_plan, step

from soorma_ai.adapters.single_writer.lock import OwnerLock
from soorma_ai.adapters.sqlite import SqliteStore
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.errors import ConfigError, NotFound
from soorma_ai.features.upkeep.backup import back_up
from soorma_ai.kernel.domain.effects import AppendStep, SavePlan

LIMITED = """
import resource, signal, sys
from pathlib import Path
from soorma_ai.features.upkeep.backup import back_up
from soorma_ai.errors import ConfigError

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
try:
    back_up(Path(sys.argv[1]), Path(sys.argv[2]))
except ConfigError as error:
    print(error)
"""


@pytest.fixture
async def source(tmp_path: Path) -> Path:
    """A store closed by its owner."""
    async with open_store(SqliteStore(tmp_path / "store.db", ALL_FEATURES)) as store:
        await save_running_plan(store)
    return tmp_path / "store.db"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "kept").mkdir()
    return tmp_path / "kept"


def names(folder: Path) -> list[str]:
    return sorted(found.name for found in folder.iterdir())


def size_and_mode(path: Path) -> tuple[int, int]:
    return path.stat().st_size, stat.S_IMODE(path.stat().st_mode)


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as db:
        return list(db.iterdump())


def test_a_backup_is_the_store_again_and_only_its_user_can_read_it(source: Path, place: Path) -> None:
    size = back_up(source, place / "copy.db")
    assert names(place) == ["copy.db"]
    assert (size, 0o600) == size_and_mode(place / "copy.db")
    assert dump(place / "copy.db") == dump(source)


async def test_a_backup_holds_the_rows_of_the_log_and_its_leases_are_void(tmp_path: Path, place: Path) -> None:
    async with open_store(SqliteStore(tmp_path / "store.db", ALL_FEATURES)) as store:
        await save_running_plan(store)
        (held,) = await in_hand(store, "e-1")
        assert (tmp_path / "store.db-wal").stat().st_size > 0
        back_up(tmp_path / "store.db", place / "copy.db")
    async with open_store(SqliteStore(place / "copy.db", ALL_FEATURES)) as copy:
        assert await copy.plans.plan("plan-1") == plan()
        (again,) = await claim_all(copy)
        assert (again.event.id, again.attempt) == (held.event.id, 2)


async def test_backups_beside_a_busy_writer_are_each_of_one_moment_and_do_not_block_it(
    tmp_path: Path, place: Path
) -> None:
    store = SqliteStore(tmp_path / "store.db", ALL_FEATURES)
    await store.open(NOW)
    filling = "CREATE TABLE filling AS WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 4000) "
    await store.database.write(lambda db: db.execute(f"{filling} SELECT n, hex(randomblob(1000)) AS text FROM n"))
    count, done = 0, asyncio.Event()

    async def writing() -> None:
        nonlocal count
        while not done.is_set():
            name = f"plan-{count}"
            # A commit is a plan, its step and the event that was in hand: never one without the others.
            await do(store, SavePlan(plan(name), None), AppendStep(step(0, name)))
            count += 1

    busy = asyncio.create_task(writing())
    meanwhile: list[int] = []
    for number in range(3):
        before = count
        await asyncio.to_thread(back_up, tmp_path / "store.db", place / f"{number}.db")
        meanwhile.append(count - before)
    done.set()
    await busy
    await store.close()
    assert sum(meanwhile) > 0  # of a single short copy, a busy machine may see none
    plans: list[int] = []
    for number in range(3):
        with closing(sqlite3.connect(place / f"{number}.db")) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            odd = "SELECT (SELECT count(*) FROM plan), (SELECT count(*) FROM step), "
            found = db.execute(f"{odd} (SELECT count(*) FROM inbox WHERE state = 'done')").fetchone()
            assert len(set(found)) == 1
            plans.append(found[0])
    assert plans == sorted(plans)


async def test_an_existing_file_is_replaced_only_on_request(source: Path, place: Path) -> None:
    (place / "copy.db").write_text("mine")
    with pytest.raises(ConfigError, match="exists; give another name, or --force"):
        back_up(source, place / "copy.db")
    assert (place / "copy.db").read_text() == "mine"
    back_up(source, place / "copy.db", replace=True)
    assert dump(place / "copy.db") == dump(source)
    assert names(place) == ["copy.db"]


async def test_a_store_in_use_is_no_place_for_a_backup(source: Path, place: Path) -> None:
    async with open_store(SqliteStore(place / "other.db", ALL_FEATURES)) as other:
        await save_running_plan(other)
        with pytest.raises(ConfigError, match="in use"):
            back_up(source, place / "other.db", replace=True)
        assert await other.plans.plan("plan-1") == plan()
    before = dump(place / "other.db")
    with OwnerLock.take(place / "other.db", purpose="the shop"), pytest.raises(ConfigError) as told:
        back_up(source, place / "other.db", replace=True)
    assert str(told.value) == (
        f"{place / 'other.db'} is in use by process {os.getpid()} (the shop): stop it, or give another name"
    )
    assert dump(place / "other.db") == before, "however quiet its owner is"
    back_up(source, place / "other.db", replace=True)
    assert dump(place / "other.db") == dump(source)


def test_a_log_left_behind_at_the_place_of_a_backup_is_a_refusal(source: Path, place: Path) -> None:
    (place / "copy.db-wal").write_bytes(b"left")
    with pytest.raises(ConfigError, match="in use, or its owner was killed"):
        back_up(source, place / "copy.db")
    assert names(place) == ["copy.db-wal"]


async def test_a_reader_of_the_last_backup_is_no_hindrance(source: Path, place: Path) -> None:
    back_up(source, place / "copy.db")
    async with open_store(SqliteStore(place / "copy.db", ALL_FEATURES, read_only=True)):
        pass
    assert len(names(place)) > 1
    back_up(source, place / "copy.db", replace=True)
    assert dump(place / "copy.db") == dump(source)


def test_the_store_itself_is_no_backup_of_it(source: Path, place: Path) -> None:
    (place / "link.db").symlink_to(source)
    for target in (source, place / "link.db"):
        with pytest.raises(ConfigError, match="the store itself"):
            back_up(source, target, replace=True)


@pytest.mark.parametrize(
    ("target", "told"),
    [("nowhere/copy.db", "no directory"), ("kept", "is a directory"), ("store.db/copy.db", "no directory")],
)
def test_an_invalid_place_is_refused_with_the_reason(source: Path, place: Path, target: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        back_up(source, source.parent / target)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_directory_is_refused(source: Path, place: Path) -> None:
    place.chmod(0o500)
    with pytest.raises(ConfigError, match="cannot be written"):
        back_up(source, place / "copy.db")


async def test_a_file_other_than_a_store_is_not_backed_up(tmp_path: Path, place: Path) -> None:
    with pytest.raises(NotFound, match="no store at"):
        back_up(tmp_path / "nothing.db", place / "copy.db")
    with closing(sqlite3.connect(tmp_path / "theirs.db")) as theirs:
        theirs.execute("CREATE TABLE plan (theirs)")
    with pytest.raises(ConfigError, match="another program"):
        back_up(tmp_path / "theirs.db", place / "copy.db")
    (tmp_path / "notes.txt").write_text("Dear diary, " * 500)
    with pytest.raises(ConfigError, match="not an SQLite database"):
        back_up(tmp_path / "notes.txt", place / "copy.db")
    assert names(place) == []


def test_a_damaged_store_gives_no_backup(source: Path, place: Path) -> None:
    content = bytearray(source.read_bytes())
    content[8 * 4096 : 9 * 4096] = b"\xff" * 4096
    source.write_bytes(content)
    with pytest.raises(ConfigError, match="damaged"):
        back_up(source, place / "copy.db")
    assert names(place) == []


async def test_a_store_of_an_older_version_can_be_backed_up_before_its_upgrade(source: Path, place: Path) -> None:
    with closing(sqlite3.connect(source)) as older:
        older.execute("PRAGMA user_version = 1")
    back_up(source, place / "copy.db")
    with closing(sqlite3.connect(place / "copy.db")) as copy:
        assert copy.execute("PRAGMA user_version").fetchone() == (1,)


def test_a_backup_without_room_says_how_much_it_needs_and_leaves_nothing(source: Path, place: Path) -> None:
    size = source.stat().st_size
    command = [sys.executable, "-c", LIMITED, str(source), str(place / "copy.db"), str(size // 2)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "does not fit" in told
    assert f"{size:,} bytes" in told
    assert names(place) == []
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY, "the limit was the child's alone"
