"""Contents of a file, for a move into another database."""

import sqlite3
from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from soorma_ai.adapters.sqlite.file import files
from soorma_ai.adapters.sqlite.file.full_text import text_table
from soorma_ai.features.upkeep.export import Contents, Row, TableRows

# Without full-text tables, whose rows stand in tables of their own.
_TABLES = """
    SELECT name FROM pragma_table_list
    WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name
"""
_ROWIDS = "SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?"
_IS_THERE = "SELECT 1 FROM sqlite_master WHERE name = ?"


@contextmanager
def contents_of(path: Path) -> Generator[Contents]:
    """Yield the contents of the file, to be read while this lasts. Raise as `files.open_reader` does."""
    with closing(files.open_reader(path)) as db:
        try:
            db.execute("BEGIN")
            tables = [_table(db, name) for (name,) in db.execute(_TABLES).fetchall()]
            last: dict[str, int] = dict(db.execute("SELECT name, seq FROM sqlite_sequence").fetchall())
            yield Contents(tables, partial(_texts, db), last)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise files.unusable(error, path) from error


def _table(db: sqlite3.Connection, name: str) -> TableRows:
    """Columns that are made of others are left out."""
    columns = [str(row[1]) for row in db.execute(f"PRAGMA table_info({name})").fetchall()]
    has_order = not db.execute(_ROWIDS, (name,)).fetchone()[0]
    order = "ORDER BY rowid" if has_order else ""
    return TableRows(name, columns, partial(_rows, db, f'SELECT {", ".join(columns)} FROM "{name}" {order}'))


def _texts(db: sqlite3.Connection, table: str) -> Iterable[tuple[int, str, str, str]]:
    name = text_table(table)
    is_there = db.execute(_IS_THERE, (name,)).fetchone() is not None
    return db.execute(f"SELECT rowid, title, content, marks FROM {name}") if is_there else ()


def _rows(db: sqlite3.Connection, query: str) -> Iterable[Row]:
    return db.execute(query)
