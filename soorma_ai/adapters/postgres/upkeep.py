"""What is done to a whole database, by whoever keeps it."""

from collections.abc import Generator
from contextlib import contextmanager

import psycopg
from psycopg.conninfo import conninfo_to_dict

from soorma_ai.adapters.postgres import migrations
from soorma_ai.adapters.postgres.connection import connect
from soorma_ai.adapters.postgres.faults import mapped
from soorma_ai.errors import ConfigError


@contextmanager
def reached(url: str) -> Generator[psycopg.Connection]:
    """A connection for as long as this lasts. Raise ConfigError for a database that cannot be used, StoreUnavailable
    for one that may come back."""
    check(url)
    try:
        with connect(url) as made:
            yield made
    except psycopg.ProgrammingError as error:
        told = f"the database cannot be used ({error}): look at the URL, and at the role's grants"
        raise ConfigError(told) from error
    except psycopg.Error as error:
        raise mapped(error) from error


def upgrade(url: str) -> tuple[int, int]:
    """Return the version that the schema had, 0 for none, and that which it has now. Raise as `reached` does, and
    ConfigError for a database that is newer, or that other processes work on."""
    with reached(url) as made:
        return migrations.upgrade(made)


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
