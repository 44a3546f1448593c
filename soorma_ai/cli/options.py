"""Options that many commands share. Imports nothing heavy: help is made of this."""

import json
import re
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import click
from click.core import ParameterSource

from soorma_ai.settings import DEFAULT_STORE_URL, STORE_URL

P = ParamSpec("P")
T = TypeVar("T")

LOCAL_USER = "local"
SHORTEST_PREFIX = 4


@dataclass(frozen=True)
class Access:
    """The store, and as whom it is used. `flags` repeats what was given on the command line, for commands to copy."""

    store_url: str
    tenant_id: str
    flags: str = ""


def with_access(command: Callable[Concatenate[Access, P], T]) -> Callable[P, T]:
    """Turn the command's first parameter into --store and --tenant."""

    @click.option("--store", metavar="URL", envvar=STORE_URL, default=DEFAULT_STORE_URL, show_default=True)
    @click.option("--tenant", metavar="NAME", default="default", show_default=True)
    @wraps(command)
    def with_options(*args: Any, store: str, tenant: str, **options: Any) -> Any:
        context = click.get_current_context()
        given = {"store": store, "tenant": tenant}
        typed = [name for name in given if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
        flags = "".join(f" --{name} {shlex.quote(given[name])}" for name in typed)
        return command(Access(store, tenant, flags), *args, **options)

    return with_options


def with_person(command: Callable[P, T]) -> Callable[..., T]:
    """Turn the command's `user_id` and `roles` into --as, --role and --root, which is roles None."""

    @click.option("--as", "user_id", default=LOCAL_USER, metavar="NAME", show_default=True, help="Who says it.")
    @click.option("--role", "roles", multiple=True, metavar="NAME", help="A role they have; again for several.")
    @click.option("--root", is_flag=True, help="As the trusted operator, who is asked for no role.")
    @wraps(command)
    def with_options(*args: Any, roles: tuple[str, ...], root: bool, **options: Any) -> Any:
        if root and roles:
            raise click.UsageError("--root is asked for no role; leave out --role")
        return cast("Callable[..., T]", command)(*args, roles=None if root else frozenset(roles), **options)

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
            self.fail(f"{value!r} is no age: give hours, days or weeks, as in 36h, 30d, 8w")
        return int(found[1]) * _UNITS[found[2]]


class JsonObjectParam(click.ParamType[dict[str, Any]]):
    """JSON, or @FILE that holds it, or @- for standard input."""

    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, Any]:
        try:
            found: object = json.loads(_content(value))
        except OSError as error:
            self.fail(f"{value[1:]} cannot be read: {error.strerror}")
        except ValueError as error:
            self.fail(f"{value} is no JSON: {error}")
        if not isinstance(found, dict):
            self.fail(f"give a JSON object, found {json.dumps(found)[:80]}")
        return cast(dict[str, Any], found)


def _content(value: str) -> str:
    if value == "@-":
        return sys.stdin.read()
    return Path(value[1:]).read_text(encoding="utf-8") if value.startswith("@") else value
