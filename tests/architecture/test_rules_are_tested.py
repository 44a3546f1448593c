"""Pure rules are tested without a platform: each module of `kernel/rules` has a unit test."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]


def imported(test: Path) -> set[str]:
    nodes = [node for node in ast.walk(ast.parse(test.read_text())) if isinstance(node, ast.ImportFrom)]
    return {str(node.module) for node in nodes} | {
        f"{node.module}.{name.name}" for node in nodes for name in node.names
    }


def test_every_module_of_rules_has_a_unit_test() -> None:
    known = {name for test in (ROOT / "tests" / "unit").glob("test_*.py") for name in imported(test)}
    modules = [path for path in (ROOT / "soorma_ai" / "kernel" / "rules").rglob("*.py") if path.stem != "__init__"]
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in modules}
    assert len(names) > 20
    assert sorted(names - known) == []
