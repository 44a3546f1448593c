"""Settings of the environment, read once at the making of a platform."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from msgspec import Struct

from soorma_ai.api.tokens import ClaimNames
from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.limits import MAX_BACKLOG, STATEMENT_SECONDS

STORE_URL = "SOORMA_STORE_URL"
BUS_URL = "SOORMA_BUS_URL"
PROMPTS_DIR = "SOORMA_PROMPTS_DIR"
BACKLOG = "SOORMA_MAX_BACKLOG"
STATEMENT_TIMEOUT = "SOORMA_STATEMENT_TIMEOUT"
MOST_CONNECTIONS = "SOORMA_MAX_CONNECTIONS"
MOST_OF_ADDRESS = "SOORMA_MAX_CONNECTIONS_OF_ADDRESS"
MOST_STREAMS_OF_TENANT = "SOORMA_MAX_STREAMS_OF_TENANT"
HEADER_TIMEOUT = "SOORMA_HEADER_TIMEOUT"
KEEP_ALIVE = "SOORMA_KEEP_ALIVE"
TRUSTED_PROXIES = "SOORMA_TRUSTED_PROXIES"
SERVER_URL = "SOORMA_URL"
TOKEN = "SOORMA_TOKEN"
OTEL = "SOORMA_OTEL"
OIDC_ISSUER = "SOORMA_OIDC_ISSUER"
OIDC_CLIENT_ID = "SOORMA_OIDC_CLIENT_ID"
OIDC_CLIENT_SECRET = "SOORMA_OIDC_CLIENT_SECRET"
OIDC_URL = "SOORMA_OIDC_URL"
OIDC_SCOPES = "SOORMA_OIDC_SCOPES"
OIDC_USER = "SOORMA_OIDC_USER_CLAIM"
OIDC_ROLES = "SOORMA_OIDC_ROLES_CLAIM"
OIDC_TENANT = "SOORMA_OIDC_TENANT_CLAIM"
OIDC_TENANT_ID = "SOORMA_OIDC_TENANT"

DEFAULT_STORE_URL = "sqlite:///soorma.db"
DEFAULT_BUS_URL = "local:"
DEFAULT_NAMESPACE = "soorma"
LONGEST_NUMBER = 9
DEFAULT_SCOPES = "openid profile email"

_POSTGRES = ("postgresql", "postgres")
_NATS_URL = re.compile(r"(nats|tls)://(?:([^@/]+@))?([^@/,\s]+(?:,[^@/,\s]+)*)(?:/([A-Za-z0-9_-]+)?)?")


class Variable(Struct, frozen=True):
    """A variable of the environment, with its description for people."""

    name: str
    default: str
    meaning: str


VARIABLES = (
    Variable(
        STORE_URL,
        DEFAULT_STORE_URL,
        "The store: `sqlite:///FILE`, `sqlite://` for memory, or `postgresql://HOST/DATABASE`.",
    ),
    Variable(BUS_URL, DEFAULT_BUS_URL, "The bus: the store itself, or NATS by `nats://HOST/NAMESPACE`."),
    Variable(PROMPTS_DIR, "", "Folders with prompts that override the package's, in the system's path-list format."),
    Variable(BACKLOG, str(MAX_BACKLOG), "Waiting deliveries, beyond which new goals are refused as overloaded."),
    Variable(
        STATEMENT_TIMEOUT,
        f"{STATEMENT_SECONDS:g}",
        "Seconds of a statement on PostgreSQL, after which its connection is abandoned, as with a frozen server.",
    ),
    Variable(
        MOST_CONNECTIONS, "", "Open connections of `serve` and `dev`: 4000, or fewer under a low limit of open files."
    ),
    Variable(MOST_OF_ADDRESS, "", "Open connections of one address; by default half of all."),
    Variable(MOST_STREAMS_OF_TENANT, "", "Open streams of one tenant; an eighth of the connections, at most 500."),
    Variable(HEADER_TIMEOUT, "10", "Seconds for the headers of a request."),
    Variable(KEEP_ALIVE, "15", "Seconds of silence between two requests on a connection; longer than the proxy's."),
    Variable(
        TRUSTED_PROXIES,
        "",
        "Trusted addresses and networks of proxies, comma-separated, for `X-Forwarded-For` and `X-Forwarded-Proto`.",
    ),
    Variable(SERVER_URL, "", "URL of the server, for commands and agents without a store."),
    Variable(TOKEN, "", "Token for that server; a command line would show it to others of the machine."),
    Variable(OTEL, "", "OpenTelemetry: `on`, or `content` with payloads and answers of models in the spans."),
    Variable(OIDC_ISSUER, "", "OpenID Connect provider for the console of `serve`."),
    Variable(OIDC_CLIENT_ID, "", "Client id of the console at that provider."),
    Variable(OIDC_CLIENT_SECRET, "", "Client secret; without one PKCE alone is the proof."),
    Variable(OIDC_URL, "", "The console's address in a browser; the redirect address is `/sign-in/back` below it."),
    Variable(OIDC_SCOPES, DEFAULT_SCOPES, "Requested scopes."),
    Variable(OIDC_USER, ClaimNames().user, "Claim of the user; `email` counts only if verified."),
    Variable(OIDC_ROLES, ClaimNames().roles, "Claim of the roles."),
    Variable(OIDC_TENANT, ClaimNames().tenant, "Claim of the tenant."),
    Variable(OIDC_TENANT_ID, "", "One tenant for all users of the provider, in place of that claim."),
)


OtelMode = Literal["on", "content"]


class Settings(Struct, frozen=True):
    """Settings of a platform. `prompts_dirs` are searched before the packaged prompts."""

    store_url: str
    bus_url: str
    prompts_dirs: tuple[Path, ...]
    max_backlog: int = MAX_BACKLOG
    statement_timeout: float = STATEMENT_SECONDS
    otel: OtelMode | None = None


def read_settings(store_url: str | None = None, bus_url: str | None = None) -> Settings:
    """Read the settings. An argument wins over the environment, the environment over the default."""
    folders = os.environ.get(PROMPTS_DIR, "")
    return Settings(
        store_url=store_url or os.environ.get(STORE_URL) or DEFAULT_STORE_URL,
        bus_url=bus_url or os.environ.get(BUS_URL) or DEFAULT_BUS_URL,
        prompts_dirs=tuple(Path(folder) for folder in folders.split(os.pathsep) if folder),
        max_backlog=_max_backlog(),
        statement_timeout=_statement_timeout(),
        otel=_otel_mode(),
    )


def _otel_mode() -> OtelMode | None:
    match os.environ.get(OTEL, ""):
        case "" | "off":
            return None
        case "on" | "content" as mode:
            return mode
        case given:
            raise ConfigError(f"{OTEL}={given[:40]!r}: give 'on', 'content' or 'off'")


def _max_backlog() -> int:
    return _number(BACKLOG) or MAX_BACKLOG


def _number(name: str) -> int | None:
    """Return a number from 1 of the environment. Raise ConfigError for anything else."""
    given = os.environ.get(name)
    if not given:
        return None
    if not given.isascii() or not given.isdigit() or len(given) > LONGEST_NUMBER or int(given) < 1:
        raise ConfigError(f"{name}={given[:40]!r}: give a number from 1")
    return int(given)


def _statement_timeout() -> float:
    given = os.environ.get(STATEMENT_TIMEOUT) or str(STATEMENT_SECONDS)
    if not re.fullmatch(r"\d{1,5}(\.\d+)?", given, re.ASCII) or float(given) < 1:
        raise ConfigError(f"{STATEMENT_TIMEOUT}={given!r}: give seconds, from 1 to 99999")
    return float(given)


class ServerBounds(Struct, frozen=True):
    """Limits of a server's connections; None for a limit derived from others."""

    connections: int | None
    of_address: int | None
    streams_of_tenant: int | None
    header_seconds: int
    idle_seconds: int
    proxies: tuple[str, ...]


