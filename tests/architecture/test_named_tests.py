"""Lists of tests by name: each name begins one of a test that is there."""

import ast
from functools import cache
from pathlib import Path

import apart
import pytest

ROOT = Path(__file__).parents[2]


@cache
def ids() -> tuple[str, ...]:
    """Return the ids of all tests, without parameters."""
    found = [path for folder in ("examples", "tests") for path in sorted((ROOT / folder).rglob("test_*.py"))]
    files = [path for path in found if "__pycache__" not in path.parts]
    return tuple(
        f"{path.relative_to(ROOT)}::{node.name}"
        for path in files
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    )


@pytest.mark.parametrize("name", apart.OF_A_FILE)
def test_a_test_of_a_file_is_there(name: str) -> None:
    assert any(one.startswith(name.partition("[")[0]) for one in ids()), f"no test begins with {name}"


@pytest.mark.parametrize("name", apart.SAMPLE_ON_POSTGRES)
def test_a_test_of_the_sample_on_postgresql_is_there(name: str) -> None:
    assert any(name in one for one in ids() if one.startswith("tests/contract/")), f"no contract's test has {name}"
