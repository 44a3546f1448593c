"""Sessions at the server: their settings, their limits, and the errors of their beginning."""

from collections.abc import Generator
from contextlib import contextmanager
from os import getpid
from socket import gethostname

import psycopg
from psycopg.conninfo import conninfo_to_dict

from soorma_ai.adapters.postgres.faults import translate
from soorma_ai.adapters.postgres.limits import LimitedConnection, StatementLimit
from soorma_ai.adapters.postgres.literals import TextDumper
from soorma_ai.adapters.postgres.schema import SCHEMA
from soorma_ai.errors import ConfigError

# Seconds until a server that does not answer is given up, and between signs of life of one that is idle.
CONNECTED_WITHIN = 5

_SESSION = {
    "search_path": SCHEMA,
    "timezone": "UTC",
    "standard_conforming_strings": "on",
    "idle_in_transaction_session_timeout": "30s",
    "lock_timeout": "60s",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}


def _process() -> str:
    """Return the name of this process at the server, which keeps 63 bytes of it."""
    return f"soorma {getpid()} on {''.join(c for c in gethostname() if c.isalnum() or c in '.-')}"[:63]


def _limits(limit: StatementLimit) -> dict[str, str]:
    """Return the limits that the server keeps. A host that vanishes, or stands still, in a transaction holds up others
    no longer than they wait for its lock, and each is told so before its own statement is over."""
    whole = limit.seconds * 1000
    return {
        "statement_timeout": f"{whole:.0f}ms",
        "lock_timeout": f"{whole * 2 / 3:.0f}ms",
        "idle_in_transaction_session_timeout": f"{whole / 2:.0f}ms",
    }


def connect(url: str, limit: StatementLimit | None = None, *, is_house: bool = False) -> psycopg.Connection:
    """Return a connection without any visible rows before it has a scope; or with all, in the platform's own scope.
    Without a `limit` a statement may take any time. Raise psycopg.Error."""
    made = LimitedConnection.connect(
        url,
        autocommit=True,
        prepare_threshold=None,
        connect_timeout=CONNECTED_WITHIN,
        keepalives_idle=10,
        keepalives_interval=5,
    )
    made.limit = limit or StatementLimit(CONNECTED_WITHIN)
    # Texts are told to be such, so that a statement means the same whatever a parameter stands beside.
    made.adapters.register_dumper(str, TextDumper)
    settings = {**_SESSION, **(_limits(limit) if limit else {}), "soorma.house": "on" if is_house else ""}
    if not made.info.get_parameters().get("application_name"):  # the URL's own has precedence
        settings["application_name"] = _process()
    told = ", ".join(f"set_config('{name}', '{value}', false)" for name, value in settings.items())
    try:
        made.execute(f"SELECT {told}".encode())
    except BaseException:
        made.close()
        raise
    made.limit = limit
    return made


@contextmanager
def connection_to(url: str, limit: StatementLimit | None = None) -> Generator[psycopg.Connection]:
    """A connection for as long as this lasts. Raise ConfigError for a database that cannot be used, StoreUnavailable
    for one that may come back."""
    _check(url)
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


def _check(url: str) -> None:
    """Raise ConfigError for an invalid URL. The fault itself is left out: it may be a part of its password."""
    try:
        ports = str(conninfo_to_dict(url).get("port", "")).split(",")
    except psycopg.ProgrammingError:
        ports = [url]
    if not all(port == "" or port.isdigit() for port in ports):
        raise ConfigError(
            "the URL is none of PostgreSQL: give postgresql://USER:PASSWORD@HOST:PORT/DATABASE, percent-encode what "
            "has a meaning there, and give only options that libpq knows"
        ) from None
