"""A module that one can read in one go."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_LINES = 400


def test_no_module_is_longer_than_400_lines() -> None:
    lengths = {
        str(module.relative_to(ROOT)): len(module.read_text().splitlines())
        for module in sorted((ROOT / "soorma_ai").rglob("*.py"))
    }
    assert len(lengths) > 20
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}
