"""Writes the files of the clients from the rows of services: `python tests/architecture/client_files.py`.

A file has a Protocol of a service's calls, or its clients over HTTP: one that is awaited, and one that blocks. Texts of
signatures and docstrings are those of the service.
"""

import ast
import inspect
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from soorma_ai.api.operation import Operation, Parameter, operation_of
from soorma_ai.features.human_tasks import service as inbox
from soorma_ai.kernel.domain.calls import Row, Rows

ROOT = Path(__file__).parents[2]
HEAD = '"""{text} Written by `make clients`; do not edit."""\n\n'
CLIENTS = "soorma_ai.api.clients"


@dataclass(frozen=True)
class Service:
    """`hand` has the calls that are written by hand, on top of the base `client`; None where none are."""

    kind: type
    rows: Rows
    client: str
    blocking: str
    protocol: str
    text: str
    hand: Callable[[], type] | None = None
    omitted: frozenset[str] = frozenset()


@cache
def source_of(module: str) -> ast.Module:
    return ast.parse(Path(inspect.getfile(sys.modules[module])).read_text())


@cache
def imports_of(module: str) -> dict[str, str]:
    """Return the import line of every name that a module has."""
    lines: dict[str, str] = {}
    for node in ast.walk(source_of(module)):
        if isinstance(node, ast.ImportFrom):
            for one in node.names:
                alias = f" as {one.asname}" if one.asname else ""
                lines[one.asname or one.name] = f"from {node.module} import {one.name}{alias}"
    for node in source_of(module).body:
        if isinstance(node, ast.ClassDef | ast.Assign):
            names = [node.name] if isinstance(node, ast.ClassDef) else [ast.unparse(one) for one in node.targets]
            lines |= {name: f"from {module} import {name}" for name in names}
    return lines


def function_of(row: Row) -> ast.AsyncFunctionDef:
    call: Any = row.call
    tree = source_of(call.__module__)
    return next(
        method
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name == call.__qualname__.partition(".")[0]
        for method in node.body
        if isinstance(method, ast.AsyncFunctionDef) and method.name == call.__name__
    )


def names_in(nodes: Iterable[ast.AST | None]) -> Iterator[str]:
    for node in nodes:
        for part in ast.walk(node) if node else ():
            if isinstance(part, ast.Name):
                yield part.id


class Writer:
    """Text of one file."""

    def __init__(self, text: str) -> None:
        self._head = HEAD.format(text=text)
        self._imports: set[str] = set()
        self._lines: list[str] = []

    def add(self, *lines: str) -> None:
        self._lines += lines

    def need(self, *lines: str) -> None:
        self._imports.update(lines)

    def signature(self, row: Row, name: str = "") -> tuple[str, str]:
        """Return the text of a call's parameters and the text of its answer."""
        function = function_of(row)
        module = row.call.__module__
        known = imports_of(module)
        returns = function.returns
        if isinstance(returns, ast.Constant) and isinstance(returns.value, str):
            returns = ast.parse(returns.value, mode="eval").body
        spelled = [*ast.walk(function.args), *(ast.walk(returns) if returns else ())]
        self.need(*(known[one] for one in names_in(spelled) if one in known))
        return ast.unparse(function.args), ast.unparse(returns) if returns else "None"

    def text(self) -> str:
        made = self._head + "\n".join([*sorted(self._imports), "", *self._lines]) + "\n"
        return formatted(made)


