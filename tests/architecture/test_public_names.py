"""`soorma_ai` loads its names late; what it says of them to type checkers, to `import *` and to programs agrees."""

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import soorma_ai
import soorma_ai.errors

NAMES: list[str] = vars(soorma_ai)["__all__"]


def imported_for_type_checkers() -> dict[str, str]:
    """Name -> module, from the block that only type checkers run. A name is public by being written twice."""
    tree = ast.parse(Path(soorma_ai.__file__).read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names if alias.asname == alias.name}


def promised_errors() -> Iterator[tuple[str, str]]:
    """Where and which: the errors that the docstrings of public classes and their methods say they raise.

    Those of the ports are for whoever writes an adapter, and stand in `soorma_ai.errors`.
    """
    for kind in (getattr(soorma_ai, name) for name in NAMES):
        if not inspect.isclass(kind) or kind.__module__.startswith("soorma_ai.ports."):
            continue
        for name, member in inspect.getmembers(kind):
            if not name.startswith("_"):
                text = re.findall(r"[Rr]aises\s.*", inspect.getdoc(member) or "", re.DOTALL)
                found = set(re.findall(r"\w+", " ".join(text))) & set(vars(soorma_ai.errors))
                yield from ((f"{kind.__name__}.{name}", error) for error in found)


def test_the_lists_name_the_same_and_lead_to_the_same() -> None:
    said = imported_for_type_checkers()
    assert sorted(said) == NAMES
    assert set(NAMES) <= set(dir(soorma_ai))
    assert [name for name in NAMES if getattr(soorma_ai, name) is not getattr(import_module(said[name]), name)] == []


def test_an_error_that_a_public_docstring_promises_is_public() -> None:
    promised = set(promised_errors())
    assert len(promised) > 10
    assert {(where, error) for where, error in promised if error not in NAMES} == set()


def test_what_the_docstring_says_is_elsewhere_is_there() -> None:
    lines = re.findall(r"^\* `(soorma_ai[\w.]+)`: (.*)", soorma_ai.__doc__ or "", re.MULTILINE)
    told = {(module, name) for module, line in lines for name in re.findall(r"`([A-Z]\w+)`", line)}
    assert len(lines) > 5 and len(told) > 5
    assert [(module, name) for module, name in told if not hasattr(import_module(module), name)] == []
    assert {name for _, name in told} & set(NAMES) == set()


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'soorma_ai' has no attribute 'Nonsense'"):
        _ = soorma_ai.Nonsense