def read_bounds() -> ServerBounds:
    """Read the limits of connections. Raise ConfigError."""
    named = (one.strip() for one in os.environ.get(TRUSTED_PROXIES, "").split(","))
    defaults = {one.name: one.default for one in VARIABLES}
    return ServerBounds(
        _number(MOST_CONNECTIONS),
        _number(MOST_OF_ADDRESS),
        _number(MOST_STREAMS_OF_TENANT),
        _number(HEADER_TIMEOUT) or int(defaults[HEADER_TIMEOUT]),
        _number(KEEP_ALIVE) or int(defaults[KEEP_ALIVE]),
        tuple(one for one in named if one),
    )


@dataclass(frozen=True)
class Server:
    """URL of another process's platform, and the token for it."""

    url: str
    token: str | None = field(default=None, repr=False)


def read_server(url: str | None = None, token: str | None = None) -> Server | None:
    """Return the server to call. An argument wins over the environment; None without either."""
    found = url or os.environ.get(SERVER_URL)
    return Server(found, token or os.environ.get(TOKEN) or None) if found else None


@dataclass(frozen=True)
class SignIn:
    """OpenID Connect provider for the console's sign-in, and the names of its tokens' claims."""

    issuer: str
    client_id: str
    url: str
    client_secret: str = field(repr=False)
    scopes: tuple[str, ...]
    names: ClaimNames


