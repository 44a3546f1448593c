"""The examples use what every program may use: the names of the package, and the modules that are public as a whole."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import soorma_ai

EXAMPLES = Path(__file__).parents[2] / "examples"
PUBLIC = ("soorma_ai.terminal", "soorma_ai.testing")


def private_imports(program: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if not _is_public(alias.name, ""))
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            yield from (f"{module}.{alias.name}" for alias in node.names if not _is_public(module, alias.name))


def _is_public(module: str, name: str) -> bool:
    if module.partition(".")[0] != "soorma_ai":
        return True
    is_public_module = any(f"{module}.".startswith(f"{public}.") for public in PUBLIC)
    is_top_level = module == "soorma_ai" and (not name or name in soorma_ai.__all__)
    return is_top_level or (is_public_module and not name.startswith("_"))


def test_examples_import_only_public_names() -> None:
    programs = sorted(EXAMPLES.rglob("*.py"))
    assert programs
    assert {path.name: found for path in programs if (found := list(private_imports(path.read_text())))} == {}


@pytest.mark.parametrize(
    "planted",
    [
        "from soorma_ai.cli.main import cli",
        "import soorma_ai.runtime.client.client",
        "from soorma_ai import settings",
        "def late() -> None:\n    from soorma_ai.terminal.story import _note",
    ],
)
def test_a_planted_import_is_found(planted: str) -> None:
    assert len(list(private_imports(planted))) == 1
