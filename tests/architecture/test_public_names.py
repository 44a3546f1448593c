"""Packages with late imports: their names for type checkers, for `import *` and for programs agree."""

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from parameters import parameters_of

import soorma_ai
import soorma_ai.agents
import soorma_ai.errors
import soorma_ai.testing

NAMES: list[str] = vars(soorma_ai)["__all__"]
PACKAGES = [soorma_ai, soorma_ai.agents, soorma_ai.testing]


def imported_for_type_checkers(package: ModuleType) -> dict[str, str]:
    """Return the module by name, from the block for type checkers. A name is public by being written twice."""
    tree = ast.parse(Path(str(package.__file__)).read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names if alias.asname == alias.name}


def promised_errors() -> Iterator[tuple[str, str]]:
    """Yield the errors in the docstrings of public classes and methods, with their place. The errors of the store
    concern authors of stores only, and are in `soorma_ai.errors`."""
    for kind in (getattr(soorma_ai, name) for name in NAMES):
        if not inspect.isclass(kind) or kind is soorma_ai.Store:
            continue
        for name, member in inspect.getmembers(kind):
            if not name.startswith("_"):
                text = re.findall(r"[Rr]aises?\s.*", inspect.getdoc(member) or "", re.DOTALL)
                found = set(re.findall(r"\w+", " ".join(text))) & set(vars(soorma_ai.errors))
                yield from ((f"{kind.__name__}.{name}", error) for error in found)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_both_lists_of_names_are_equal_and_lead_to_the_same_objects(package: ModuleType) -> None:
    said, names = imported_for_type_checkers(package), vars(package)["__all__"]
    assert sorted(said) == names
    assert set(names) <= set(dir(package))
    assert [name for name in names if getattr(package, name) is not getattr(import_module(said[name]), name)] == []


def test_an_error_in_a_public_docstring_is_public() -> None:
    promised = set(promised_errors())
    assert len(promised) > 10
    assert {(where, error) for where, error in promised if error not in NAMES} == set()


def test_the_names_of_other_modules_in_the_docstring_exist() -> None:
    lines = re.findall(r"^\* `(soorma_ai[\w.]+)`: (.*)", soorma_ai.__doc__ or "", re.MULTILINE)
    told = {(module, name) for module, line in lines for name in re.findall(r"`([A-Z]\w+)`", line)}
    assert len(lines) > 5 and len(told) > 5
    assert [(module, name) for module, name in told if not hasattr(import_module(module), name)] == []
    assert {name for _, name in told} & set(NAMES) == set()


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'soorma_ai' has no attribute 'Nonsense'"):
        _ = soorma_ai.Nonsense


def attributes_without_words(kind: type) -> Iterator[str]:
    """Yield public attributes missing in the `help` of a class: neither constructor arguments, nor named in the
    docstring of the class or of a base, nor described at their definition."""
    told = " ".join(base.__doc__ or "" for base in kind.__mro__ if base is not object)
    names = {name for name, member in inspect.getmembers(kind) if isinstance(member, property) and not member.__doc__}
    is_written = "__init__" in vars(kind) and not is_dataclass(kind)
    made = inspect.getsource(kind.__init__) if is_written else ""
    names |= set(re.findall(r"self\.([a-z]\w*)(?::[^=]+)? = ", made))
    names -= {name for name in names if name.startswith("_")} | set(parameters_of(kind.__init__))
    yield from (f"{kind.__name__}.{name}" for name in sorted(names) if not re.search(rf"`{name}\b", told))


def test_the_help_of_a_public_class_describes_its_attributes() -> None:
    kinds = [kind for kind in (getattr(soorma_ai, name) for name in NAMES) if inspect.isclass(kind)]
    assert [name for kind in kinds for name in attributes_without_words(kind)] == []


def calls_without_words(kind: type) -> Iterator[str]:
    """Yield public methods and properties without a docstring, also of bases."""
    told = " ".join(base.__doc__ or "" for base in kind.__mro__ if base is not object)
    for name, member in inspect.getmembers(kind):
        function = getattr(member, "fget", None) or getattr(member, "__func__", member)
        is_ours = str(getattr(function, "__module__", "")).startswith("soorma_ai") and inspect.isfunction(function)
        is_told = isinstance(member, property) and re.search(rf"`{name}\b", told)
        if is_ours and not name.startswith("_") and not is_told and not inspect.getdoc(member):
            yield f"{kind.__name__}.{name}"


def test_every_public_class_and_method_has_a_docstring() -> None:
    kinds = [kind for kind in (getattr(soorma_ai, name) for name in NAMES) if inspect.isclass(kind)]
    dumb = [kind for kind in kinds if not vars(kind).get("__doc__")]
    generated = [kind for kind in kinds if is_dataclass(kind) and str(kind.__doc__).startswith(f"{kind.__name__}(")]
    assert [kind.__name__ for kind in (*dumb, *generated)] == []
    # The calls of a PlatformClient are documented in AsyncClient.
    said = [name for kind in kinds if kind is not soorma_ai.PlatformClient for name in calls_without_words(kind)]
    assert said == []


def test_a_port_in_a_public_constructor_is_public() -> None:
    taken: set[str] = set()
    for kind in (getattr(soorma_ai, name) for name in ("Platform", "Planner", "ChoreographyPlanner", "RemoteAgents")):
        annotations = " ".join(map(str, parameters_of(kind.__init__).values()))
        taken |= set(re.findall(r"soorma_ai\.kernel\.ports\.\w+\.(\w+)", annotations))
    assert taken >= {"Bus", "Clock", "Embedder", "Reasoner", "Store"}
    assert taken - set(NAMES) == set()