def read_sign_in() -> SignIn | None:
    """Return the provider of the environment; None without one. Raise ConfigError for half of one."""
    said = {one.name: os.environ.get(one.name) or one.default for one in VARIABLES}
    needed = (OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_URL)
    if not any(said[name] for name in needed):
        return None
    if missing := [name for name in needed if not said[name]]:
        raise ConfigError(f"{' and '.join(missing)} must be set, too, for people to sign in by OpenID Connect")
    names = ClaimNames(
        user=said[OIDC_USER], roles=said[OIDC_ROLES], tenant=said[OIDC_TENANT], tenant_id=said[OIDC_TENANT_ID]
    )
    issuer, client_id, url = (said[name] for name in needed)
    return SignIn(issuer, client_id, url, said[OIDC_CLIENT_SECRET], tuple(said[OIDC_SCOPES].split()), names)


def names_server() -> bool:
    """Tell whether the environment names a server to call."""
    return bool(os.environ.get(SERVER_URL))


def hide_password(url: str) -> str:
    """Return the URL without user, password and query, for messages and logs. A file has none."""
    if url.startswith("sqlite:"):
        return url
    if "://" not in url and "=" in url:
        return "***"
    return re.sub(r"\?.*", "?***", re.sub(r"://.*@", "://***@", url))


def is_postgres(store_url: str) -> bool:
    """Tell whether the store is a database on a server. Raise ConfigError for a URL of an unknown store."""
    if store_url.partition("://")[0] in _POSTGRES:
        return True
    sqlite_path(store_url)
    return False


def place_of_store(store_url: str) -> Path | None:
    """Return the path for the console's secret, to be kept beside it: the file of the store, or a file in the current
    directory with the database's name; None for a store in memory."""
    if not is_postgres(store_url):
        return sqlite_path(store_url)
    database = store_url.partition("://")[2].partition("?")[0].partition("/")[2]
    return Path(re.sub(r"[^A-Za-z0-9_-]", "_", database) or DEFAULT_NAMESPACE)


@dataclass(frozen=True)
class NatsUrl:
    """Address of a NATS cluster. `servers` are URLs of the servers of one cluster. Messages of one namespace are
    invisible in every other."""

    servers: tuple[str, ...] = field(repr=False)
    namespace: str


def nats_url(bus_url: str) -> NatsUrl | None:
    """Read `nats://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...][/NAMESPACE]`, or the same with `tls`; None for the bus
    inside of one process. Raise ConfigError for anything else."""
    if bus_url == DEFAULT_BUS_URL:
        return None
    found = _NATS_URL.fullmatch(bus_url)
    if found is None:
        raise ConfigError(
            f"bus_url={hide_password(bus_url)!r}: give {DEFAULT_BUS_URL!r}, the bus of one process, or "
            "nats://HOST:PORT/NAMESPACE, where a namespace is letters, digits, - and _, by default "
            f"{DEFAULT_NAMESPACE!r}"
        )
    scheme, person, hosts, namespace = found.groups(default="")
    servers = tuple(f"{scheme}://{person}{host}" for host in hosts.split(","))
    return NatsUrl(servers, namespace or DEFAULT_NAMESPACE)


def sqlite_path(store_url: str) -> Path | None:
    """Return the file of `sqlite:///relative.db` or `sqlite:////absolute.db`; None for `sqlite://`, in memory."""
    scheme, separator, rest = store_url.partition("://")
    if not separator or scheme != "sqlite":
        told = "give sqlite:///FILE, or postgresql://HOST/DATABASE where a database will do"
        raise ConfigError(f"store_url={hide_password(store_url)!r} is no file of SQLite: {told}")
    name = rest.removeprefix("/")
    return None if name in ("", ":memory:") else Path(name)
