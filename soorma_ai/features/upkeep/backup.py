"""A copy of a store's file, made while it is in use: all of one moment, checked, and in its place in one step."""

import os
import sqlite3
import tempfile
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

from soorma_ai.adapters.single_writer.lock import owner_of
from soorma_ai.adapters.sqlite.file import files
from soorma_ai.errors import ConfigError

_IN_USE = ("-wal", "-journal")
_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)


def back_up(source: Path, target: Path, *, replace: bool = False) -> int:
    """Return the size in bytes. The owner of `source` goes on meanwhile; of another schema version it may be.

    Raises ConfigError when `target` exists and `replace` is not given, is in use, or cannot be written, and when the
    source is damaged; NotFound when there is no source.
    """
    _check(source, target, replace=replace)
    with _beside(target) as copy:
        with closing(files.open_reader(source, oldest=1)) as original:
            _copy(original, copy, target)
        _verify(copy, source)
        size = copy.stat().st_size
        _sync(copy)
        _check(source, target, replace=replace)  # again: this may have taken a while
        copy.replace(target)
    _sync(target.parent)
    return size


def _check(source: Path, target: Path, *, replace: bool) -> None:
    if target.is_dir():
        raise ConfigError(f"{target} is a directory; give the name of a file in it")
    if not target.parent.is_dir():
        raise ConfigError(f"there is no directory {target.parent}: make it first, or give another place")
    if target.exists() and source.exists() and target.samefile(source):
        raise ConfigError(f"{target} is the store itself; give another file")
    if target.exists() and not replace:
        raise ConfigError(f"{target} exists; give another name, or --force to replace it")
    owner = owner_of(target)
    if owner is not None:
        raise ConfigError(f"{target} is in use by process {owner.pid} ({owner.purpose}): stop it, or give another name")
    for left in (target.with_name(target.name + end) for end in _IN_USE):
        # It would be taken for the new file's own, and written into it. Somebody who only looked leaves an empty one.
        if left.exists() and left.stat().st_size:
            raise ConfigError(f"{left} says that {target.name} is in use, or its owner was killed; give another name")


@contextmanager
def _beside(target: Path) -> Generator[Path]:
    """A new file that only this user can read, gone at the end unless it was moved."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:80]}.", suffix=".part", dir=target.parent)
    except OSError as error:
        raise ConfigError(f"{target.parent} cannot be written ({error.strerror}); give another place") from error
    os.close(descriptor)
    made = Path(name)
    try:
        yield made
    except OSError as error:
        raise ConfigError(f"the backup {target} could not be made: {error}; nothing was left behind") from error
    finally:
        made.unlink(missing_ok=True)


def _copy(original: sqlite3.Connection, copy: Path, target: Path) -> None:
    """Copy in one go: a source that is written to meanwhile would have to be begun again and again in parts."""
    try:
        with closing(sqlite3.connect(copy, isolation_level=None)) as made:
            made.execute("PRAGMA journal_mode = OFF")  # what breaks off is thrown away
            made.execute("PRAGMA synchronous = OFF")  # it is synced once, when it is whole
            original.backup(made)
    except sqlite3.Error as error:
        if error.sqlite_errorcode & 0xFF in _ROOM:
            pages: int = original.execute("PRAGMA page_count").fetchone()[0]
            size: int = pages * original.execute("PRAGMA page_size").fetchone()[0]
            raise ConfigError(
                f"the backup {target} does not fit ({error}): it needs {size:,} bytes; make room, or give another place"
            ) from error
        raise files.unusable(error, target) from error


def _verify(copy: Path, source: Path) -> None:
    # Immutable, so that no files of a database in use come to be beside it.
    try:
        with closing(sqlite3.connect(f"{copy.absolute().as_uri()}?immutable=1", uri=True)) as made:
            told: str = made.execute("PRAGMA integrity_check(1)").fetchone()[0]
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise files.unusable(error, source) from error
    if told != "ok":
        raise ConfigError(f"{source} is damaged, and so would be its backup ({told}); restore an older one")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
