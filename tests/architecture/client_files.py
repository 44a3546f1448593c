"""Writes the files of the clients from the rows of services: `python tests/architecture/client_files.py`.

A file has a Protocol of a service's calls, or its async and blocking clients over HTTP. Signatures and docstrings are
copied from the service.
"""

import ast
import copy
import inspect
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, get_args

from soorma_ai.api.clients.asynchronous import AsyncKernelClient
from soorma_ai.api.clients.views import AsyncRegistry
from soorma_ai.api.operation import Operation, Parameter, operation_of
from soorma_ai.features.dead_letters import service as letters
from soorma_ai.features.human_tasks import service as inbox
from soorma_ai.features.knowledge import service as memos
from soorma_ai.features.knowledge.client import AsyncMemos
from soorma_ai.features.plan_memory import service as memory
from soorma_ai.features.plan_memory import sessions
from soorma_ai.features.plan_memory.client import AsyncSessions, AsyncWorkingMemory
from soorma_ai.features.tracking import service as reader
from soorma_ai.features.tracking import tracker
from soorma_ai.features.tracking.client import AsyncPlanReader
from soorma_ai.features.trials import service as trials
from soorma_ai.features.trials.cases import service as cases
from soorma_ai.features.trials.forks import service as forks
from soorma_ai.features.trials.retirement import service as models
from soorma_ai.kernel.domain.calls import CallRow
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.runtime.client import operator
from soorma_ai.kernel.runtime.client.client import EVENTS, PLANS, QUESTIONS, REQUESTS, Client
from soorma_ai.kernel.runtime.views import registry
from soorma_ai.kernel.runtime.views.registry import Directory

ROOT = Path(__file__).parents[2]
HEAD = '"""{text} Written by `make clients`; do not edit."""\n\n'
CLIENTS = "soorma_ai.api.clients"


@dataclass(frozen=True)
class Service:
    """`hand` is the class on top of `client` with the handwritten calls, None without any; `parts` are its properties,
    with their Protocols and blocking classes. The blocking class of a client's part (`is_part`) leaves the client
    open."""

    kind: type
    rows: tuple[CallRow, ...]
    client: str
    blocking: str
    protocol: str
    text: str
    hand: type | None = None
    parts: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    is_part: bool = False

    @property
    def by_hand(self) -> set[str]:
        return {name for name in vars(self.hand) if name[0] != "_"} if self.hand else set()

    @property
    def calls(self) -> list[CallRow]:
        """Return the rows of the clients: those over HTTP, and the handwritten ones."""
        return [row for row in self.rows if row.verb or row.call.__name__ in self.by_hand]


@cache
def source_of(module: str) -> ast.Module:
    return ast.parse(Path(inspect.getfile(sys.modules[module])).read_text())


@cache
def imports_of(module: str) -> dict[str, str]:
    """Return the import line of every name in a module."""
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


def function_of(row: CallRow) -> ast.AsyncFunctionDef:
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

    def signature(self, row: CallRow, *, is_protocol: bool = False) -> tuple[str, str]:
        """Return the text of a call's parameters and the text of its answer. A Protocol names no constant."""
        function = copy.deepcopy(function_of(row))
        known = imports_of(row.call.__module__)
        returns = function.returns
        if isinstance(returns, ast.Constant) and isinstance(returns.value, str):
            returns = ast.parse(returns.value, mode="eval").body
        if is_protocol:
            unnamed = [ast.Constant(...) if isinstance(one, ast.Name) else one for one in function.args.kw_defaults]
            function.args.kw_defaults = unnamed
            named = function.args.defaults
            function.args.defaults = [ast.Constant(...) if isinstance(one, ast.Name) else one for one in named]
        answer = ast.unparse(returns) if returns else "None"
        self.need(*(known[one] for one in names_in([function.args, returns]) if one in known and one != "PlanHandle"))
        if answer == "PlanHandle":
            answer = "PlanCalls"
            self.need(f"from {CLIENTS}.protocol import PlanCalls")
        return ast.unparse(function.args), answer

    def text(self) -> str:
        made = self._head + "\n".join([*sorted(self._imports), "", *self._lines]) + "\n"
        return formatted(made)


