"""Approval conditions: CEL, which cannot loop, reach out or change anything."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

from soorma_ai.domain.values import JsonObject
from soorma_ai.errors import ConfigError

ALWAYS = "always"


class _Program(Protocol):
    def execute(self, context: dict[str, JsonObject], /) -> object: ...


def check_condition(expression: str) -> None:
    if expression != ALWAYS:
        _compiled(expression)


def any_of(expressions: Sequence[str]) -> str:
    """One condition that holds where any of these does."""
    distinct = list(dict.fromkeys(expressions))
    if ALWAYS in distinct:
        return ALWAYS
    return distinct[0] if len(distinct) == 1 else " || ".join(f"({expression})" for expression in distinct)


def applies(expression: str, payload: JsonObject, context: JsonObject) -> bool:
    """Whether an approval is needed. A condition that cannot be decided (a field is missing, say) counts as yes."""
    if expression == ALWAYS:
        return True
    try:
        return _compiled(expression).execute({"payload": payload, "context": context}) is not False
    except (LookupError, ArithmeticError, ValueError, TypeError, RuntimeError):
        return True


@lru_cache(maxsize=512)
def _compiled(expression: str) -> _Program:
    import cel  # its package imports a command line of its own: 0.7 s that only users of conditions pay

    try:
        return cel.compile(expression)
    except ValueError as error:
        raise ConfigError(f"approval={expression!r} is neither 'always' nor a CEL expression: {error}") from error
