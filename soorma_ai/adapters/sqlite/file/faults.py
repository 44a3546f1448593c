"""Errors of sqlite3, in our words."""

import json
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

from pydantic_core import PydanticSerializationError, ValidationError

from soorma_ai.errors import ConfigError, LocalProtocolError, SoormaError, StoreUnavailable, VersionConflict

_MAY_COME_BACK = {
    sqlite3.SQLITE_BUSY: "the file is locked by another process",
    sqlite3.SQLITE_LOCKED: "a table is locked",
    sqlite3.SQLITE_NOMEM: "out of memory",
    sqlite3.SQLITE_READONLY: "the file cannot be written",
    sqlite3.SQLITE_INTERRUPT: "the statement was interrupted",
    sqlite3.SQLITE_IOERR: "the disk reports an I/O error",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened",
    sqlite3.SQLITE_PROTOCOL: "the file's locks are contended",
}
_CANNOT_BE_WRITTEN = (OverflowError, ValueError, PydanticSerializationError)
_CANNOT_BE_READ = (UnicodeDecodeError, json.JSONDecodeError, ValidationError)


def translate(error: Exception) -> Exception:
    """Return an error of our tree for a library's; anything else as it is."""
    if isinstance(error, sqlite3.Error):
        return _of_sqlite(error)
    if isinstance(error, _CANNOT_BE_READ):
        return _damage(error)
    if isinstance(error, _CANNOT_BE_WRITTEN):
        return LocalProtocolError(f"this cannot be stored or looked for: {error}; give JSON values and 64-bit integers")
    return error


# Raised inside by SQLite and by codecs.
FOREIGN = (sqlite3.Error, *_CANNOT_BE_WRITTEN)


@contextmanager
def in_our_words() -> Generator[None]:
    """Raise errors inside as errors of our tree."""
    try:
        yield
    except FOREIGN as error:
        raise translate(error) from error


def _of_sqlite(error: sqlite3.Error) -> SoormaError:
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code in _MAY_COME_BACK:
        return StoreUnavailable(f"the store cannot be used now: {_MAY_COME_BACK[code]} ({error})")
    if code == sqlite3.SQLITE_CONSTRAINT:
        return VersionConflict(f"somebody else wrote this row first ({error})")
    if isinstance(error, sqlite3.ProgrammingError) and "closed" in str(error):
        return StoreUnavailable("the store is closed")
    if isinstance(error, sqlite3.ProgrammingError | sqlite3.InterfaceError | sqlite3.DataError):
        return LocalProtocolError(f"the store refused a statement: {error}")
    # The statements are known to be right, so what they meet is not what was written.
    return _damage(error)


def _damage(error: Exception) -> ConfigError:
    return ConfigError(f"the store's file is damaged ({error}): stop its owner and restore the file from a backup")