def formatted(text: str) -> str:
    ruff = [sys.executable, "-m", "ruff"]
    for command in (["check", "--fix-only", "--quiet", "--select", "I,F401"], ["format", "--quiet"]):
        told = [*ruff, *command, "--stdin-filename", str(ROOT / "soorma_ai" / "written.py"), "-"]
        text = subprocess.run(told, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return text


def write_protocol(service: Service, out: Writer) -> None:
    out.need("from typing import Protocol")
    out.add("", f"class {service.protocol}(Protocol):", indented(f'"""{service.text}"""'))
    for row in service.calls:
        parameters, answer = out.signature(row, is_protocol=True)
        out.add(indented(f"async def {row.call.__name__}({parameters}) -> {answer}: ..."), "")
    for name, (protocol, _) in service.parts.items():
        words = inspect.getdoc(getattr(service.hand, name)) or ""
        out.add(indented(f'@property\ndef {name}(self) -> {protocol}:\n    """{words}"""\n    ...\n'))


def write_client(service: Service, out: Writer) -> None:
    out.need(f"from {CLIENTS}.sender import Sender")
    out.add("", f"class {service.client}:", indented(f'"""{service.text}"""'))
    out.add(indented("def __init__(self, caller: Sender) -> None:\n    self._caller = caller\n"))
    for row in service.calls:
        if row.call.__name__ not in service.by_hand:
            parameters, answer = out.signature(row)
            words = inspect.getdoc(row.call) or ""
            body = f'"""{words}"""\n' + body_of(operation_of(row, "", None), answer, out)
            out.add(indented(f"async def {row.call.__name__}({parameters}) -> {answer}:\n{indented(body)}\n"))


def write_blocking(service: Service, out: Writer) -> None:
    out.need(f"from {CLIENTS}.blocks import Blocking, blocking, streaming", f"from {CLIENTS}.blocking import following")
    source = service.hand or service.client
    kind = source if isinstance(source, str) else source.__name__
    if isinstance(source, type):
        out.need(f"from {source.__module__} import {kind}")
    elif service.client == "AsyncTracker":
        out.need("from soorma_ai.features.tracking.rows import AsyncTracker")
    held = kind
    if service.is_part or service.parts:
        held = f"{service.blocking}Kind"
        out.need("from typing import TypeVar")
        out.add(f'{held} = TypeVar("{held}", bound={kind}, covariant=True)')
    out.add("", f"class {service.blocking}(Blocking[{held}]):", indented(f'"""{service.text}"""\n'))
    names = [row.call.__name__ for row in service.calls]
    extra = [name for name in service.by_hand if name not in (*names, *service.parts, "over", "aclose")]
    for name in (*names, *sorted(extra)):
        out.add(indented(f"{name} = {block_of(service, name)}({kind}.{name})"))
    for name, (_, blocks) in service.parts.items():
        words = inspect.getdoc(getattr(service.hand, name)) or ""
        text = f'@property\ndef {name}(self) -> {blocks}:\n    """{words}"""\n    return {blocks}(self.calls.{name})\n'
        out.add("", indented(text))


def block_of(service: Service, name: str) -> str:
    """Return the name of the function to block for a call."""
    call = getattr(service.hand, name, None)
    if inspect.isasyncgenfunction(call):
        return "streaming"
    return "following" if call and "AsyncPlan" in str(inspect.signature(call).return_annotation) else "blocking"


def body_of(operation: Operation, answer: str, out: Writer) -> str:
    """Return the statement of a call over HTTP."""
    row, options = operation.row, operation.row.options
    paged = "by" in options
    given = {one.field: one for one in operation.parameters if not (paged and one.name == "limit")}
    parts = ", ".join(part_of(part, given, out) for part in row.path.strip("/").split("/"))
    if any("topic_of(" in value for value in map(value_of, given.values())):
        out.need("from soorma_ai.kernel.domain.events import topic_of")
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
        out.need(f"from {CLIENTS}.address import PathTail")
        return f"PathTail({one.name})"
    return one.name if "str" in str(one.kind) else f"str({one.name})"


def value_of(one: Parameter) -> str:
    if one.wire.unit:
        hours = one.wire.unit.total_seconds() / 3600
        unit = f"timedelta(hours={hours:g})"
        return (
            f"{one.name} / {unit}" if one.default is inspect.Parameter.empty else f"{one.name} and {one.name} / {unit}"
        )
    if one.wire.kind and "EventTopic" in str(one.wire.kind):
        return f"{one.name} and topic_of({one.name})"
    field, default = one.definition()
    if JsonObject in (field, *get_args(field)):
        empty = " or {}" if one.default is None else ""
        return f'json_object("{one.name}", {one.name}{empty})'
    return f"{one.name} or None" if one.default == "" and default is None else one.name


def indented(text: str) -> str:
    return textwrap.indent(text, "    ", lambda line: bool(line.strip()))


KERNEL = Service(
    Client,
    (*PLANS, *REQUESTS, *EVENTS, *QUESTIONS, *operator.CALLS),
    client="ClientRows",
    blocking="BlockingCalls",
    protocol="KernelCalls",
    text="Calls of the kernel, as one person of one tenant.",
    hand=AsyncKernelClient,
    parts={"registry": ("RegistryCalls", "BlockingRegistry")},
)
REGISTRY = Service(
    Directory,
    (*registry.CALLS,),
    client="RegistryRows",
    blocking="BlockingRegistry",
    protocol="RegistryCalls",
    text="Agents and their events.",
    hand=AsyncRegistry,
)
TRACKER = Service(
    tracker.Tracker,
    (*tracker.CALLS,),
    client="AsyncTracker",
    blocking="BlockingTracker",
    protocol="TrackerCalls",
    text="Progress of plans. Every call raises NotFound for a plan invisible to its caller.",
)
WORKING_MEMORY = Service(
    memory.PlanMemory,
    (*memory.CALLS,),
    client="MemoryRows",
    blocking="WorkingMemory",
    protocol="WorkingMemoryCalls",
    text="Working memory of plans.",
    hand=AsyncWorkingMemory,
    is_part=True,
)
MEMOS = Service(
    memos.PersonMemos,
    (*memos.CALLS,),
    client="MemoRows",
    blocking="BlockingMemos",
    protocol="MemoCalls",
    text="Long-term memory.",
    hand=AsyncMemos,
    is_part=True,
)
INBOX = Service(
    inbox.Inbox,
    (*inbox.CALLS,),
    client="AsyncInbox",
    blocking="BlockingInbox",
    protocol="InboxCalls",
    text="Calls about questions, beside `answer`.",
)
LETTERS = Service(
    letters.LetterCalls,
    (*letters.CALLS,),
    client="AsyncDeadLetters",
    blocking="BlockingDeadLetters",
    protocol="DeadLetterCalls",
    text="Calls of an operator about dead letters.",
    is_part=True,
)
TRIALS = Service(
    trials.TrialCalls,
    (*trials.CALLS,),
    client="AsyncTrials",
    blocking="BlockingTrials",
    protocol="TrialCalls",
    text="Trials of recorded decisions. Nothing is carried out.",
    is_part=True,
)
FORKS = Service(
    forks.ForkCalls,
    (*forks.CALLS,),
    client="AsyncForks",
    blocking="BlockingForks",
    protocol="ForkCalls",
    text="Forks: new plans that begin with the beginning of another.",
    is_part=True,
)
CASES = Service(
    cases.CaseCalls,
    (*cases.CALLS,),
    client="AsyncCases",
    blocking="BlockingCases",
    protocol="CaseCalls",
    text="Cases: recorded decisions with a judgement.",
    is_part=True,
)
MODELS = Service(
    models.ModelCalls,
    (*models.CALLS,),
    client="AsyncModels",
    blocking="BlockingModels",
    protocol="ModelCalls",
    text="Models of planners, and their replacements.",
    is_part=True,
)
READER = Service(
    reader.PlanReader,
    (*reader.CALLS,),
    client="PlanReaderRows",
    blocking="BlockingPlanReader",
    protocol="PlanReaderCalls",
    text="Reads plans for people.",
    hand=AsyncPlanReader,
    is_part=True,
)
SESSIONS = Service(
    sessions.SessionService,
    (*sessions.CALLS,),
    client="SessionRows",
    blocking="BlockingSessions",
    protocol="SessionCalls",
    text="Calls about sessions.",
    hand=AsyncSessions,
    is_part=True,
)
OUTSIDE = (WORKING_MEMORY, SESSIONS)
KERNELS = (REGISTRY, KERNEL)
FILES: dict[str, tuple[str, tuple[Callable[[Service, Writer], None], ...], tuple[Service, ...]]] = {
    "api/clients/calls.py": ("Calls of the kernel.", (write_protocol,), KERNELS),
    "api/clients/rows.py": ("Calls of the kernel over HTTP.", (write_client,), KERNELS),
    "api/clients/blocking_calls.py": ("Calls of the kernel that block.", (write_blocking,), KERNELS),
    "features/dead_letters/calls.py": ("Calls about dead letters.", (write_protocol,), (LETTERS,)),
    "features/dead_letters/client.py": (
        "Calls about dead letters over HTTP.",
        (write_client, write_blocking),
        (LETTERS,),
    ),
    "features/human_tasks/calls.py": ("Calls of the inbox.", (write_protocol,), (INBOX,)),
    "features/human_tasks/client.py": ("Calls of the inbox over HTTP.", (write_client, write_blocking), (INBOX,)),
    "context_parts/tracker.py": ("Calls of the tracker.", (write_protocol,), (TRACKER,)),
    "features/plan_memory/calls.py": ("Calls of memory and sessions.", (write_protocol,), OUTSIDE),
    "features/plan_memory/rows.py": ("Calls of memory and sessions, over HTTP.", (write_client,), OUTSIDE),
    "features/plan_memory/blocking.py": ("Calls of memory and sessions, to block.", (write_blocking,), OUTSIDE),
    "features/tracking/calls.py": ("Calls that read plans.", (write_protocol,), (READER,)),
    "features/tracking/rows.py": ("Calls that read plans, over HTTP.", (write_client,), (READER, TRACKER)),
    "features/tracking/blocking.py": ("Calls that read plans, to block.", (write_blocking,), (READER, TRACKER)),
    "features/trials/calls.py": ("Calls for trials.", (write_protocol,), (TRIALS,)),
    "features/trials/client.py": ("Calls for trials over HTTP.", (write_client, write_blocking), (TRIALS,)),
    "features/trials/cases/calls.py": ("Calls about cases.", (write_protocol,), (CASES,)),
    "features/trials/forks/calls.py": ("Calls about forks.", (write_protocol,), (FORKS,)),
    "features/trials/forks/client.py": ("Calls about forks over HTTP.", (write_client, write_blocking), (FORKS,)),
    "features/trials/cases/client.py": ("Calls about cases over HTTP.", (write_client, write_blocking), (CASES,)),
    "features/trials/retirement/calls.py": ("Calls about models.", (write_protocol,), (MODELS,)),
    "features/trials/retirement/client.py": (
        "Calls about models over HTTP.",
        (write_client, write_blocking),
        (MODELS,),
    ),
    "features/knowledge/calls.py": ("Calls of memory that outlives plans.", (write_protocol,), (MEMOS,)),
    "features/knowledge/rows.py": ("Calls of memory that outlives plans, over HTTP.", (write_client,), (MEMOS,)),
    "features/knowledge/blocking.py": ("Calls of memory that outlives plans, to block.", (write_blocking,), (MEMOS,)),
}


def files() -> dict[Path, str]:
    """Return the text of each file by its place."""
    made: dict[Path, str] = {}
    for place, (text, parts, services) in FILES.items():
        out = Writer(text)
        for service in services:
            for write in parts:
                write(service, out)
        made[ROOT / "soorma_ai" / place] = out.text()
    return made


if __name__ == "__main__":
    for place, text in files().items():
        place.write_text(text)
