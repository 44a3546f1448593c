"""Tests run the real parts: no mock replaces a part of ours."""

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
MOCKS = {"mock", "unittest.mock", "pytest_mock"}


def imports_of(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{name.name}" for name in node.names)


def test_an_import_of_mocks_is_found() -> None:
    assert MOCKS & set(imports_of("from unittest import mock"))
    assert MOCKS & set(imports_of("from unittest.mock import patch"))


def test_no_test_uses_a_mock() -> None:
    found = {path.name: MOCKS & set(imports_of(path.read_text())) for path in TESTS.glob("**/*.py")}
    assert len(found) > 100
    assert {name: mocks for name, mocks in found.items() if mocks} == {}
