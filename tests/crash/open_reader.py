"""Reads the store of a URL with the rights of its owner."""

import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from soorma_ai.settings import is_postgres, sqlite_path

Find = Callable[[str], list[Any]]


@contextmanager
def open_reader(url: str, *, read_only: bool = False) -> Generator[Find]:
    """Yield a function from a query to its rows. A file opened for writing is recovered first."""
    if is_postgres(url):
        with _server(url) as find:
            yield find
        return
    path = sqlite_path(url)
    assert path is not None, "a store in memory cannot be read from outside"
    with closing(sqlite3.connect(f"{Path(path).absolute().as_uri()}{'?mode=ro' * read_only}", uri=True)) as db:
        yield lambda query: db.execute(query).fetchall()


@contextmanager
def _server(url: str) -> Generator[Find]:
    """Import the driver only here, since most trials need none."""
    import psycopg
    from postgres_server import OWNER, as_role

    with psycopg.connect(as_role(url, OWNER), autocommit=True, options="-c search_path=soorma") as db:
        yield lambda query: db.execute(query.encode()).fetchall()
