"""The write-ahead log after a kill: damage is reported at the opening; a torn tail is no damage. The files of a store
are its owner's alone."""

import os
import shutil
import stat
from collections.abc import Callable, Generator
from pathlib import Path

import places
import pytest
from store_kit import NOW, event, open_store

from soorma_ai import Platform
from soorma_ai.adapters.sqlite import SqliteStore
from soorma_ai.adapters.sqlite.file import files
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.errors import ConfigError

SENT = 6
HEADER, FRAME = 32, 24
PAGE = 4096


async def leave_store(folder: Path, sent: int = SENT) -> Path:
    """Return a store as a kill leaves it: its log holds one transaction for each event."""
    store, left = SqliteStore(folder / "store.db", ALL_FEATURES), folder / "left"
    left.mkdir()
    async with open_store(store):
        # Earlier writes are in the file.
        store.database.writer.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for number in range(sent):
            await store.queue.send([event(f"e-{number}")], None, NOW)
        for name in ("store.db", "store.db-wal"):
            shutil.copy(folder / name, left / name)
    return left / "store.db"


def frames(log: bytes) -> list[tuple[int, bool]]:
    """Return where each frame begins, and whether it ends a transaction."""
    starts = range(HEADER, len(log) - FRAME - PAGE + 1, FRAME + PAGE)
    return [(at, log[at + 4 : at + 8] != bytes(4)) for at in starts]


def flip(log: bytes, at: int, count: int = 8) -> bytes:
    return log[:at] + bytes(one ^ 255 for one in log[at : at + count]) + log[at + count :]


async def stored_events(path: Path) -> list[str]:
    async with open_store(SqliteStore(path, ALL_FEATURES)) as store:
        return [row.event.id for row in await store.events.events()]


async def test_a_whole_log_is_opened(tmp_path: Path) -> None:
    assert await stored_events(await leave_store(tmp_path)) == [f"e-{number}" for number in range(SENT)]


Spoil = Callable[[bytes], bytes]
SPOILT: dict[str, Spoil] = {
    "magic": lambda log: flip(log, 0, 4),
    "page size": lambda log: flip(log, 8, 4),
    "salts": lambda log: flip(log, 16),
    "checksum of the header": lambda log: flip(log, 24),
    "header of zeros": lambda log: bytes(HEADER) + log[HEADER:],
    "page of the first frame": lambda log: flip(log, HEADER + FRAME + 100),
    "checksum of the first frame": lambda log: flip(log, HEADER + 16),
    "salts of the first frame": lambda log: flip(log, HEADER + 8),
    "page in the middle": lambda log: flip(log, frames(log)[len(frames(log)) // 2][0] + FRAME + 100),
    "end of the last transaction but one": lambda log: flip(log, [at for at, ends in frames(log) if ends][-2] + FRAME),
}


@pytest.mark.parametrize("name", SPOILT)
async def test_a_damaged_log_is_refused_at_every_opening_and_left_unchanged(tmp_path: Path, name: str) -> None:
    path = await leave_store(tmp_path)
    log = path.with_name("store.db-wal")
    log.write_bytes(SPOILT[name](log.read_bytes()))
    before = log.read_bytes()
    for read_only in (True, False):
        with pytest.raises(ConfigError, match=r"store\.db-wal is damaged .* restore store\.db from a backup, or move"):
            await SqliteStore(path, ALL_FEATURES, read_only=read_only).open(NOW)
    with pytest.raises(ConfigError, match="is damaged"):
        files.schema_of(path)
    assert log.read_bytes() == before


TORN: dict[str, Spoil] = {
    "empty": lambda log: b"",
    "within the header": lambda log: log[:20],
    "within the last frame": lambda log: log[:-100],
    "before the last frame": lambda log: log[: frames(log)[-1][0]],
    "a last frame of zeros": lambda log: log[: frames(log)[-1][0]] + bytes(FRAME + PAGE),
    "a last transaction whose end came first": lambda log: flip(log, frames(log)[-2][0] + FRAME + 100),
    "room before the first write": lambda log: bytes(len(log)),
}


@pytest.mark.parametrize("name", TORN)
async def test_a_torn_tail_is_legal(tmp_path: Path, name: str) -> None:
    path = await leave_store(tmp_path)
    log = path.with_name("store.db-wal")
    content = log.read_bytes()
    assert not frames(content)[-2][1], "the last transaction has several frames"
    log.write_bytes(TORN[name](content))
    found = await stored_events(path)
    assert found == [f"e-{number}" for number in range(len(found))]
    assert len(found) < SENT


async def test_frames_of_an_earlier_round_of_the_log_are_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    (tmp_path / "left").mkdir()
    async with open_store(SqliteStore(path, ALL_FEATURES)) as store:
        for number in range(2 * SENT):
            await store.queue.send([event(f"e-{number}")], None, NOW)
            if number == SENT:
                store.database.writer.connection.execute("PRAGMA wal_checkpoint(RESTART)")
        for name in ("store.db", "store.db-wal"):
            shutil.copy(tmp_path / name, tmp_path / "left" / name)
    assert len(await stored_events(tmp_path / "left" / "store.db")) == 2 * SENT


def modes_in(folder: Path) -> dict[str, int]:
    return {one.name: stat.S_IMODE(one.stat().st_mode) for one in folder.iterdir()}


@pytest.fixture
def open_umask() -> Generator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.skipif(places.ON_POSTGRES, reason="a server keeps its files itself")
@pytest.mark.usefixtures("open_umask")
async def test_every_file_of_a_store_is_its_users_alone_under_any_umask(tmp_path: Path) -> None:
    async with Platform(f"sqlite:///{tmp_path}/store.db") as platform:
        await platform.publish("business-facts", "order.placed", {})
        modes = modes_in(tmp_path)
    assert modes == dict.fromkeys([f"store.db{end}" for end in ("", "-wal", "-shm", ".owner", ".sock")], 0o600)


@pytest.mark.usefixtures("open_umask")
async def test_a_file_shared_on_purpose_stays_shared(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch(0o640)
    async with open_store(SqliteStore(path, ALL_FEATURES)):
        assert {*modes_in(tmp_path).values()} == {0o640}
