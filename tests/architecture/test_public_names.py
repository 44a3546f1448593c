"""`soorma_ai` loads its names late; what it says of them to type checkers, to `import *` and to programs agrees."""

import ast
from pathlib import Path

import pytest

import soorma_ai


def imported_for_type_checkers() -> dict[str, str]:
    """Name -> module, from the block that only type checkers run."""
    tree = ast.parse(Path(soorma_ai.__file__).read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def test_the_lists_name_the_same() -> None:
    assert sorted(soorma_ai.__all__) == soorma_ai.__all__ == sorted(imported_for_type_checkers())
    assert set(soorma_ai.__all__) <= set(dir(soorma_ai))


@pytest.mark.parametrize("name", soorma_ai.__all__)
def test_a_name_leads_to_what_type_checkers_think_it_is(name: str) -> None:
    module = __import__(imported_for_type_checkers()[name], fromlist=[name])
    assert getattr(soorma_ai, name) is getattr(module, name)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'soorma_ai' has no attribute 'Nonsense'"):
        _ = soorma_ai.Nonsense
