"""Names of the seed documents exist here under the same names."""

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pytest
from parameters import parameters_of

import soorma_ai
from seeds.documents import SEEDS, blocks, tree_of
from seeds.kinds import Names
from seeds.names import SKETCHES, Sketch
from seeds.table import SAMPLES

PRESENT = {name: sketch for name, sketch in SKETCHES.items() if sketch.ours}


@dataclass(frozen=True)
class SketchedName:
    """One member of a sketched class; a field has no `parameters`, and None for `is_awaited`."""

    owner: str
    member: str = ""
    parameters: tuple[str, ...] = ()
    is_awaited: bool | None = None


@pytest.fixture(scope="module")
def sketched_names() -> list[SketchedName]:
    if not SEEDS.is_dir():
        pytest.skip(f"no seed documents at {SEEDS}")
    shown = {(block.document, block.number): block.text for block in blocks()}
    sketches = [(sample, sample.how) for sample in SAMPLES if isinstance(sample.how, Names)]
    trees = [(tree_of(shown[one.document, one.number], how.as_python), how.of) for one, how in sketches]
    return [name for tree, owner in trees for node in tree.body for name in _names_in(node, owner)]


def _names_in(node: ast.AST, owner: str) -> Iterator[SketchedName]:
    """Names in a syntax tree; `owner` is the class of a method outside a class body."""
    match node:
        case ast.ClassDef(name=name, body=body):
            yield SketchedName(name)
            for inner in body:
                yield from _names_in(inner, name)
        case ast.AnnAssign(target=ast.Name(id=name)) if not name.startswith("_"):
            yield SketchedName(owner, name)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name == "__init__" or name[0] != "_":
            given = tuple(one.arg for one in node.args.args if one.arg not in ("self", "cls"))
            yield SketchedName(owner, name, given, isinstance(node, ast.AsyncFunctionDef))
        case ast.ImportFrom(module=str(module), names=names) if module.startswith("soorma"):
            yield from (SketchedName(alias.name) for alias in names)
        case _:
            pass


def ours(sketch: Sketch) -> Any:
    module, _, name = sketch.ours.rpartition(".")
    return getattr(import_module(f"soorma_ai.{module}") if module else soorma_ai, name)


def members(kind: Any) -> set[str]:
    """Members of a class, with the attributes of its instances."""
    bases = [base for base in inspect.getmro(kind) if base.__module__.startswith("soorma_ai.")]
    annotated = {name for base in bases for name in getattr(base, "__annotations__", {})}
    written = {name for base in bases for name in re.findall(r"self\.(\w+)\b.* = ", inspect.getsource(base))}
    return {*dir(kind), *annotated, *written}


def parameters(kind: Any, method: str) -> list[str]:
    return list(parameters_of(getattr(kind, method)))


def test_every_name_of_a_sketched_class_exists() -> None:
    missing = list[str]()
    for name, sketch in PRESENT.items():
        kind = ours(sketch)
        found = {member: parameters(kind, member) if given else [] for member, given in sketch.has.items()}
        missing += [f"{name}.{member}" for member in found if member not in members(kind)]
        missing += [
            f"{name}.{member}({one})"
            for member, given in sketch.has.items()
            for one in given.split()
            if one not in found[member]
        ]
    assert missing == []


def test_a_listed_difference_has_a_reason_and_is_a_difference() -> None:
    assert [name for name, sketch in SKETCHES.items() if bool(sketch.why) is bool(sketch.ours)] == []
    assert [name for name, sketch in SKETCHES.items() if not sketch.ours and hasattr(soorma_ai, name)] == []
    here = list[str]()
    for name, sketch in PRESENT.items():
        assert all(sketch.differs.values()), name
        for what in sketch.differs:
            member, _, parameter = what.rstrip(")").partition("(")
            known = parameters(ours(sketch), member) if parameter else members(ours(sketch))
            if not what.endswith("()") and (parameter or member) in known:
                here.append(f"{name}.{what}")
    assert here == []


def test_the_list_has_exactly_the_sketched_names(sketched_names: list[SketchedName]) -> None:
    assert {one.owner for one in sketched_names} == set(SKETCHES)
    told = {(one.owner, one.member, given) for one in sketched_names if one.member for given in ("", *one.parameters)}
    listed = set[tuple[str, str, str]]()
    for name, sketch in PRESENT.items():
        listed |= {(name, member, one) for member, given in sketch.has.items() for one in ("", *given.split())}
        without = [what.rstrip(")").partition("(") for what in sketch.differs]
        listed |= {(name, member, parameter) for member, _, parameter in without}
        told -= {
            (name, member, one) for owner, member, one in told if owner == name and one and member in sketch.differs
        }
    told = {one for one in told if SKETCHES[one[0]].ours}
    assert told == listed


def test_a_sketched_coroutine_is_a_coroutine(sketched_names: list[SketchedName]) -> None:
    for one in sketched_names:
        sketch = SKETCHES[one.owner]
        if one.is_awaited is None or {one.member, f"{one.member}()"} & set(sketch.differs):
            continue
        if sketch.ours and one.member in sketch.has:
            is_coroutine = inspect.iscoroutinefunction(getattr(ours(sketch), one.member))
            assert is_coroutine is one.is_awaited, f"{one.owner}.{one.member}"


def test_a_listed_difference_of_coroutines_is_a_difference(sketched_names: list[SketchedName]) -> None:
    for name, sketch in PRESENT.items():
        for what in (what for what in sketch.differs if what.endswith("()")):
            is_coroutine = inspect.iscoroutinefunction(getattr(ours(sketch), what[:-2]))
            there = {one.is_awaited for one in sketched_names if (one.owner, one.member) == (name, what[:-2])}
            assert there - {is_coroutine}, what