def formatted(text: str) -> str:
    ruff = [sys.executable, "-m", "ruff"]
    for command in (["check", "--fix-only", "--quiet", "--select", "I,F401"], ["format", "--quiet"]):
        told = [*ruff, *command, "--stdin-filename", str(ROOT / "soorma_ai" / "written.py"), "-"]
        text = subprocess.run(told, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return text


def calls_of(service: Service) -> list[Row]:
    """Return the rows that the clients have too: those over HTTP, and those that are written by hand."""
    by_hand = set(vars(service.hand())) if service.hand else set[str]()
    return [
        row
        for row in service.rows
        if row.call.__name__ not in service.omitted and (row.verb or row.call.__name__ in by_hand)
    ]


def write_protocol(service: Service, out: Writer) -> None:
    out.need("from typing import Protocol")
    out.add("", f"class {service.protocol}(Protocol):", indented(f'"""{service.text}"""'))
    for row in calls_of(service):
        parameters, answer = out.signature(row)
        out.add(indented(f"async def {row.call.__name__}({parameters}) -> {answer}: ..."), "")


def write_client(service: Service, out: Writer) -> None:
    out.need(f"from {CLIENTS}.sender import Caller")
    out.add("", f"class {service.client}:", indented(f'"""{inspect.getdoc(service.kind)}"""'))
    out.add(indented("def __init__(self, caller: Caller) -> None:\n    self._caller = caller\n"))
    by_hand = set(vars(service.hand())) if service.hand else set[str]()
    for row in calls_of(service):
        if row.call.__name__ not in by_hand:
            parameters, answer = out.signature(row)
            words = inspect.getdoc(row.call) or ""
            body = f'"""{words}"""\n' + body_of(operation_of(row, "", None), answer, out)
            out.add(indented(f"async def {row.call.__name__}({parameters}) -> {answer}:\n{indented(body)}\n"))


def write_blocking(service: Service, out: Writer) -> None:
    out.need(f"from {CLIENTS}.blocks import Blocking, blocking")
    source = service.hand().__name__ if service.hand else service.client
    out.add("", f"class {service.blocking}(Blocking[{source}]):", indented(f'"""{inspect.getdoc(service.kind)}"""\n'))
    for row in calls_of(service):
        out.add(indented(f"{row.call.__name__} = blocking({source}.{row.call.__name__})"))


def body_of(operation: Operation, answer: str, out: Writer) -> str:
    """Return the statement of a call over HTTP."""
    row, options = operation.row, operation.row.options
    paged = "by" in options
    given = {one.field: one for one in operation.parameters if not (paged and one.name == "limit")}
    parts = ", ".join(part_of(part, given, out) for part in row.path.strip("/").split("/"))
    if any(one.wire.unit for one in operation.parameters):
        out.need("from datetime import timedelta")
    fields = {name: value_of(one) for name, one in given.items() if f"{{{name}" not in row.path}
    if any("json_object(" in value for value in fields.values()):
        out.need("from soorma_ai.kernel.domain.values import json_object")
    query = "".join(f", {name}={value}" for name, value in fields.items())
    if paged:
        out.need(f"from {CLIENTS}.messages import Page")
        limit = "limit" if any(one.name == "limit" for one in operation.parameters) else "None"
        return f"return await self._caller.list(Page{answer.removeprefix('list')}, {limit}, {parts}{query})"
    out.need(f"from {CLIENTS}.messages import {row.verb.lower()}")
    if row.verb == "POST":
        body = ", ".join(f'"{name}": {value}' for name, value in fields.items())
        safe = ", is_safe=True" if options.get("is_safe") else ""
        request = f"post({parts}, body={{{body}}}{safe})"
    else:
        request = f"{row.verb.lower()}({parts}{query})"
    if answer == "None":
        return f"await self._caller.ask({request})"
    if key := options.get("key"):
        return f'return await self._caller.read_key({request}, "{key}", {answer})'
    if answer.startswith("list["):
        out.need(f"from {CLIENTS}.messages import Page")
        return f"return (await self._caller.read({request}, Page{answer.removeprefix('list')})).items"
    if answer.endswith(" | None"):
        return f"return await self._caller.find({request}, {answer.removesuffix(' | None')})"
    return f"return await self._caller.read({request}, {answer})"


def part_of(part: str, given: dict[str, Parameter], out: Writer) -> str:
    if not part.startswith("{"):
        return f'"{part}"'
    name, _, rest = part.strip("{}").partition(":")
    one = given[name]
    if rest:
        out.need(f"from {CLIENTS}.address import Rest")
        return f"Rest({one.name})"
    return one.name if "str" in str(one.kind) else f"str({one.name})"


def value_of(one: Parameter) -> str:
    if one.wire.unit:
        hours = one.wire.unit.total_seconds() / 3600
        unit = f"timedelta(hours={hours:g})"
        return (
            f"{one.name} / {unit}" if one.default is inspect.Parameter.empty else f"{one.name} and {one.name} / {unit}"
        )
    field, default = one.definition()
    if "JsonValue" in str(field) and "dict" in str(field):
        empty = " or {}" if one.default is None else ""
        return f'json_object("{one.name}", {one.name}{empty})'
    return f"{one.name} or None" if one.default == "" and default is None else one.name


def indented(text: str) -> str:
    return textwrap.indent(text, "    ", lambda line: bool(line.strip()))


INBOX = Service(
    inbox.Inbox, inbox.CALLS, "AsyncInbox", "Inbox", "InboxCalls", "Calls about questions beside answering them."
)


def files() -> dict[Path, str]:
    """Return the text of each file by its place."""
    made: dict[Path, str] = {}
    for folder, services in {"features/human_tasks": (INBOX,)}.items():
        protocol, client = (Writer(f"{services[0].text}{more}") for more in ("", " Clients over HTTP."))
        for service in services:
            write_protocol(service, protocol)
            write_client(service, client)
            write_blocking(service, client)
        made[ROOT / "soorma_ai" / folder / "calls.py"] = protocol.text()
        made[ROOT / "soorma_ai" / folder / "client.py"] = client.text()
    return made


if __name__ == "__main__":
    for place, text in files().items():
        place.write_text(text)
