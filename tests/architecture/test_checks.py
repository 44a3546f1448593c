"""Large values are checked in slices at every door: `check_ahead` comes before a rule."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2] / "soorma_ai"
# Calls for violations, direct or in a rule.
RULES = {"violations", "judge", "judge_answer", "judge_choice", "end"}
AHEAD = {"check_ahead", "_check_ahead", "check_decision_ahead"}
# (file, function): why its values are small.
SMALL = {
    ("features/remote/admit.py", "_end"): "another `end`, of a task",
    ("agents/schedules.py", "check"): "the author's own data, once, before anything runs",
    ("kernel/runtime/client/intake.py", "take_request"): "the answer is a bare yes",
    ("surfaces/forms/readings.py", "read_form"): "the console checks the values of `checks_of` before",
    ("agents/contexts/task_in_hand.py", "end"): "another `end`; the result of a task is checked by its `Shape`",
}


def calls(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id, node.lineno


def unguarded(source: str) -> list[str]:
    """Return the functions with a rule before the check, or without it."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            asked = [line for name, line in calls(node) if name in RULES]
            ahead = [line for name, line in calls(node) if name in AHEAD]
            if asked and min(ahead, default=10**9) > min(asked):
                found.append(node.name)
    return found


def test_a_door_without_a_check_is_found() -> None:
    assert unguarded("async def door(s, v):\n    return violations(s, v)\n") == ["door"]
    assert unguarded("async def door(s, v):\n    f = violations(s, v)\n    await check_ahead(s, v)\n") == ["door"]
    assert unguarded("async def door(s, v):\n    await check_ahead(s, v)\n    return violations(s, v)\n") == []


def test_every_door_checks_large_values_in_slices() -> None:
    folders = ("kernel/runtime", "kernel/sql", "agents", "api", "features", "gateways", "adapters", "apps", "surfaces")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    found = {(str(path.relative_to(ROOT)), name) for path in files for name in unguarded(path.read_text())}
    assert found == set(SMALL)


def test_a_check_within_a_transaction_is_bounded() -> None:
    """No slices there, since other transactions wait for its lock."""
    for path in (ROOT / "kernel/rules/arrival").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "violations":
                assert "most" in {keyword.arg for keyword in node.keywords}, path
