"""Opening the file, and telling why it cannot be opened."""

import os
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from soorma_ai.adapters.single_writer.lock import owner_of
from soorma_ai.adapters.sqlite.file.connection import BUSY_MS, Connection, ReadConnection
from soorma_ai.adapters.sqlite.file.faults import translate
from soorma_ai.adapters.sqlite.file.migrations import migrate
from soorma_ai.adapters.sqlite.file.wal import check_wal
from soorma_ai.errors import ConfigError, NotFound
from soorma_ai.kernel.sql.schema import APPLICATION_ID, VERSION
from soorma_ai.kernel.sql.storage import NO_FEATURES, FeatureSet

C = TypeVar("C", bound=sqlite3.Connection)

_OLDEST_LIBRARY = (3, 37, 0)


def open_writer(path: Path | None, features: FeatureSet = NO_FEATURES) -> Connection:
    """The one connection that writes; makes the file and tables, also of these features, where there are none. It waits
    for no lock."""
    if sqlite3.sqlite_version_info < _OLDEST_LIBRARY:
        wanted = ".".join(map(str, _OLDEST_LIBRARY))
        raise ConfigError(f"this Python has SQLite {sqlite3.sqlite_version}; {wanted} or newer is needed")
    try:
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            _make_private(path)
            check_wal(path)
        connection = _open(Connection, ":memory:" if path is None else str(path))
    except (OSError, sqlite3.Error) as error:
        raise ConfigError(f"cannot open the store {path}: {error}; give a file in a writable directory") from error
    with _close_on_fault(connection, path):
        _prepare(connection, path, features)
    connection.features = features
    connection.execute("PRAGMA busy_timeout = 0")
    return connection


def open_reader(path: Path, *, oldest: int = VERSION) -> ReadConnection:
    """Open a connection for committed rows. It cannot write, so it never checkpoints either: that is the writer's
    alone. `oldest` is the first useful version: for a copy, any, for that is done before a file is brought forward."""
    if not path.is_file():
        raise NotFound(f"there is no store at {path}; start the platform once, or give the path of its store")
    if owner_of(path) is None:
        check_wal(path)
    try:
        connection = _open(ReadConnection, f"{path.absolute().as_uri()}?mode=ro", uri=True)
    except sqlite3.Error as error:
        raise ConfigError(f"cannot open the store {path} for reading: {error}") from error
    with _close_on_fault(connection, path):
        version = _version(connection, path)
        if version == 0:
            raise ConfigError(f"{path} is no store yet: it is empty; start the platform on it once")
        if version < oldest:
            raise ConfigError(
                f"{path} is of an older version: its schema is {version}, this one reads {VERSION}; "
                "start the platform on it once, which brings it forward"
            )
    return connection


def schema_of(path: Path) -> int:
    """Return the version of a store's schema, of an older one too. Raise as `open_reader` does."""
    with closing(open_reader(path, oldest=1)) as connection:
        return _version(connection, path)


def names_in(connection: sqlite3.Connection) -> set[str]:
    """Return the names of all tables and indexes."""
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master").fetchall()}


def upgrade(path: Path, features: FeatureSet) -> tuple[int, int]:
    """Make the caller's own file, or bring it forward; return the version of its schema before, 0 for none, and the
    version now. Raise as `open_reader` does."""
    before = schema_of(path) if path.is_file() and path.stat().st_size else 0
    open_writer(path, features).close()
    return before, VERSION


@contextmanager
def _close_on_fault(connection: sqlite3.Connection, path: Path | None) -> Generator[None]:
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        connection.close()
        raise unusable(error, path) from error
    except ConfigError:
        connection.close()
        raise


def _make_private(path: Path) -> None:
    """Make a file that only this user reads; the log and the index beside it get its mode. One that is there keeps
    its own: it may be shared on purpose, and `soorma doctor` tells."""
    with suppress(FileExistsError):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.fchmod(descriptor, 0o600)
        os.close(descriptor)


def _open(kind: type[C], database: str, *, uri: bool = False) -> C:
    return kind(
        database, timeout=BUSY_MS / 1000, isolation_level=None, check_same_thread=False, cached_statements=256, uri=uri
    )


def _prepare(connection: sqlite3.Connection, path: Path | None, features: FeatureSet) -> None:
    # Nothing is written before the file is known to be ours.
    version = _version(connection, path)
    mode: str = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if path is not None and mode != "wal":
        raise ConfigError(f"{path} cannot be used with a write-ahead log (found {mode!r}); give a file on a local disk")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA journal_size_limit = 67108864")
    connection.execute("PRAGMA cache_size = -16384")
    if version < VERSION or features.missing(names_in(connection)):
        migrate(connection, version, features)
    # One that cannot be written is told here, and not by what is written first.
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("ROLLBACK")


def _version(connection: sqlite3.Connection, path: Path | None) -> int:
    """0 is an empty file."""
    tables: int = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    application: int = connection.execute("PRAGMA application_id").fetchone()[0]
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if tables == 0 and version == 0:
        return 0
    if application != APPLICATION_ID:
        raise ConfigError(f"{path} is the database of another program; give the store a file of its own")
    if version < 1:
        raise _damage(path, f"its schema is {version}")
    if version > VERSION:
        raise ConfigError(
            f"{path} was written by a newer version: its schema is {version}, this one knows {VERSION}; "
            "install that version, or give another file"
        )
    return version


def unusable(error: sqlite3.Error | UnicodeDecodeError, path: Path | None) -> Exception:
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code == sqlite3.SQLITE_NOTADB:
        return ConfigError(f"{path} is not an SQLite database; move it away, or give the store another path")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR):
        return _damage(path, error)
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return ConfigError(f"{path} cannot be written ({error}); give a file in a writable directory")
    return translate(error)


def _damage(path: Path | None, why: object) -> ConfigError:
    return ConfigError(f"{path} is damaged ({why}); restore it from a backup, or move it away to start afresh")
