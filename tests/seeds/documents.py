"""The seed documents beside the project: their code blocks, and the code as comparable lines."""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import dedent

SEEDS = Path(__file__).parents[3] / "shared" / "seeds"
TESTS = Path(__file__).parents[1]

_FENCE = re.compile(r" *```(\w*)\s*")
_HEADING = re.compile(r"#+ (.*)")
_AFTER = re.compile("^# After.*$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block; `number` counts the blocks of a document from 1, in any language."""

    document: str
    number: int
    heading: str
    language: str
    text: str

    @property
    def is_code(self) -> bool:
        return self.language == "python"


def blocks() -> list[Block]:
    return [block for path in sorted(SEEDS.glob("*.md")) for block in _blocks(path)]


def _blocks(path: Path) -> Iterator[Block]:
    heading, number = "", 0
    inside: tuple[str, list[str]] | None = None
    for line in path.read_text(encoding="utf-8").splitlines():
        fence = _FENCE.fullmatch(line)
        if fence and inside is None:
            inside = (fence[1], [])
        elif fence and inside is not None:
            number += 1
            yield Block(path.stem, number, heading, inside[0], dedent("\n".join(inside[1])))
            inside = None
        elif inside is not None:
            inside[1].append(line)
        elif told := _HEADING.fullmatch(line):
            heading = told[1]


def tables() -> set[tuple[str, str]]:
    """Document and first row of each printed table outside fences."""
    return {found for path in sorted(SEEDS.glob("*.md")) for found in _tables(path)}


def _tables(path: Path) -> Iterator[tuple[str, str]]:
    outside = re.sub(r"(?ms)^ *```.*?^ *```\s*?$", "", path.read_text(encoding="utf-8"))
    for head in re.findall(r"(?m)^\|(.*)\|\n\|[-|: ]+\|$", outside):
        yield path.stem, ", ".join(cell.strip() for cell in head.split("|"))


def tree_of(text: str, as_python: Iterable[tuple[str, str]] = ()) -> ast.Module:
    """The syntax tree of a block; of a comparison before and after, only the second part. `as_python` replaces text for
    the parser."""
    before, *after = _AFTER.split(text, maxsplit=1)
    shown = after[0] if after else before
    for part, becomes in as_python:
        assert part in shown, f"the block has no {part!r}"
        shown = shown.replace(part, becomes)
    tree = compile(shown, "seed", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    assert isinstance(tree, ast.Module)
    return tree


def lines_of(nodes: Iterable[ast.AST]) -> list[str]:
    """Lines in Python's own form: one for each simple statement, without comments and docstrings, so
    differences of format do not count."""
    written = (ast.unparse(_without_docstrings(node)).splitlines() for node in nodes)
    return [line.strip() for lines in written for line in lines if line.strip()]


def line_of(text: str) -> str:
    """One line of a table in the form of `lines_of`; also the head of a statement, or a decorator."""
    bare = text.strip()
    if bare.startswith("@"):
        return lines_of(tree_of(f"{bare}\ndef decorated(): ...").body)[0]
    if bare.endswith(":"):
        tried = "try: pass\n" if bare.startswith("except") else "if x: pass\n" if bare.startswith("el") else ""
        written = lines_of(tree_of(f"{tried}{bare} ...").body)
        return next(line for line in written if line.split()[0].rstrip(":") == bare.split()[0].rstrip(":"))
    (written,) = lines_of(tree_of(bare).body)
    return written


def functions_of(tree: ast.AST) -> dict[str, list[str]]:
    """The lines of every function by name; functions of one name are joined."""
    found: dict[str, list[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.setdefault(node.name, []).extend(lines_of([node]))
    return found


def code_of(test: str) -> ast.Module:
    """`test` is 'seeds/test_tools.py::test_name': the statements of that function."""
    file, _, name = test.partition("::")
    for node in _tree_in(file).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            return ast.Module(body=node.body, type_ignores=[])
    raise LookupError(f"{file} has no {name}")


@cache
def _tree_in(file: str) -> ast.Module:
    return ast.parse((TESTS / file).read_text(encoding="utf-8"))


def _without_docstrings(node: ast.AST) -> ast.AST:
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and len(inner.body) > 1:
            first = inner.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                del inner.body[0]
    return node
