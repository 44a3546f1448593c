"""The examples import public names only: names of the package, and the modules in its docstring."""

import ast
import re
from pathlib import Path

import soorma_ai

EXAMPLES = Path(__file__).parents[2] / "examples"
PUBLIC = tuple(f"{name}." for name in re.findall(r"^\* `([\w.]+)`:", soorma_ai.__doc__ or "", re.MULTILINE))
PLANTED = """
import soorma_ai.kernel.runtime.client.client
from soorma_ai import settings
def late():
    from soorma_ai.features.tracking.story import _note
    from soorma_ai.apps.cli.main import cli
"""


def private_imports(program: str) -> list[str]:
    found: list[str] = []
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return [name for name in found if name.startswith("soorma_ai") and not is_public(name)]


def is_public(name: str) -> bool:
    last = name.rpartition(".")[2]
    return (name == f"soorma_ai.{last}" and last in soorma_ai.__all__) or (name.startswith(PUBLIC) and last[0] != "_")


def test_examples_import_only_public_names() -> None:
    programs = sorted(EXAMPLES.rglob("*.py"))
    assert programs and PUBLIC
    assert {path: found for path in programs if (found := private_imports(path.read_text()))} == {}


def test_planted_imports_are_found() -> None:
    assert len(private_imports(PLANTED)) == 4
