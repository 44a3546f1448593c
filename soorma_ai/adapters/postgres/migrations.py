"""The schema of a database, made or brought forward. Forward only, each step once, all in one transaction."""

from collections.abc import Mapping

import psycopg
from psycopg import errors, sql

from soorma_ai.adapters.postgres import row_level_security
from soorma_ai.adapters.postgres.listener import PRESENT
from soorma_ai.adapters.postgres.schema import SCHEMA, STRFTIME, VERSION, body_of, make, make_features, spell
from soorma_ai.errors import ConfigError
from soorma_ai.kernel.sql.agent_keys import KEY, name_by_key
from soorma_ai.kernel.sql.bodies import COLUMNS_OF_SPARSE, SPARSE
from soorma_ai.kernel.sql.model_tables import RESERVED
from soorma_ai.kernel.sql.schema import AGED, statements
from soorma_ai.kernel.sql.storage import NO_FEATURES, FeatureSet

OLDEST_SERVER = 160000

# By the version that it starts from, as in `adapters.sqlite.file.migrations`: the same numbers, the same tables.
STEPS: dict[int, tuple[str, ...]] = {
    10: ("ALTER TABLE inbox ADD COLUMN holder BIGINT NOT NULL DEFAULT 0", *row_level_security.make()),
    # A document that holds a NUL is none to jsonb; see `json_part`.
    11: (
        'ALTER TABLE inbox ADD COLUMN outcome TEXT COLLATE "C"',
        *spell((*statements(RESERVED), *statements(AGED))),
        *name_by_key(
            lambda document, field, value: (
                rf"replace(jsonb_set(replace({document}, '\u0000', '\ue000')::jsonb, '{{{field.replace('.', ',')}}}', "
                rf"to_jsonb({value}))::text, U&'\E000', '\u0000')"
            ),
            f"""(
            SELECT jsonb_agg(coalesce(
                (
                    SELECT {KEY} FROM agent
                    WHERE agent.agent = named.value AND coalesce(agent.tenant, expectation.tenant) = expectation.tenant
                ), named.value
            )) FROM json_array_elements_text(json_part(rest, '$.producers')::json) AS named (value)
        )""",
        ),
    ),
    12: ("ALTER TABLE plan ADD COLUMN place BIGINT NOT NULL DEFAULT 0",),
    13: (STRFTIME, *spell(statements(COLUMNS_OF_SPARSE)), *map(body_of, SPARSE)),
}
# The first version that PostgreSQL has had.
FIRST = 10

# A server needs a moment to know that a process has gone.
IDLE_WITHIN = "3s"

_NAMES = "SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = %s"
_GUARDED = f"{_NAMES} AND relrowsecurity"
_LOCK = "SELECT pg_advisory_xact_lock(hashtext('soorma migrations'), 0)"


def prepare(connection: psycopg.Connection, features: FeatureSet, *, may_make: bool = True) -> FeatureSet:
    """Make the tables where there are none, and return the features that have theirs. One process of several must not
    bring them forward under the others, so that is asked for by itself. Raise ConfigError for a server or a schema that
    this version cannot use."""
    version = version_of(connection)
    if version == VERSION:
        if not may_make:
            return features.among(_names_in(connection))
        if _statements_for(connection, features):
            _make_missing(connection, features)
        return features
    if version:
        raise ConfigError(
            f"the database is of an older version: its schema is {version}, this one needs {VERSION}; stop what runs "
            "on it, copy it (pg_dump), and bring it forward by: soorma db upgrade"
        )
    if not may_make:
        raise ConfigError("there is no store in the database; start the platform on it once, or: soorma db upgrade")
    upgrade(connection, features)
    return features


def upgrade(
    connection: psycopg.Connection,
    features: FeatureSet = NO_FEATURES,
    *,
    wanted: int = VERSION,
    steps: Mapping[int, tuple[str, ...]] = STEPS,
) -> tuple[int, int]:
    """Make the tables, those of the features too, or bring them forward; return the version before, 0 for none, and the
    version now. Of several concurrent calls, one does it. Raise as `prepare` does, and ConfigError while a process is
    at work."""
    version_of(connection)
    with connection.transaction():
        connection.execute(_LOCK)
        version = version_of(connection)  # another process may have been first
        if version == 0:
            connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(SCHEMA)))
            for statement in make():
                connection.execute(statement.encode())
        elif version < wanted:
            must_be_idle(connection)
            for number in range(max(version, FIRST), wanted):
                for statement in steps[number]:
                    connection.execute(statement.encode())
            connection.execute("UPDATE meta SET version = %s", (wanted,))
        for statement in _statements_for(connection, features):
            connection.execute(statement.encode())
        # To what is new, who was admitted before is admitted too.
        connection.execute(row_level_security.ADMIT_AGAIN)
    return version, wanted


def _make_missing(connection: psycopg.Connection, features: FeatureSet) -> None:
    """Make the tables of features that were off before. Raise ConfigError for a role that makes no tables."""
    try:
        upgrade(connection, features)
    except errors.InsufficientPrivilege as error:
        raise ConfigError(
            "the database lacks tables of a feature that is on: as the role that owns the tables, run soorma db upgrade"
        ) from error


def _statements_for(connection: psycopg.Connection, features: FeatureSet) -> tuple[str, ...]:
    """Return the statements for the missing tables and guards of these features."""
    guarded = connection.execute(_GUARDED, (SCHEMA,)).fetchall()
    return make_features(features, _names_in(connection), {name for (name,) in guarded})


def _names_in(connection: psycopg.Connection) -> set[str]:
    """Return the names of all tables and indexes."""
    return {name for (name,) in connection.execute(_NAMES, (SCHEMA,)).fetchall()}


def must_be_idle(connection: psycopg.Connection) -> None:
    """Be alone until the transaction ends; a process at its end is waited for. Raise ConfigError while another process
    is at work."""
    connection.execute(f"SET LOCAL lock_timeout = '{IDLE_WITHIN}'")
    try:
        connection.execute(f"SELECT pg_advisory_xact_lock({PRESENT})")
    except errors.LockNotAvailable as error:
        told = "other processes work on this database: stop them first, and start them when this is done"
        raise ConfigError(told) from error


def version_of(connection: psycopg.Connection) -> int:
    """Return the version of the schema, 0 where there is none. Raise ConfigError for a server that is too old, and for
    a schema that is too new."""
    if connection.info.server_version < OLDEST_SERVER:
        found = connection.info.server_version // 10000
        raise ConfigError(f"the server is PostgreSQL {found}; give one from version {OLDEST_SERVER // 10000} on")
    there = connection.execute("SELECT to_regclass(%s) IS NOT NULL", (f"{SCHEMA}.meta",)).fetchone()
    if there is None or not there[0]:
        return 0
    row = connection.execute("SELECT version FROM meta").fetchone()
    version = int(row[0]) if row else 0
    if version > VERSION:
        raise ConfigError(
            f"the database was written by a newer version: its schema is {version}, this one knows {VERSION}; "
            "install that version, or give another database"
        )
    return version
