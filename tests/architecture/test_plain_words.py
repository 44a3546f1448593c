"""Plain words: prose has nouns instead of clauses with who and what. The numbers only fall."""

import ast
import re
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
CLAUSE = re.compile(
    r"\b(who|whoever|whom|whose|what|whatever|somebody|nobody|somewhere|elsewhere|that which)\b", re.IGNORECASE
)
RELATIVE = re.compile(r"\b(which|that)\b", re.IGNORECASE)
CODE = re.compile(r"```.*?```|`[^`]*`|\{[{%].*?[}%]\}", re.DOTALL)
PROSE = (".md", ".j2")

# Text: clauses in 1,000 words at most.
MOST = {"README.md": 8, "docs": 8, "template": 8, "CHANGELOG.md": 8, "CONTRIBUTING.md": 8, "SECURITY.md": 8}
# Package: clauses, and uses of which and that, in 1,000 words of docstrings at most.
DOCSTRINGS = {
    "adapters": (1, 26),
    "agents": (2, 8),
    "api": (2, 12),
    "apps/cli": (1, 10),
    "clients": (2, 8),
    "gateways": (2, 8),
    "kernel": (4, 18),
    "surfaces": (1, 8),
    "testing": (2, 8),
    "": (2, 16),
}
# Printed text: clauses in 1,000 words of string constants at most. Options, messages and page words are among them.
PRINTED = {
    "apps": 2,
    "surfaces": 2,
    "gateways": 4,
    "features/dead_letters": 4,
    "features/human_tasks": 8,
    "features/identity": 8,
    "features/upkeep": 4,
}
MOST_IN_PUBLIC = (2, 8)
# Folder beside the package: the same.
MOST_BESIDE = {"tests": (1, 6), "bench": (1, 4), "examples": (2, 30)}
API = ROOT / "docs" / "reference" / "api.md"


def rate(text: str, wanted: re.Pattern[str] = CLAUSE) -> float:
    """Return the clauses in 1,000 words, code left out."""
    words = CODE.sub(" ", text)
    return 1_000 * len(wanted.findall(words)) / max(len(words.split()), 1)


def rates(text: str) -> tuple[float, float]:
    return rate(text), rate(text, RELATIVE)


def prose(place: Path) -> str:
    paths = [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.suffix in PROSE)
    return "\n".join(path.read_text() for path in paths)


def docstrings(paths: Iterable[Path]) -> str:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    trees = (ast.parse(path.read_text()) for path in paths)
    nodes = (node for tree in trees for node in ast.walk(tree) if isinstance(node, documented))
    return "\n".join(ast.get_docstring(node) or "" for node in nodes)


def own_files(folder: str) -> list[Path]:
    """Return the modules of a folder, those of environments in it left out."""
    paths = sorted((ROOT / folder).rglob("*.py"))
    return [path for path in paths if not any(part.startswith(".") for part in path.relative_to(ROOT).parts)]


def constants(paths: Iterable[Path]) -> str:
    """Return string constants of several words, without docstrings."""
    found: list[str] = []
    for path in paths:
        nodes = list(ast.walk(ast.parse(path.read_text())))
        bare = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        found += [
            node.value
            for node in nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare
        ]
    return "\n".join(text for text in found if " " in text.strip())


def public_modules() -> list[Path]:
    """Return the modules with the names of the page on the Python API."""
    modules: set[str] = set()
    for place in re.findall(r"^::: ([\w.]+)$", API.read_text(), re.MULTILINE):
        module, _, name = place.rpartition(".")
        found = getattr(import_module(module), name, None) or import_module(place)
        modules.add(found.__name__ if isinstance(found, ModuleType) else found.__module__)
    return [Path(str(import_module(module).__file__)) for module in sorted(modules)]


@pytest.mark.parametrize("name", MOST)
def test_public_text_has_few_clauses_with_who_and_what(name: str) -> None:
    assert rate(prose(ROOT / name)) <= MOST[name]


@pytest.mark.parametrize("package", DOCSTRINGS)
def test_docstrings_of_a_package_have_few_clauses(package: str) -> None:
    found = rates(docstrings(sorted((ROOT / "soorma_ai" / package).rglob("*.py"))))
    assert all(one <= most for one, most in zip(found, DOCSTRINGS[package], strict=True)), found


@pytest.mark.parametrize("folder", MOST_BESIDE)
def test_docstrings_of_tests_and_benchmarks_have_few_clauses(folder: str) -> None:
    found = rates(docstrings(own_files(folder)))
    assert all(one <= most for one, most in zip(found, MOST_BESIDE[folder], strict=True)), found


def test_names_of_tests_have_few_clauses() -> None:
    names = re.findall(r"def test_(\w+)", "\n".join(path.read_text() for path in own_files("tests")))
    assert len(names) > 3_000
    assert [name for name in names if CLAUSE.search(name.replace("_", " "))] == [
        "public_text_has_few_clauses_with_who_and_what",
        "printed_text_has_few_clauses_with_who_and_what",
    ]


@pytest.mark.parametrize("place", PRINTED)
def test_printed_text_has_few_clauses_with_who_and_what(place: str) -> None:
    text = constants(sorted((ROOT / "soorma_ai" / place).rglob("*.py")))
    assert len(text.split()) > 100
    assert rate(text) <= PRINTED[place]


def test_docstrings_of_public_modules_have_few_clauses() -> None:
    modules = public_modules()
    assert len(modules) > 20
    found = rates(docstrings(modules))
    assert all(one <= most for one, most in zip(found, MOST_IN_PUBLIC, strict=True)), found


def test_constants_are_counted_without_docstrings(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text('''"""Whoever reads."""\nHELP = "Whose key it is."\nMESSAGE = f"{HELP} of nobody here"\n''')
    assert constants([module]).split("\n") == ["Whose key it is.", " of nobody here"]


def test_a_clause_is_counted_and_code_is_not() -> None:
    assert rate("Whoever asks is told what is open, `who` is code.") == pytest.approx(1_000 * 2 / 9)
    assert rate("An audit log records changes.") == 0
    assert rates("The log that records `that` change.") == (0, pytest.approx(1_000 / 5))
