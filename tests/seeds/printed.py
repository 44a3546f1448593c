"""The names in the code blocks of the seed documents, and the names of this package."""

import ast
import builtins
import inspect
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

from parameters import parameters_of

import soorma_ai
from seeds.documents import Block, tree_of
from seeds.names import SKETCHES, Sketch
from soorma_ai.kernel.domain.events import EventEnvelope

# Modules with public classes outside the package's top-level names.
_MET = (
    "agents.contexts.platform",
    "agents.contexts.memory",
    "agents.contexts.task",
    "features.phases.records",
    "kernel.domain.people",
    "kernel.domain.plans",
    "forge.research",
    "gateways.a2a",
)


# Variable names of agents, contexts and clients in the documents: their members must exist.
_CALLED = {
    "agent": "Agent",
    "tool": "Tool",
    "worker": "Worker",
    "context": "PlatformContext",
    "ctx": "PlatformContext",
    "bus": "BusClient",
    "memory": "MemoryClient",
    "registry": "RegistryClient",
    "task": "TaskContext",
    "result": "ResultContext",
    "plan": "PlanContext",
    "goal": "GoalContext",
}


# Names of Python and its libraries.
_PYTHON = frozenset(dir(builtins)) | {
    *("typing", "List", "Dict", "Optional", "Any", "Callable", "Union", "Literal", "AsyncGenerator", "from", "import"),
    *("dataclass", "dataclasses", "field", "default_factory", "pydantic", "BaseModel", "Field", "Enum", "uuid4"),
    *("abstractmethod", "ABC", "append", "get", "items", "values", "keys", "isoformat", "logger"),
}
_OWNERS = {**_CALLED, **{name: name for name, sketch in SKETCHES.items() if sketch.ours}}


def names_in(block: Block, as_python: Iterable[tuple[str, str]] = ()) -> set[str]:
    """The foreign names in a block: calls, imports, attributes and arguments. Its own variables,
    functions and parameters are left out."""
    try:
        tree = tree_of(block.text, as_python)
    except (SyntaxError, AssertionError):
        return _tokens(block.text)
    found, own, fields = set[str](), set[str](), set[str]()
    for node in ast.walk(tree):
        found |= set(_taken(node))
        own |= set(_made(node))
        fields |= set(_fields_of(node))
    own -= fields
    return {name for name in found - own if not name.rpartition(".")[2].startswith("_")}


def _taken(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Load()):
            yield name
        case ast.Attribute(attr=name, value=ast.Name(id=owner) | ast.Attribute(attr=owner)) if owner in _OWNERS:
            yield f"{owner}.{name}"
        case ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
            yield name
        case ast.ClassDef(name=name, body=body):
            yield name
            yield from (one.name for one in body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
            yield from _fields_of(node)
        case ast.ImportFrom(names=names):
            yield from (alias.name for alias in names)
        case _:
            pass


def _fields_of(node: ast.AST) -> Iterator[str]:
    body = node.body if isinstance(node, ast.ClassDef) else []
    targets = (one.target for one in body if isinstance(one, ast.AnnAssign))
    yield from (target.id for target in targets if isinstance(target, ast.Name))


def _made(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
            yield name
        case ast.Module(body=body) | ast.FunctionDef(body=body):
            yield from (one.name for one in body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
        case _:
            pass


def _tokens(text: str) -> set[str]:
    """Every name of a block that Python cannot parse."""
    found = set[str]()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NAME:
                found.add(token.string)
    except (tokenize.TokenError, SyntaxError):
        pass
    return found


def is_here(name: str) -> bool:
    owner, _, member = name.partition(".")
    if not member:
        return name in names_here() or name in _PYTHON
    return member in members_of(_OWNERS[owner])


@cache
def members_of(sketched: str) -> frozenset[str]:
    kind = kind_of(SKETCHES.get(sketched) or Sketch(sketched))
    bases = [base for base in inspect.getmro(kind) if base.__module__.startswith("soorma_ai.")]
    annotated = {name for base in bases for name in getattr(base, "__annotations__", {})}
    written = {name for base in bases for name in re.findall(r"self\.(\w+)\b.* = ", inspect.getsource(base))}
    return frozenset({*dir(kind), *annotated, *written})


def kind_of(sketch: Sketch) -> Any:
    module, _, name = sketch.ours.rpartition(".")
    return getattr(import_module(f"soorma_ai.{module}") if module else soorma_ai, name)


@cache
def names_here() -> frozenset[str]:
    """Every public name of the package: its exports, their members, and the parameters of those."""
    exported: list[Any] = [getattr(soorma_ai, name) for name in soorma_ai.__all__]  # type: ignore[attr-defined]
    met = [import_module(f"soorma_ai.{module}") for module in _MET]
    kinds = [one for one in exported if inspect.isclass(one)]
    kinds += [one for module in met for one in vars(module).values() if inspect.isclass(one)]
    kinds = [one for one in kinds if one.__module__.startswith("soorma_ai.")]
    found = {*soorma_ai.__all__, *dir(EventEnvelope), *(one.__name__ for one in kinds)}  # type: ignore[attr-defined]
    for kind in kinds:
        found |= {*dir(kind), *getattr(kind, "__annotations__", {}), *_called_with(kind)}
        found |= {name for base in inspect.getmro(kind) for name in getattr(base, "__annotations__", {})}
    for name, sketch in SKETCHES.items():
        if sketch.ours:
            found |= {name, *sketch.has}
    return frozenset(found)


def _called_with(kind: Any) -> Iterator[str]:
    for _, member in inspect.getmembers(kind, callable):
        try:
            yield from parameters_of(member)
        except (TypeError, ValueError):
            continue
