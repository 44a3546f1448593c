"""Operator's work on a whole database."""

from datetime import UTC, datetime
from typing import cast

import psycopg
from msgspec import Struct

from soorma_ai.adapters.postgres import migrations, row_level_security
from soorma_ai.adapters.postgres.holders import OpenTransaction, find_holders
from soorma_ai.adapters.postgres.limits import StatementLimit
from soorma_ai.adapters.postgres.schema import VERSION
from soorma_ai.adapters.postgres.sessions import CONNECTED_WITHIN, connection_to
from soorma_ai.kernel.sql.storage import FeatureSet


def upgrade(url: str, features: FeatureSet) -> tuple[int, int]:
    """Return the version of the schema before, 0 for none, and the version now. Raise as `reached` does, and
    ConfigError for a newer database, or one with other processes at work."""
    with connection_to(url) as made:
        return migrations.upgrade(made, features)


class DatabaseState(Struct, frozen=True):
    """State of a database. `schema` 0: it has no store yet. `at`: the moment by its clock. `unguarded`: the reason for
    unprotected rows at this URL; empty for protected ones, and for another schema. `holding`: open transactions that
    readers of the log, or writers, wait for."""

    server: str
    schema: int
    at: datetime
    unguarded: str
    holding: tuple[OpenTransaction, ...] = ()


def look_at(url: str) -> DatabaseState:
    """Raise as `reached` does, and ConfigError for a database that is newer."""
    with connection_to(url, StatementLimit()) as made:
        found = made.execute("SELECT current_setting('server_version')").fetchone()
        schema = migrations.version_of(made)
        is_known = schema == VERSION
        unguarded = row_level_security.why_open(made) if is_known else ""
        holding = tuple(find_holders(made)) if is_known else ()
        return DatabaseState(str(found[0]).split()[0] if found else "", schema, _time_of(made), unguarded, holding)


def time_at(url: str) -> datetime:
    """Return the moment by the clock of the server, common to all processes of the database. Raise as `reached`."""
    with connection_to(url, StatementLimit(CONNECTED_WITHIN)) as made:
        return _time_of(made)


def _time_of(made: psycopg.Connection) -> datetime:
    found = made.execute("SELECT clock_timestamp()").fetchone()
    assert found is not None
    return cast(datetime, found[0]).astimezone(UTC)
