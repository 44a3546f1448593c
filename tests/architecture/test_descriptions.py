"""Every public parameter, option, route, setting and limit has a sentence: in a docstring, a help text, a page."""

import ast
import inspect
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import click
import pytest
from typing_extensions import is_typeddict

import soorma_ai
from soorma_ai import Limits
from soorma_ai.api.server.openapi import document
from soorma_ai.api.server.parameter_texts import COMMON
from soorma_ai.apps.cli.main import cli
from soorma_ai.operations import OPERATIONS
from soorma_ai.settings import VARIABLES

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "api.md"

# Classes without sentences of their own, with the reason.
MIRRORS = {"PlatformClient": "a Protocol of the calls of AsyncClient", "Store": "a port: its calls have docstrings"}
# Parameters without a value of a program's own: those of Python, of the platform, and the trap for a missing call.
INTERNAL = {"self", "cls", "args", "options", "handling", "services", "in_hand", "make", "expectation", "given", "kwds"}


def public_kinds() -> list[type]:
    named = [getattr(soorma_ai, name) for name in vars(soorma_ai)["__all__"]]
    kinds = [one for one in named if inspect.isclass(one) and not issubclass(one, BaseException)]
    return [one for one in kinds if one.__name__ not in MIRRORS]


def undescribed(kind: type) -> Iterator[str]:
    """Yield the fields, constructor parameters and parameters of methods without a sentence."""
    about = "\n".join(base.__doc__ or "" for base in kind.__mro__ if base is not object)
    fields: Any = getattr(kind, "__struct_fields__", None) or getattr(kind, "model_fields", None)
    if fields:
        described = {name for base in kind.__mro__ for name in described_fields(base)}
        yield from (
            f"{kind.__name__}.{name}"
            for name in fields
            if name not in described and name[0] != "_" and not is_named(name, about)
        )
    elif not getattr(kind, "_is_protocol", False):
        described = {name for base in kind.__mro__ for name in described_fields(base)}
        missing = unnamed(kind.__init__, f"{about}\n{inspect.getdoc(kind.__init__)}")
        yield from (f"{kind.__name__}({name})" for name in missing if name not in described)
    for name, member in inspect.getmembers(kind, inspect.isroutine):
        function = getattr(member, "__func__", member)
        if name[0] != "_" and str(getattr(function, "__module__", "")).startswith("soorma_ai"):
            missing = unnamed(function, f"{about}\n{inspect.getdoc(member)}")
            yield from (f"{kind.__name__}.{name}({one})" for one in missing)


def unnamed(function: Callable[..., Any], text: str) -> Iterator[str]:
    for name, one in inspect.signature(function).parameters.items():
        options = get_args(one.annotation) if one.kind is inspect.Parameter.VAR_KEYWORD else ()
        if options and is_typeddict(options[0]):
            described = {name for base in bases_of(options[0]) for name in described_fields(base)}
            yield from (key for key in options[0].__annotations__ if key not in described and not is_named(key, text))
        elif not (name[0] == "_" or name in (*INTERNAL, *COMMON) or is_named(name, text)):
            yield name


def bases_of(options: Any) -> Iterator[type]:
    """Yield a TypedDict and its bases; it keeps them as its original bases."""
    yield options
    for base in getattr(options, "__orig_bases__", ()):
        if is_typeddict(base):
            yield from bases_of(base)


@cache
def described_fields(kind: type) -> frozenset[str]:
    """Return the fields with a docstring below them."""
    if not kind.__module__.startswith("soorma_ai"):
        return frozenset()
    tree = ast.parse(Path(str(inspect.getsourcefile(kind))).read_text())
    body = next(node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == kind.__name__)
    return frozenset(
        field.target.id
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
    )


def is_named(name: str, text: str) -> bool:
    """Tell whether a docstring names a parameter: in code, or in its list of arguments."""
    return re.search(rf"`[^`\n]*\b{name}\b[^`\n]*`|^\s*{name}: ", text, re.MULTILINE) is not None


def options_without_help(command: click.Command, name: str, context: click.Context) -> Iterator[str]:
    """Yield options without a help text, and arguments missing in the help of their command."""
    for one in command.get_params(context):
        if isinstance(one, click.Option) and not one.hidden and not one.help:
            yield f"{name} {one.opts[-1]}"
    if isinstance(command, click.Group):
        for key in command.list_commands(context):
            _, inner, _ = command.resolve_command(context, [key])
            if inner is not None:
                yield from options_without_help(inner, f"{name} {key}", click.Context(inner, context, key))


def fields_without_text(made: dict[str, Any]) -> Iterator[str]:
    """Yield operations, parameters and body fields of an OpenAPI document without a description."""
    for path, methods in made["paths"].items():
        for method, operation in methods.items():
            place = f"{method.upper()} {path}"
            if not operation.get("summary"):
                yield place
            yield from (f"{place} {one['name']}" for one in operation["parameters"] if not one.get("description"))
            fields = body_fields(made, operation)
            yield from (f"{place} {name}" for name, one in fields.items() if not one.get("description"))


def body_fields(made: dict[str, Any], operation: dict[str, Any]) -> dict[str, Any]:
    if "requestBody" not in operation:
        return {}
    reference = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    return made["components"]["schemas"][reference.rpartition("/")[2]]["properties"]


def the_document() -> dict[str, Any]:
    return json.loads(document(OPERATIONS, "/"))


@pytest.mark.parametrize("kind", public_kinds(), ids=lambda kind: kind.__name__)
def test_every_parameter_of_a_public_class_has_a_sentence(kind: type) -> None:
    assert list(undescribed(kind)) == []


def test_every_option_of_a_command_has_a_help_text() -> None:
    assert list(options_without_help(cli, "soorma", click.Context(cli, info_name="soorma"))) == []


def test_every_operation_parameter_and_body_field_has_a_description() -> None:
    assert list(fields_without_text(the_document())) == []


def test_every_setting_has_a_sentence() -> None:
    assert [one.name for one in VARIABLES if len(one.meaning.split()) < 2] == []


def test_every_limit_has_a_sentence() -> None:
    about = Limits.__doc__ or ""
    described = described_fields(Limits)
    assert [name for name in Limits.__struct_fields__ if name not in described and f"`{name}`" not in about] == []


def test_the_page_on_the_python_api_has_the_common_parameters() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", PAGE.read_text(), re.MULTILINE))
    assert rows == COMMON


def test_a_parameter_without_a_sentence_is_named() -> None:
    class Short:
        """Example. `first` is described."""

        def __init__(self, first: int, second: int, plan_id: str) -> None:
            self.both = (first, second, plan_id)

    assert list(unnamed(Short.__init__, Short.__doc__ or "")) == ["second"]


def test_a_body_field_without_a_description_is_named() -> None:
    made = the_document()
    del made["components"]["schemas"]["StoreBody"]["properties"]["key"]["description"]
    assert list(fields_without_text(made)) == ["POST /v1/working-memory/{plan_id} key"]
