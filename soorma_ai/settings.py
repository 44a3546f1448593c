"""The environment, read once, when a platform is made."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from soorma_ai.domain.limits import MAX_BACKLOG
from soorma_ai.errors import ConfigError

STORE_URL = "SOORMA_STORE_URL"
BUS_URL = "SOORMA_BUS_URL"
PROMPTS_DIR = "SOORMA_PROMPTS_DIR"
BACKLOG = "SOORMA_MAX_BACKLOG"
SERVER_URL = "SOORMA_URL"
TOKEN = "SOORMA_TOKEN"

DEFAULT_STORE_URL = "sqlite:///soorma.db"
DEFAULT_BUS_URL = "local:"
_POSTGRES = ("postgresql", "postgres")


@dataclass(frozen=True)
class Settings:
    """`prompts_dirs` are looked in before the packaged prompts."""

    store_url: str
    bus_url: str
    prompts_dirs: tuple[Path, ...]
    max_backlog: int = MAX_BACKLOG


def read_settings(store_url: str | None = None, bus_url: str | None = None) -> Settings:
    """Read the settings. An argument wins over the environment, the environment over the default."""
    folders = os.environ.get(PROMPTS_DIR, "")
    return Settings(
        store_url=store_url or os.environ.get(STORE_URL) or DEFAULT_STORE_URL,
        bus_url=bus_url or os.environ.get(BUS_URL) or DEFAULT_BUS_URL,
        prompts_dirs=tuple(Path(folder) for folder in folders.split(os.pathsep) if folder),
        max_backlog=_max_backlog(),
    )


def _max_backlog() -> int:
    given = os.environ.get(BACKLOG) or str(MAX_BACKLOG)
    if not given.isascii() or not given.isdigit() or int(given) < 1:
        raise ConfigError(f"{BACKLOG}={given!r}: give a number from 1")
    return int(given)


@dataclass(frozen=True)
class Server:
    """The place of a platform that another process has, and the token that it is called with."""

    url: str
    token: str | None = field(default=None, repr=False)


def read_server(url: str | None = None, token: str | None = None) -> Server | None:
    """Return the server to be asked. An argument wins over the environment; None where neither names one."""
    found = url or os.environ.get(SERVER_URL)
    return Server(found, token or os.environ.get(TOKEN) or None) if found else None


def names_server() -> bool:
    """Tell whether the environment names a server to be asked."""
    return bool(os.environ.get(SERVER_URL))


def hide_password(url: str) -> str:
    """Return the URL without user and password, for messages, which end up in logs. A file has none."""
    if url.startswith("sqlite:"):
        return url
    return re.sub(r"://.*@", "://***@", url)


def is_postgres(store_url: str) -> bool:
    """Tell whether the store is a database on a server. Raise ConfigError for a URL of no store that is known."""
    if store_url.partition("://")[0] in _POSTGRES:
        return True
    sqlite_path(store_url)
    return False


def sqlite_path(store_url: str) -> Path | None:
    """Return the file of `sqlite:///relative.db` or `sqlite:////absolute.db`; None for `sqlite://`, in memory."""
    scheme, separator, rest = store_url.partition("://")
    if not separator or scheme != "sqlite":
        told = "give sqlite:///FILE, or postgresql://HOST/DATABASE where a database will do"
        raise ConfigError(f"store_url={hide_password(store_url)!r} is no file of SQLite: {told}")
    name = rest.removeprefix("/")
    return None if name in ("", ":memory:") else Path(name)
