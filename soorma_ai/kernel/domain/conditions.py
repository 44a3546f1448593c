"""Conditions of approvals and transitions: CEL, without access or side effects, within a bounded time."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Protocol

from msgspec import Struct

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.decimals import Path, decimals_as_numbers, number_paths, text_paths
from soorma_ai.kernel.domain.expressions import MOST_STEPS, Term, ValueBound, cost_of, parse, size_of, uses_in
from soorma_ai.kernel.domain.values import Json, JsonObject, clip

ALWAYS = "always"
# What a machine's condition is tried on before it is taken: data with lists of this many items.
USUAL = ValueBound(nodes=1_000, items=100)
SHOWN = 200
_UNDECIDED = (LookupError, ArithmeticError, ValueError, TypeError, RuntimeError)


class _Program(Protocol):
    def execute(self, context: dict[str, Json], /) -> object: ...


class _Condition(Struct, frozen=True):
    """Expression ready for evaluation. `uses` are the accessed fields of values, `numbers` the paths taken for
    numbers, `texts` those compared as text."""

    structure: Term
    uses: frozenset[tuple[str, str]]
    numbers: frozenset[Path]
    texts: frozenset[Path]
    program: _Program

    @property
    def names(self) -> set[str]:
        return {name for name, _ in self.uses}

    def evaluate(self, values: Mapping[str, Json]) -> object:
        """Return its value. Raise one of `_UNDECIDED`; RuntimeError among them is for too long a run."""
        seen = {name: self._narrow(name, values[name]) for name in self.names if name in values}
        cost = cost_of(self.structure, {name: size_of(value) for name, value in seen.items()})
        if cost > MOST_STEPS:
            raise RuntimeError(f"it may take {cost} steps over this data, {MOST_STEPS} are possible")
        with _without_panic():
            return self.program.execute(seen)

    def _narrow(self, name: str, value: Json) -> Json:
        """Return no more of a value than is looked at, with the decimals that are compared as numbers."""
        if (name, "") not in self.uses and isinstance(value, dict):
            value = {field: item for field, item in value.items() if (name, field) in self.uses}
        numbers, texts = ([path[1:] for path in paths if path[0] == name] for paths in (self.numbers, self.texts))
        return decimals_as_numbers(value, numbers, texts)


def check_condition(expression: str) -> None:
    if expression != ALWAYS:
        try:
            _compile(expression)
        except ConfigError as error:
            given = clip(expression, SHOWN)
            raise ConfigError(f"approval={given!r} is neither 'always' nor a CEL expression: {error}") from error


def fault_of(expression: str, known: Sequence[str]) -> str:
    """Return the fault of a condition over these values, too long a run included; empty for a good one."""
    try:
        condition = _compile(expression)
    except ConfigError as error:
        return f"{clip(expression, SHOWN)!r} is no CEL expression: {error}"
    if unknown := sorted(condition.names - {*known}):
        return f"{clip(expression, SHOWN)!r} uses {', '.join(unknown)}; there are {', '.join(known)}"
    cost = cost_of(condition.structure, dict.fromkeys(condition.names, USUAL))
    if cost > MOST_STEPS:
        return (
            f"{clip(expression, SHOWN)!r} may take {clip(str(cost), 20)} steps over lists of {USUAL.items} items, "
            f"{MOST_STEPS} are possible; go through fewer lists within each other, and write [0-9] for \\d in patterns"
        )
    return ""


def holds(expression: str, values: Mapping[str, Json]) -> bool:
    """Tell whether a condition holds; an undecidable or too slow one does not."""
    try:
        return _compile(expression).evaluate(values) is True
    except _UNDECIDED:
        return False


def any_of(expressions: Sequence[str]) -> str:
    """Return the disjunction of conditions; `ALWAYS` for too large a result."""
    distinct = list(dict.fromkeys(expressions))
    if ALWAYS in distinct or len(distinct) == 1:
        return ALWAYS if ALWAYS in distinct else distinct[0]
    joined = " || ".join(f"({expression}\n)" for expression in distinct)  # it may end with a comment
    try:
        _compile(joined)
    except ConfigError:
        return ALWAYS
    return joined


def applies(expression: str, payload: JsonObject, context: JsonObject | None) -> bool:
    """Tell whether an approval is needed. An undecidable or too slow condition needs one (a missing field, say, or a
    missing context)."""
    if expression == ALWAYS:
        return True
    try:
        condition = _compile(expression)
        if context is None and "context" in condition.names:
            return True
        return condition.evaluate({"payload": payload, "context": context or {}}) is not False
    except _UNDECIDED:
        return True


@lru_cache(maxsize=512)
def _compile(expression: str) -> _Condition:
    try:
        structure = parse(expression)
        import cel  # its package imports a command line of its own: 0.7 s that only users of conditions pay

        with _without_panic():
            uses, numbers, texts = uses_in(structure), number_paths(structure), text_paths(structure)
            program = cel.compile(expression)
            return _Condition(structure, frozenset(uses), frozenset(numbers), frozenset(texts), program)
    except (ValueError, RuntimeError) as error:
        raise ConfigError(clip(str(error), SHOWN)) from error


@contextmanager
def _without_panic() -> Generator[None]:
    """Raise RuntimeError at a panic of the library, past the reach of `except Exception`."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, Exception | KeyboardInterrupt | SystemExit):
            raise
        raise RuntimeError(f"the expression library gave up: {error}") from error
