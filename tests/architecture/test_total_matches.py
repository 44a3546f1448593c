"""A match over the kinds of a decision names each kind, so no rule silently refuses a new kind."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from soorma_ai.kernel.domain.decisions import PlanAction

PACKAGE = Path(__file__).parents[2] / "soorma_ai"
KINDS = {kind.__name__ for kind in get_args(get_args(PlanAction)[0])}


def named_in(case: ast.match_case) -> set[str]:
    """Return the classes of a case; none for a case with a guard."""
    classes = [node.cls for node in ast.walk(case.pattern) if isinstance(node, ast.MatchClass)]
    return set() if case.guard else {one.id for one in classes if isinstance(one, ast.Name)}


def partial_matches(source: str) -> Iterator[int]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Match):
            names = set[str]().union(*map(named_in, node.cases))
            if names & KINDS and not names >= KINDS:
                yield node.lineno


def test_each_match_over_decisions_names_each_kind() -> None:
    found = {path.name: [*partial_matches(path.read_text())] for path in PACKAGE.rglob("*.py")}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_a_match_with_a_default_case_is_found() -> None:
    source = "match action:\n    case CompleteAction():\n        end()\n    case _:\n        go()\n"
    assert [*partial_matches(source)] == [1]
