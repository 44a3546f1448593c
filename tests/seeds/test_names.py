"""What the seed documents call things is what they are called here."""

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
class Seen:
    """One member of a class as a block sketches it; of a field, `parameters` is empty and `is_awaited` None."""

    owner: str
    member: str = ""
    parameters: tuple[str, ...] = ()
    is_awaited: bool | None = None


@pytest.fixture(scope="module")
def seen() -> list[Seen]:
    if not SEEDS.is_dir():
        pytest.skip(f"no seed documents at {SEEDS}")
    shown = {(block.document, block.number): block.text for block in blocks()}
    sketches = [(sample, sample.how) for sample in SAMPLES if isinstance(sample.how, Names)]
    trees = [(tree_of(shown[one.document, one.number], how.as_python), how.of) for one, how in sketches]
    return [name for tree, owner in trees for node in tree.body for name in _names_in(node, owner)]


def _names_in(node: ast.AST, owner: str) -> Iterator[Seen]:
    """`owner` is the class of a method that stands alone."""
    match node:
        case ast.ClassDef(name=name, body=body):
            yield Seen(name)
            for inner in body:
                yield from _names_in(inner, name)
        case ast.AnnAssign(target=ast.Name(id=name)) if not name.startswith("_"):
            yield Seen(owner, name)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name == "__init__" or name[0] != "_":
            given = tuple(one.arg for one in node.args.args if one.arg not in ("self", "cls"))
            yield Seen(owner, name, given, isinstance(node, ast.AsyncFunctionDef))
        case ast.ImportFrom(module=str(module), names=names) if module.startswith("soorma"):
            yield from (Seen(alias.name) for alias in names)
        case _:
            pass


def ours(sketch: Sketch) -> Any:
    module, _, name = sketch.ours.rpartition(".")
    return getattr(import_module(f"soorma_ai.{module}") if module else soorma_ai, name)


def members(kind: Any) -> set[str]:
    """Also what instances get when they are made."""
    bases = [base for base in inspect.getmro(kind) if base.__module__.startswith("soorma_ai.")]
    annotated = {name for base in bases for name in getattr(base, "__annotations__", {})}
    written = {name for base in bases for name in re.findall(r"self\.(\w+)\b.* = ", inspect.getsource(base))}
    return {*dir(kind), *annotated, *written}


def parameters(kind: Any, method: str) -> list[str]:
    return list(parameters_of(getattr(kind, method)))


def test_every_name_of_a_sketched_class_is_here() -> None:
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


def test_what_differs_says_why_and_is_not_here() -> None:
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


def test_every_name_that_is_sketched_is_in_the_list_and_no_other(seen: list[Seen]) -> None:
    assert {one.owner for one in seen} == set(SKETCHES)
    told = {(one.owner, one.member, given) for one in seen if one.member for given in ("", *one.parameters)}
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


def test_what_is_awaited_there_is_awaited_here(seen: list[Seen]) -> None:
    for one in seen:
        sketch = SKETCHES[one.owner]
        if one.is_awaited is None or {one.member, f"{one.member}()"} & set(sketch.differs):
            continue
        if sketch.ours and one.member in sketch.has:
            is_coroutine = inspect.iscoroutinefunction(getattr(ours(sketch), one.member))
            assert is_coroutine is one.is_awaited, f"{one.owner}.{one.member}"


def test_a_difference_in_what_is_awaited_is_one(seen: list[Seen]) -> None:
    for name, sketch in PRESENT.items():
        for what in (what for what in sketch.differs if what.endswith("()")):
            is_coroutine = inspect.iscoroutinefunction(getattr(ours(sketch), what[:-2]))
            there = {one.is_awaited for one in seen if (one.owner, one.member) == (name, what[:-2])}
            assert there - {is_coroutine}, what
