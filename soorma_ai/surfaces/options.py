"""Common options of commands. Imports nothing heavy: help is made of this."""

import json
import re
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import click
from click.core import ParameterSource
from msgspec import Struct

from soorma_ai.settings import DEFAULT_STORE_URL, SERVER_URL, STORE_URL, TOKEN, hide_password, names_server

P = ParamSpec("P")
T = TypeVar("T")

LOCAL_USER = "local"
SHORTEST_PREFIX = 4
# Options that say who asks, which a token does for a server.
_WHO = {"tenant": "--tenant", "user_id": "--as", "roles": "--role", "root": "--root"}

_store = click.option(
    "--store", metavar="URL", envvar=STORE_URL, default=DEFAULT_STORE_URL, show_default=True, help="URL of the store."
)
_tenant = click.option("--tenant", metavar="NAME", default="default", show_default=True, help="Name of the tenant.")


@dataclass(frozen=True)
class ServerOption:
    """Server in the place of the store. Its token names the caller."""

    url: str
    token: str | None = field(default=None, repr=False)


class Access(Struct, frozen=True):
    """The store with its tenant, or a server. `flags` repeats the options of the command line, for printed commands,
    without the token. `prompts_dirs` are searched before those of the settings."""

    store_url: str
    tenant_id: str
    flags: str = ""
    server: ServerOption | None = None
    prompts_dirs: tuple[Path, ...] = ()


def with_access(command: Callable[Concatenate[Access, P], T]) -> Callable[P, T]:
    """Turn the command's first parameter into --store and --tenant."""

    @click.option("--url", metavar="URL", hidden=True, expose_value=False, callback=refuse_url)
    @_store
    @_tenant
    @wraps(command)
    def with_options(*args: Any, store: str, tenant: str, **options: Any) -> Any:
        return command(Access(store, tenant, _write_options(store=store, tenant=tenant)), *args, **options)

    return with_options


def with_platform(command: Callable[Concatenate[Access, P], T]) -> Callable[P, T]:
    """Turn the command's first parameter into --store and --tenant, or --url and --token."""

    @click.option("--url", metavar="URL", envvar=SERVER_URL, help="URL of a server, in place of a store.")
    @click.option("--token", metavar="TOKEN", envvar=TOKEN, help=f"Token for the server; better in {TOKEN}.")
    @_store
    @_tenant
    @wraps(command)
    def with_options(*args: Any, store: str, tenant: str, url: str | None, token: str | None, **options: Any) -> Any:
        server = _server(url, token)
        if server is None:
            return command(Access(store, tenant, _write_options(store=store, tenant=tenant)), *args, **options)
        return command(Access(store, tenant, _write_options(url=server.url), server), *args, **options)

    return with_options


def _server(url: str | None, token: str | None) -> ServerOption | None:
    """Return the server of the options, else of the environment."""
    is_typed = _is_typed("url")
    if url is None or (_is_typed("store") and not is_typed):
        if _is_typed("token"):
            raise click.UsageError("--token is for a server: give --url too")
        return None
    if is_typed and _is_typed("store"):
        raise click.UsageError("--url asks a server and --store looks into a file: give one of them")
    said = [option for name, option in _WHO.items() if _is_typed(name)]
    if said:
        raise click.UsageError(f"a server takes the tenant and the person from the token: leave out {', '.join(said)}")
    return ServerOption(url, token)


def refuse_url(context: click.Context, parameter: click.Parameter, url: str | None) -> None:
    if url is not None:
        raise click.UsageError(f"{context.info_name} works on a store itself, and not over HTTP: leave out --url")


def must_mean_a_store() -> None:
    """Raise UsageError for a server in the environment and no store in the options."""
    if names_server() and not _is_typed("store"):
        raise click.UsageError(f"{SERVER_URL} names a server, and this works on a store itself: give --store")


def _write_options(**given: str) -> str:
    """Return the options of the command line for a printed command, without secrets."""
    shown = {name: hide_password(value) for name, value in given.items() if _is_typed(name)}
    return "".join(f" --{name} {shlex.quote(value)}" for name, value in shown.items())


def _is_typed(name: str) -> bool:
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def with_person(command: Callable[P, T]) -> Callable[..., T]:
    """Turn the command's `user_id` and `roles` into --as, --role and --root; --root is roles None."""

    @click.option(
        "--as", "user_id", default=LOCAL_USER, metavar="NAME", show_default=True, help="Your name, for the record."
    )
    @click.option("--role", "roles", multiple=True, metavar="NAME", help="A role of yours; repeatable.")
    @click.option("--root", is_flag=True, help="As the trusted operator, without a check of roles.")
    @wraps(command)
    def with_options(*args: Any, roles: tuple[str, ...], root: bool, **options: Any) -> Any:
        if root and roles:
            raise click.UsageError("--root needs no role: leave out --role")
        return cast("Callable[..., T]", command)(*args, roles=None if root else frozenset(roles), **options)

    return with_options


class Sound(Struct, frozen=True):
    """Output on stderr beside the result: its amount, its form, and the level of the log."""

    is_quiet: bool
    as_json: bool
    log_level: str
    is_verbose: bool = False


def with_voice(command: Callable[P, T]) -> Callable[..., T]:
    """Turn the command's `sound` into --quiet, --verbose, --log-level and --log-json."""

    @click.option("--quiet", "-q", is_flag=True, help="Print warnings only.")
    @click.option("--verbose", "-v", is_flag=True, help="Print payloads, decisions and costs, too.")
    @click.option(
        "--log-level",
        type=click.Choice(["debug", "info", "warning", "error"]),
        default="warning",
        help="Lowest level of the log's records.",
    )
    @click.option("--log-json", is_flag=True, help="Print JSON, one object a line.")
    @wraps(command)
    def with_options(*args: Any, quiet: bool, verbose: bool, log_level: str, log_json: bool, **options: Any) -> Any:
        if quiet and verbose:
            raise click.UsageError("--quiet and --verbose exclude each other: give one of them")
        sound = Sound(quiet, log_json, log_level, verbose)
        return cast("Callable[..., T]", command)(*args, sound=sound, **options)

    return with_options


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


class Id(click.ParamType[str]):
    """A whole id, or enough of its beginning."""

    name = "id"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if len(value) < SHORTEST_PREFIX:
            self.fail(f"{value!r} is too short for an id: give its first {SHORTEST_PREFIX} characters or more")
        return value


_AGE = re.compile(r"(\d{1,4})(h|d|w)")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


class Age(click.ParamType[timedelta]):
    """A number of hours, days or weeks."""

    name = "age"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        found = _AGE.fullmatch(value)
        if found is None:
            self.fail(f"{value!r} is not an age: give hours, days or weeks, as in 36h, 30d, 8w")
        return int(found[1]) * _UNITS[found[2]]


class JsonObjectParam(click.ParamType[dict[str, Any]]):
    """JSON, or a file of it as @FILE, or @- for standard input."""

    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, Any]:
        try:
            found: object = json.loads(_content(value))
        except OSError as error:
            self.fail(f"{value[1:]} cannot be read: {error.strerror}")
        except ValueError as error:
            self.fail(f"{value} is not JSON: {error}")
        if not isinstance(found, dict):
            self.fail(f"give a JSON object, found {json.dumps(found)[:80]}")
        return cast(dict[str, Any], found)


def _content(value: str) -> str:
    if value == "@-":
        return sys.stdin.read()
    return Path(value[1:]).read_text(encoding="utf-8") if value.startswith("@") else value
