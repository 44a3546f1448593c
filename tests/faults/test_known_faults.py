"""Every known fault has a test that shows it is not here, or belongs to a part that is not here either."""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from known_faults import FAULTS, Fault

TESTS = Path(__file__).parents[1]


@cache
def collected_in(path: Path) -> frozenset[str]:
    """Those that are collected: no helpers, and nothing that is skipped whatever happens."""
    found = [
        node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return frozenset(node.name for node in found if node.name.startswith("test_") and not is_skipped(node))


def is_skipped(test: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(ast.unparse(mark).startswith(("pytest.mark.skip(", "pytest.mark.xfail")) for mark in test.decorator_list)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.what)
def test_of_each_fault_there_is_a_test_or_it_is_said_where_it_will_be(fault: Fault) -> None:
    assert fault.tests or fault.later
    for test in fault.tests:
        path, _, name = test.partition("::")
        assert name in collected_in(TESTS / path), f"there is no {test}; name the test that shows this, or write it"


def test_no_fault_is_listed_twice() -> None:
    assert [what for what, count in Counter(fault.what for fault in FAULTS).items() if count > 1] == []
    assert all(len(fault.tests) == len(set(fault.tests)) for fault in FAULTS)


def test_a_test_that_is_skipped_or_gone_is_none(tmp_path: Path) -> None:
    module = tmp_path / "test_some.py"
    module.write_text(
        "import pytest\n\ndef test_one(): ...\n\n@pytest.mark.skip(reason='later')\nasync def test_two(): ...\n"
        "\ndef helper(): ...\n"
    )
    assert collected_in(module) == {"test_one"}
