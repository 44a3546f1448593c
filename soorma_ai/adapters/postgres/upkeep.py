"""What is done to a whole database, by whoever keeps it."""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import cast

import psycopg
from msgspec import Struct
from psycopg.conninfo import conninfo_to_dict

from soorma_ai.adapters.postgres import guard, migrations
from soorma_ai.adapters.postgres.connection import CONNECTED_WITHIN, connect
from soorma_ai.adapters.postgres.faults import translate
from soorma_ai.adapters.postgres.limits import StatementLimit
from soorma_ai.adapters.postgres.schema import VERSION
from soorma_ai.errors import ConfigError


@contextmanager
def connection_to(url: str, limit: StatementLimit | None = None) -> Generator[psycopg.Connection]:
    """A connection for as long as this lasts. Raise ConfigError for a database that cannot be used, StoreUnavailable
    for one that may come back."""
    check(url)
    try:
        with connect(url, limit) as made:
            yield made
    except psycopg.ProgrammingError as error:
        raise ConfigError(
            f"the database cannot be used ({error}): look at the URL, and at the role's grants, which "
            "SELECT soorma.admit('ROLE') gives"
        ) from error
    except psycopg.Error as error:
        raise translate(error) from error


def upgrade(url: str) -> tuple[int, int]:
    """Return the version that the schema had, 0 for none, and that which it has now. Raise as `reached` does, and
    ConfigError for a database that is newer, or that other processes work on."""
    with connection_to(url) as made:
        return migrations.upgrade(made)


class Look(Struct, frozen=True):
    """What a database says of itself. `schema` 0: it has no store yet. `at`: the moment by its clock. `unguarded`: why
    its rows are kept from nobody who connects by this URL; nothing where they are, and where the schema is another."""

    server: str
    schema: int
    at: datetime
    unguarded: str


def look_at(url: str) -> Look:
    """Raise as `reached` does, and ConfigError for a database that is newer."""
    with connection_to(url, StatementLimit()) as made:
        found = made.execute("SELECT current_setting('server_version')").fetchone()
        schema = migrations.version_of(made)
        unguarded = guard.why_open(made) if schema == VERSION else ""
        return Look(str(found[0]).split()[0] if found else "", schema, _time_of(made), unguarded)


def time_at(url: str) -> datetime:
    """Return the moment by the clock of the server, by which all go who share the database. Raise as `reached`."""
    with connection_to(url, StatementLimit(CONNECTED_WITHIN)) as made:
        return _time_of(made)


def _time_of(made: psycopg.Connection) -> datetime:
    found = made.execute("SELECT clock_timestamp()").fetchone()
    assert found is not None
    return cast(datetime, found[0]).astimezone(UTC)


def check(url: str) -> None:
    """Raise ConfigError for a URL that is none. What is wrong is not told: it may be a part of its password."""
    try:
        ports = str(conninfo_to_dict(url).get("port", "")).split(",")
    except psycopg.ProgrammingError:
        ports = [url]
    if not all(port == "" or port.isdigit() for port in ports):
        raise ConfigError(
            "the URL is none of PostgreSQL: give postgresql://USER:PASSWORD@HOST:PORT/DATABASE, percent-encode what "
            "has a meaning there, and give only options that libpq knows"
        ) from None
