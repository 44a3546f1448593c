"""Conditions of approvals and transitions: CEL, which cannot loop, reach out or change anything."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Protocol

from soorma_ai.domain.values import Json, JsonObject
from soorma_ai.errors import ConfigError

ALWAYS = "always"
_GAP = r"(?:\s|//[^\n]*\n)*"
_LOOP = re.compile(rf"\.{_GAP}(?:all|exists|exists_one|map|filter){_GAP}\({_GAP}([A-Za-z_]\w*){_GAP},")
_UNDECIDED = (LookupError, ArithmeticError, ValueError, TypeError, RuntimeError)


class _Program(Protocol):
    def variables(self) -> list[str]: ...

    def execute(self, context: dict[str, Json], /) -> object: ...


def check_condition(expression: str) -> None:
    if expression != ALWAYS:
        try:
            _compile(expression)
        except ConfigError as error:
            raise ConfigError(f"approval={expression!r} is neither 'always' nor a CEL expression: {error}") from error


def fault_of(expression: str, known: Sequence[str]) -> str:
    """Return why this is no condition over these values; empty when it is one."""
    try:
        program = _compile(expression)
    except ConfigError as error:
        return f"{expression!r} is no CEL expression: {error}"
    unknown = [name for name in program.variables() if name not in (*known, *loops_of(expression))]
    return f"{expression!r} uses {', '.join(unknown)}; there are {', '.join(known)}" if unknown else ""


def loops_of(expression: str) -> list[str]:
    """Return the variables by which the expression goes through lists."""
    return _LOOP.findall(expression)


def holds(expression: str, values: Mapping[str, Json]) -> bool:
    """Tell whether a condition holds; one that cannot be decided does not."""
    try:
        return _compile(expression).execute(dict(values)) is True
    except _UNDECIDED:
        return False


def any_of(expressions: Sequence[str]) -> str:
    """Return one condition that holds where any of these does."""
    distinct = list(dict.fromkeys(expressions))
    if ALWAYS in distinct:
        return ALWAYS
    return distinct[0] if len(distinct) == 1 else " || ".join(f"({expression})" for expression in distinct)


def applies(expression: str, payload: JsonObject, context: JsonObject) -> bool:
    """Tell whether an approval is needed; it is where that cannot be decided (a field is missing, say)."""
    if expression == ALWAYS:
        return True
    try:
        return _compile(expression).execute({"payload": payload, "context": context}) is not False
    except _UNDECIDED:
        return True


@lru_cache(maxsize=512)
def _compile(expression: str) -> _Program:
    import cel  # its package imports a command line of its own: 0.7 s that only users of conditions pay

    try:
        return cel.compile(expression)
    except ValueError as error:
        raise ConfigError(str(error)) from error
