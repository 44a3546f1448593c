"""Compares the public surfaces of two commits: operations over HTTP, commands, public names, settings.

    python tests/surfaces/surfaces.py COMMIT

Prints the lines of COMMIT missing in the working tree, and the reverse. Exit code 1 for missing lines.
"""

import asyncio
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_type_hints

import click
import httpx

ROOT = Path(__file__).parents[2]
_NAMED = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)


def surfaces(tree: Path) -> dict[str, list[str]]:
    """Return each kind of surface of the importable package as sorted lines, each with one name."""
    main = import_module("soorma_ai.apps.cli.main")
    return {
        "operations": sorted(asyncio.run(_operations())),
        "commands": sorted(_commands(main.cli, "soorma", click.Context(main.cli, info_name="soorma"))),
        "names": sorted(_names((tree / "docs/reference/api.md").read_text())),
        "settings": sorted(f"{one.name} = {one.default}" for one in import_module("soorma_ai.settings").VARIABLES),
    }


async def _operations() -> list[str]:
    """Return a line for each operation, parameter, field of a body and status of an answer."""
    from soorma_ai import Platform
    from soorma_ai.server import app

    async with Platform("sqlite://") as platform:
        served = app(platform, auth=None)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(served), base_url="http://platform") as client:
            document = (await client.get("/v1/openapi.json")).raise_for_status().json()
    lines: list[str] = []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            name = f"{method.upper()} {path}"
            lines.append(name)
            lines += [f"{name} {one['in']} {one['name']} {one['required']}" for one in operation["parameters"]]
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            lines += [f"{name} sends {line}" for line in _fields(document, body.get("schema", {}))]
            for status, answer in operation["responses"].items():
                lines.append(f"{name} answers {status}")
                shown = answer.get("content", {}).get("application/json", {}).get("schema", {})
                lines += [f"{name} answers {status} {line}" for line in _fields(document, shown)]
    return lines


def _fields(document: Mapping[str, Any], schema: Mapping[str, Any], path: str = "", depth: int = 5) -> Iterator[str]:
    """Yield a line for each field of a schema, references resolved, with its type."""
    if not depth:
        return
    if reference := schema.get("$ref"):
        schema = document["components"]["schemas"][reference.rpartition("/")[2]]
    for key in ("anyOf", "oneOf", "allOf"):
        for one in schema.get(key, ()):
            yield from _fields(document, one, path, depth - 1)
    kind = schema.get("type") or ("enum" if "enum" in schema or "const" in schema else "")
    if kind:
        yield f"{path or '.'}: {kind}"
    for name, inner in schema.get("properties", {}).items():
        needed = " (required)" if name in schema.get("required", ()) else ""
        yield from _fields(document, inner, f"{path}.{name}{needed}", depth - 1)
    if isinstance(items := schema.get("items"), dict):
        yield from _fields(document, items, f"{path}[]", depth - 1)


def _commands(command: click.Command, name: str, context: click.Context) -> Iterator[str]:
    """Yield a line for each command and each of its options and arguments."""
    yield name
    for one in command.get_params(context):
        yield f"{name} {'/'.join(one.opts) if isinstance(one, click.Option) else one.human_readable_name}"
    if isinstance(command, click.Group):
        for key in command.list_commands(context):
            _, inner, _ = command.resolve_command(context, [key])
            if inner is not None:
                yield from _commands(inner, f"{name} {key}", click.Context(inner, info_name=key, parent=context))


def _names(page: str) -> Iterator[str]:
    """Yield a line for each public name, each public member of a class, and each of their parameters."""
    package = import_module("soorma_ai")
    yield from (f"soorma_ai.{name}" for name in package.__all__)
    for place in _NAMED.findall(page):
        yield from _name(place)


def _name(place: str) -> Iterator[str]:
    module, _, name = place.rpartition(".")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError):
        yield f"{name}: a module"
        return
    yield name
    yield from (f"{name}({one})" for one in _parameters(found))
    if inspect.isclass(found):
        for member in dir(found):
            if not member.startswith("_"):
                value = getattr(found, member)
                yield f"{name}.{member}"
                yield from (f"{name}.{member}({one})" for one in _parameters(value) if inspect.isroutine(value))


def _parameters(value: Any) -> list[str]:
    """Return the names of parameters; an unpacked TypedDict counts as its keys."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return []
    names: list[str] = []
    for name, one in signature.parameters.items():
        if one.kind is inspect.Parameter.VAR_KEYWORD:
            names += _options(value, name) or [f"**{name}"]
        else:
            names.append(name)
    return names


def _options(value: Any, name: str) -> list[str]:
    target = value.__init__ if inspect.isclass(value) else value
    try:
        unpacked = get_args(get_type_hints(target)[name])
    except (NameError, KeyError, TypeError):
        return []
    return list(get_type_hints(unpacked[0])) if unpacked else []


def _at(commit: str) -> dict[str, list[str]]:
    """Return the surfaces of another commit, from an archive of its tree."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "x", "-C", folder], input=archive, check=True)
        return _in(Path(folder))


def _in(tree: Path) -> dict[str, list[str]]:
    """Return the surfaces of a tree, by a process that imports its package."""
    command = [sys.executable, __file__, "--dump", str(tree)]
    shown = subprocess.run(command, check=True, capture_output=True, env=os.environ | {"PYTHONPATH": str(tree)}).stdout
    return json.loads(shown)


def compare(commit: str) -> int:
    before, after = _at(commit), _in(ROOT)
    missing = 0
    for kind, lines in before.items():
        lost, new = sorted(set(lines) - set(after[kind])), sorted(set(after[kind]) - set(lines))
        print(f"{kind}: {len(set(lines))} before, {len(set(after[kind]))} now, {len(lost)} lost, {len(new)} new")
        for line in lost:
            print(f"  - {line}")
        for line in new:
            print(f"  + {line}")
        missing += len(lost)
    return 1 if missing else 0


if __name__ == "__main__":
    if sys.argv[1] == "--dump":
        print(json.dumps(surfaces(Path(sys.argv[2]))))
    else:
        sys.exit(compare(sys.argv[1]))
