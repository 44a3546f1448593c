"""The schema of a database, made or brought forward. Forward only, each step once, all in one transaction."""

import psycopg
from psycopg import sql

from soorma_ai.adapters.postgres.schema import SCHEMA, VERSION, make, spell
from soorma_ai.adapters.sql.people_tables import ANSWERED
from soorma_ai.adapters.sql.schema import statements, statements_of
from soorma_ai.errors import ConfigError

OLDEST_SERVER = 160000

# By the version that it starts from, as in `adapters.sqlite.file.migrations`: the same numbers, the same tables.
STEPS: dict[int, tuple[str, ...]] = {
    10: spell((*statements(ANSWERED), *statements_of("claim", "notice", "colleague", "absence", "link")))
}
# The first version that PostgreSQL has had.
FIRST = 10

_LOCK = "SELECT pg_advisory_xact_lock(hashtext('soorma migrations'), 0)"


def prepare(connection: psycopg.Connection, *, may_make: bool = True) -> None:
    """Make the tables where there are none, or bring them forward. Raise ConfigError for a server or a schema that this
    version cannot use."""
    if connection.info.server_version < OLDEST_SERVER:
        found = connection.info.server_version // 10000
        raise ConfigError(f"the server is PostgreSQL {found}; give one from version {OLDEST_SERVER // 10000} on")
    version = _version(connection)
    if version == VERSION:
        return
    if version > VERSION:
        raise ConfigError(
            f"the database was written by a newer version: its schema is {version}, this one knows {VERSION}; "
            "install that version, or give another database"
        )
    if not may_make:
        raise ConfigError("there is no store of this version in the database; start the platform on it once")
    with connection.transaction():
        connection.execute(_LOCK)
        version = _version(connection)  # another process may have been first
        if version == 0:
            connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(SCHEMA)))
            for statement in make():
                connection.execute(statement.encode())
        elif version < VERSION:
            _bring_forward(connection, version)


def _bring_forward(connection: psycopg.Connection, version: int) -> None:
    for number in range(max(version, FIRST), VERSION):
        for statement in STEPS[number]:
            connection.execute(statement.encode())
    connection.execute("UPDATE meta SET version = %s", (VERSION,))


def _version(connection: psycopg.Connection) -> int:
    """0 is a database without a store."""
    there = connection.execute("SELECT to_regclass(%s) IS NOT NULL", (f"{SCHEMA}.meta",)).fetchone()
    if there is None or not there[0]:
        return 0
    row = connection.execute("SELECT version FROM meta").fetchone()
    return int(row[0]) if row else 0
