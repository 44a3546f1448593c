"""Plain words: prose names things by nouns, and not by clauses with who and what. The numbers only fall."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLAUSE = re.compile(
    r"\b(who|whoever|whom|whose|what|whatever|somebody|nobody|somewhere|elsewhere|that which)\b", re.IGNORECASE
)
CODE = re.compile(r"```.*?```|`[^`]*`|\{[{%].*?[}%]\}", re.DOTALL)
PROSE = (".md", ".j2")

# Text: clauses in 1,000 words at most.
MOST = {"README.md": 8, "docs": 8, "template": 8, "CHANGELOG.md": 8, "CONTRIBUTING.md": 8, "SECURITY.md": 8}
MOST_IN_DOCSTRINGS = 30


def rate(text: str) -> float:
    """Return the clauses in 1,000 words, code left out."""
    words = CODE.sub(" ", text)
    return 1_000 * len(CLAUSE.findall(words)) / max(len(words.split()), 1)


def prose(place: Path) -> str:
    paths = [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.suffix in PROSE)
    return "\n".join(path.read_text() for path in paths)


def docstrings(folder: Path) -> str:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    trees = (ast.parse(path.read_text()) for path in sorted(folder.rglob("*.py")))
    nodes = (node for tree in trees for node in ast.walk(tree) if isinstance(node, documented))
    return "\n".join(ast.get_docstring(node) or "" for node in nodes)


@pytest.mark.parametrize("name", MOST)
def test_public_text_has_few_clauses_with_who_and_what(name: str) -> None:
    assert rate(prose(ROOT / name)) <= MOST[name]


def test_docstrings_have_no_more_of_them_than_before() -> None:
    assert rate(docstrings(ROOT / "soorma_ai")) <= MOST_IN_DOCSTRINGS


def test_a_clause_is_counted_and_code_is_not() -> None:
    assert rate("Whoever asks is told what is open, `who` is code.") == pytest.approx(1_000 * 2 / 9)
    assert rate("An audit log records changes.") == 0
