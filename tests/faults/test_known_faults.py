"""Every known fault has a test of its absence, or belongs to a missing part."""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
TESTS = HERE.parent


@dataclass
class Fault:
    """`tests` are paths below `tests`, with the test's name; `later` names the missing part."""

    what: str
    tests: list[str] = field(default_factory=list[str])
    later: str = ""


def read(text: str) -> list[Fault]:
    """Return the faults of a text: a line each, with its tests indented below."""
    faults: list[Fault] = []
    for line in text.splitlines():
        below = line.strip()
        if line.startswith("    later: "):
            faults[-1].later = below.removeprefix("later: ")
        elif line.startswith("    "):
            faults[-1].tests.append(below)
        elif below and not line.startswith("#"):
            faults.append(Fault(line))
    return faults


FAULTS = read((HERE / "known_faults.txt").read_text())


@cache
def collected_in(path: Path) -> frozenset[str]:
    """Return the collected tests: no helpers, and no test skipped in any case."""
    return frozenset(test.name for test in _tests(ast.parse(path.read_text())) if not is_skipped(test))


def _tests(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node


def is_skipped(test: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(ast.unparse(mark).startswith(("pytest.mark.skip(", "pytest.mark.xfail")) for mark in test.decorator_list)


def test_each_fault_has_a_test_or_names_its_missing_part() -> None:
    assert len(FAULTS) > 50
    assert [fault.what for fault in FAULTS if not (fault.tests or fault.later)] == []
    named = [test.partition("::") for fault in FAULTS for test in fault.tests]
    gone = [f"{path}::{name}" for path, _, name in named if name not in collected_in(TESTS / path)]
    assert gone == [], "name the test of the fault, or write it"


def test_no_fault_is_listed_twice() -> None:
    assert [what for what, count in Counter(fault.what for fault in FAULTS).items() if count > 1] == []
    assert all(len(fault.tests) == len(set(fault.tests)) for fault in FAULTS)


def test_a_skipped_or_missing_test_does_not_count(tmp_path: Path) -> None:
    module = tmp_path / "test_some.py"
    module.write_text(
        "import pytest\n\ndef test_one(): ...\n\n@pytest.mark.skip(reason='later')\nasync def test_two(): ...\n"
        "\ndef helper(): ...\n"
    )
    assert collected_in(module) == {"test_one"}
