"""Connections to the file."""

import sqlite3
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from soorma_ai.adapters.sqlite.file.faults import in_our_words
from soorma_ai.adapters.sqlite.file.full_text import FullText, index_of
from soorma_ai.kernel.sql import connection as family

BUSY_MS = 5000


class ReadConnection(sqlite3.Connection):
    """The connection that reads."""

    # A file has one process that changes it.
    registry = 0
    # The writing connection may be at a change.
    is_settled = False
    # Places in the log are given in the order of commits.
    log_end = None

    def words(self, table: str) -> FullText:
        return index_of(table)


class Connection(sqlite3.Connection, family.Connection):
    """The connection that writes. Hands are reserved on the loop's thread alone."""

    registry = 0

    def __init__(self, *arguments: Any, **options: Any) -> None:
        sqlite3.Connection.__init__(self, *arguments, **options)
        family.Connection.__init__(self)

    @property
    def is_settled(self) -> bool:
        return not self.in_transaction

    def words(self, table: str) -> FullText:
        return index_of(table)

    def in_our_words(self) -> AbstractContextManager[None]:
        return in_our_words()

    @contextmanager
    def overwriting(self) -> Generator[None]:
        """Overwrite pages with zeros."""
        ((before,),) = self.execute("PRAGMA secure_delete").fetchall()
        self.execute("PRAGMA secure_delete = ON")
        try:
            yield
        finally:
            self.execute(f"PRAGMA secure_delete = {int(before)}")

    @contextmanager
    def careful(self) -> Generator[None]:
        """Wait for a holder of the file, too; this needs a thread without waiters."""
        self.is_careful = True
        self.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        try:
            yield
        finally:
            self.execute("PRAGMA busy_timeout = 0")
            self.is_careful = False
