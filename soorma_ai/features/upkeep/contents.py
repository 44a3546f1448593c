"""Contents of a file, for a move into another database."""

import sqlite3
from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from soorma_ai.adapters.sqlite.file import files
from soorma_ai.features.upkeep.export import Contents, Row, TableRows

# Full-text tables, whose rows stand in tables of their own; what they are made of is given as words.
_TABLES = """
    SELECT name FROM pragma_table_list
    WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name
"""
_ROWIDS = "SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?"
_WORDS = "SELECT rowid, title, content, marks FROM memo_text"


@contextmanager
def contents_of(path: Path) -> Generator[Contents]:
    """Yield the contents of the file, to be read while this lasts. Raise as `files.open_reader` does."""
    with closing(files.open_reader(path)) as db:
        try:
            db.execute("BEGIN")
            tables = [_table(db, name) for (name,) in db.execute(_TABLES).fetchall()]
            last: dict[str, int] = dict(db.execute("SELECT name, seq FROM sqlite_sequence").fetchall())
            has_words = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'memo_text'").fetchone() is not None
            yield Contents(tables, lambda: db.execute(_WORDS) if has_words else (), last)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise files.unusable(error, path) from error


def _table(db: sqlite3.Connection, name: str) -> TableRows:
    """Columns that are made of others are left out."""
    columns = [str(row[1]) for row in db.execute(f"PRAGMA table_info({name})").fetchall()]
    has_order = not db.execute(_ROWIDS, (name,)).fetchone()[0]
    order = "ORDER BY rowid" if has_order else ""
    return TableRows(name, columns, partial(_rows, db, f'SELECT {", ".join(columns)} FROM "{name}" {order}'))


def _rows(db: sqlite3.Connection, query: str) -> Iterable[Row]:
    return db.execute(query)
