"""Tests run the real parts: nothing of ours is stood in for by a mock."""

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
MOCKS = {"mock", "unittest.mock", "pytest_mock"}


def imported(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{name.name}" for name in node.names)


def test_a_mock_would_be_seen() -> None:
    assert MOCKS & set(imported("from unittest import mock"))
    assert MOCKS & set(imported("from unittest.mock import patch"))


def test_no_test_uses_a_mock() -> None:
    found = {path.name: MOCKS & set(imported(path.read_text())) for path in TESTS.glob("**/*.py")}
    assert len(found) > 100
    assert {name: mocks for name, mocks in found.items() if mocks} == {}
