"""Parameters of a function, including the options of its TypedDict."""

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any, get_args

from typing_extensions import is_typeddict


def parameters_of(function: Callable[..., Any]) -> dict[str, object]:
    """Return the annotation of each parameter, by its name."""
    found: dict[str, object] = {}
    for name, one in signature(function).parameters.items():
        options = get_args(one.annotation) if one.kind is Parameter.VAR_KEYWORD else ()
        found |= options[0].__annotations__ if options and is_typeddict(options[0]) else {name: one.annotation}
    return found
