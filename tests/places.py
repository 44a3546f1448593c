"""Places of stores and buses in tests, by the environment alone, so one suite runs in every place. Tests name files of
SQLite. With SOORMA_TEST_STORE=postgresql a database of a real server stands for each file, with SOORMA_TEST_BUS=nats a
namespace of a real server carries the events of each, with both, both.
"""

import hashlib
import os
import shutil
import sqlite3
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import nats_server
import postgres_server
from msgspec.structs import replace

import soorma_ai.platform
from soorma_ai.kernel.ports import Store
from soorma_ai.kernel.sql.parts import SqlStore, StorePart
from soorma_ai.settings import Settings, is_postgres, read_settings, sqlite_path

ON_POSTGRES = postgres_server.IS_MEANT
ON_NATS = nats_server.IS_MEANT
_in_memory = count(1)


def url_of(store: Path | str) -> str:
    """Return the URL of the store in the place of this file, or of this URL of a file."""
    path = sqlite_path(store) if isinstance(store, str) and not is_postgres(store) else store
    if isinstance(path, str):
        return path
    if not ON_POSTGRES:
        return f"sqlite:///{path}" if path else "sqlite://"
    return postgres_server.url_of(path.absolute()) if path else postgres_server.shared().database()


def bus_of(store_url: str | None) -> str:
    """Return the URL of this store's namespace, or, without a store, of the running test's."""
    if store_url == "sqlite://":
        store_url = f"memory {next(_in_memory)}"
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    named = postgres_server.content_of(store_url) if store_url else test
    return f"{nats_server.shared().url}/{hashlib.sha256(f'{os.getpid()} {named}'.encode()).hexdigest()[:24]}"


def environment_of(store: Path) -> dict[str, str]:
    """Return the environment of a process with the store in the place of this file."""
    url = url_of(store)
    return {"SOORMA_STORE_URL": url} | ({"SOORMA_BUS_URL": bus_of(url)} if ON_NATS else {})


def stand_in() -> None:
    """Open every later platform of this process in the place of the environment, for any named file."""

    def read(store_url: str | None = None, bus_url: str | None = None) -> Settings:
        settings = read_settings(store_url, bus_url)
        url = settings.store_url
        if ON_POSTGRES and (store_url or os.environ.get("SOORMA_STORE_URL")):
            settings = replace(settings, store_url=url_of(url))
        if ON_NATS and not bus_url and not os.environ.get("SOORMA_BUS_URL"):
            has_store = bool(store_url or os.environ.get("SOORMA_STORE_URL"))
            settings = replace(settings, bus_url=bus_of(settings.store_url if has_store else None))
        return settings

    if ON_POSTGRES or ON_NATS:
        soorma_ai.platform.read_settings = read
    if ON_POSTGRES:
        _keep_replaced_operations_in_tenant_views()


def _keep_replaced_operations_in_tenant_views() -> None:
    """Keep replaced operations in a store's views by tenant: a test replaces an operation of a platform's store, and on
    a database each tenant's calls use a copy with new parts."""
    within = SqlStore.within

    def within_and_replaced(self: SqlStore, tenant_id: str) -> Store:
        scoped = within(self, tenant_id)
        for name, part in vars(self).items():
            if isinstance(part, StorePart) and scoped is not self:
                made = getattr(scoped, name)
                for key in vars(part).keys() & set(dir(type(part))):
                    setattr(made, key, getattr(part, key))
        return scoped

    SqlStore.within = within_and_replaced


def copy(store: Path, to: Path) -> None:
    """Copy a store without an open connection."""
    if ON_POSTGRES:
        postgres_server.copy(store.absolute(), to.absolute())
    else:
        shutil.copy(store, to)


def bytes_of(store: Path) -> bytes:
    """Return the whole content of a store: a file with its leftovers, or the rows of a database."""
    return postgres_server.rows_of(store.absolute()) if ON_POSTGRES else store.read_bytes()


def counts_of(store: Path) -> dict[str, int]:
    """Return the number of rows of each table."""
    listed = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'memo_text_%'"
    if ON_POSTGRES:
        listed = "SELECT tablename FROM pg_tables WHERE schemaname = 'soorma'"
    with raw(store) as owner:
        names = [name for (name,) in owner.execute(listed).fetchall()]
        return {name: owner.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names}


@contextmanager
def refusing(store: Path, table: str) -> Generator[None]:
    """Refuse every write to a table while the block lasts, with the error `no room`."""
    begin = f"CREATE TRIGGER no_room BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'no room'); END"
    end = "DROP TRIGGER no_room"
    if ON_POSTGRES:
        begin = f'ALTER TABLE {table} ADD CONSTRAINT "no room" CHECK (false) NOT VALID'
        end = f'ALTER TABLE {table} DROP CONSTRAINT "no room"'
    with raw(store) as owner:
        owner.execute(begin)
    try:
        yield
    finally:
        with raw(store) as owner:
            owner.execute(end)


class Raw(Protocol):
    """A connection of the owner of all tables, unknown to the platforms. A value is a `?` in its statement."""

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Any: ...


@contextmanager
def raw(store: Path) -> Generator[Raw]:
    """Yield a connection, and commit at the end of the block."""
    if ON_POSTGRES:
        with postgres_server.connect_as_owner(postgres_server.url_of(store.absolute())) as connection:
            yield connection
    else:
        with closing(sqlite3.connect(store)) as file, file:
            yield file
