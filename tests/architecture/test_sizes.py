"""Modules are short enough to read at once; longer ones have a reason here."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_LINES, MOST_WITH_REASON = 400, 600

# Module: the reason for one long subject.
REASONS = {
    "soorma_ai/kernel/runtime/client/client.py": "all calls of one client, each with its arguments",
    "soorma_ai/kernel/runtime/handling/handling.py": "a handling, its services and its observer: one cycle of types",
    "soorma_ai/features/tracking/trace.py": "one tree, made of all kinds of rows",
}


def test_a_module_longer_than_400_lines_has_a_reason() -> None:
    modules = sorted((ROOT / "soorma_ai").rglob("*.py"))
    lengths = {str(module.relative_to(ROOT)): len(module.read_text().splitlines()) for module in modules}
    assert len(lengths) > 20
    long = {name for name, lines in lengths.items() if lines > MOST_LINES}
    assert long == set(REASONS)
    assert {name: lines for name, lines in lengths.items() if lines > MOST_WITH_REASON} == {}
