"""Cost of a check, estimated before it runs from the schema and the size of the value.

A call of the validator holds the interpreter's lock from its start to its end. So every call is kept within 20 ms. A
unit is about 25 ns of the validator's time.
"""

from collections.abc import Callable, Iterable
from typing import cast

from msgspec import Struct
from msgspec.json import Encoder as JsonEncoder

from soorma_ai.kernel.domain.patterns import FEW_PLACES, MOST_STEPS, is_backtracking, places_in
from soorma_ai.kernel.domain.schema_graph import SchemaGraph
from soorma_ai.kernel.domain.values import MOST_LEVELS, Json, JsonObject

MOST_AT_ONCE = 200_000  # 5 ms on a quiet machine, 20 ms on a busy one
MOST_IN_ALL = 2_000 * MOST_AT_ONCE
MOST_IN_A_TRANSACTION = 40 * MOST_AT_ONCE  # where others wait for a lock
MOST_MEASURED = MOST_AT_ONCE // 10  # parts, by code of our own
CHARACTERS = 16  # that cost as much as a value
_OF_AN_ERROR = 800  # to make it
_OF_ITS_VALUE = 80  # to copy one part of the value into it
_OF_AN_EVALUATION = 16
_OF_A_FORMAT = 40
_OF_A_FRACTION = 100
_OF_A_PART = 10
_OF_A_MULTIPLE = 200  # of a fraction, far more for extreme exponents
_OF_A_STEP = 8
_OF_AN_ESTIMATE = 20
_BYTES = 6  # that are spelled in one unit


class ValueSize(Struct, frozen=True):
    """How many values there are in one, itself and its text counted, and on how many levels."""

    parts: int
    levels: int


_SCALAR = ValueSize(1, 0)
_encode = JsonEncoder().encode


def length_of(value: object) -> int | None:
    """Return the bytes of a value as JSON, no fewer than its parts; None for any other value."""
    try:
        return len(_encode(value))
    except (TypeError, ValueError, RecursionError):
        return None


def measure(value: Json, most: int) -> ValueSize | None:
    """Return the size of a value; None for one of more than `most` parts."""
    if not isinstance(value, dict | list):
        return _SCALAR if not isinstance(value, str) else _size_of_text(value, most)
    parts, levels, level = 1, 0, list[dict[str, Json] | list[Json]]([value])
    while level:
        levels += 1
        below: list[dict[str, Json] | list[Json]] = []
        for one in level:
            parts += len(one)
            if parts > most:
                return None
            text = sum(map(len, one)) if isinstance(one, dict) else 0
            for item in one.values() if isinstance(one, dict) else one:
                if isinstance(item, str):
                    text += len(item)
                elif isinstance(item, dict | list):
                    below.append(item)
            parts += text // CHARACTERS
        if parts > most:
            return None
        level = below
    return ValueSize(parts, levels)


def _size_of_text(text: str, most: int) -> ValueSize | None:
    parts = 1 + len(text) // CHARACTERS
    return ValueSize(parts, 0) if parts <= most else None


class Estimate(Struct, frozen=True):
    """Units of a check, and units of the estimate itself."""

    units: int
    spent: int

    @property
    def is_little(self) -> bool:
        return self.units <= MOST_AT_ONCE


class SchemaCosts:
    """Costs of the schemas of one document, for values by their depth."""

    def __init__(self, graph: SchemaGraph) -> None:
        self._graph = graph
        self._rows = graph.totals(cost_of_schema)
        self._errors: list[list[int]] | None = None

    def each(self, schema: JsonObject, levels: int) -> int:
        """Return the most units for one part of a value with this number of levels."""
        return self._rows[min(levels, len(self._rows) - 1)][self._graph.number_of(schema)]

    @property
    def highest(self) -> int:
        return max(row[self._graph.root] for row in self._rows)

    def check(self, schema: JsonObject, value: Json) -> Estimate:
        """Estimate a check, quickly by the length of the spelled value, or else by its size."""
        each, length = self.each(schema, MOST_LEVELS), None
        if each <= MOST_AT_ONCE // 2:
            length = 2 if value is None or isinstance(value, int | float) else length_of(value)
        spent = _OF_AN_ESTIMATE + (length or 0) // _BYTES
        if length is not None and length * each <= MOST_AT_ONCE:
            return Estimate(length * each, spent)
        most = min(MOST_MEASURED, MOST_AT_ONCE // self.each(schema, 0))
        size = measure(value, most)
        if size is None:
            return Estimate(MOST_AT_ONCE + 1, spent + most * _OF_A_PART)
        return Estimate(size.parts * self.each(schema, size.levels), spent + size.parts * _OF_A_PART)

    def check_spelled(self, schema: JsonObject, part: object) -> int | None:
        """Return the units for a part of a value, by its length; None where these are too many for one call."""
        each = self.each(schema, MOST_LEVELS)
        length = length_of(part) if each <= MOST_AT_ONCE // 2 else None
        return None if length is None or length * each > MOST_AT_ONCE else length * each

    def telling(self, schema: JsonObject, value: Json) -> int | None:
        """Return the units for a call with all errors; None for too many."""
        size = measure(value, MOST_MEASURED)
        if size is None:
            return None
        if self._errors is None:
            self._errors = self._graph.totals(_errors_of_schema)
        errors = size.parts * self._errors[min(size.levels, len(self._errors) - 1)][self._graph.number_of(schema)]
        units = errors * (_OF_AN_ERROR + _OF_ITS_VALUE * size.parts)
        return units if units <= 4 * MOST_AT_ONCE else None


def _errors_of_schema(schema: JsonObject) -> int:
    return 1 + sum(_length(schema.get(name)) for name in ("required", "dependentRequired"))


def cost_of_schema(schema: JsonObject) -> int:
    """Return the units for one part of a value, without the schemas in this one."""
    return 1 + sum(_COSTS[name](value) for name, value in schema.items() if name in _COSTS)


def cost_of_pattern(pattern: object) -> int:
    """Return the units for text of as many characters as cost one part."""
    if not isinstance(pattern, str):
        return 0
    places = places_in(pattern)
    units = 4 if places <= FEW_PLACES else CHARACTERS * places
    return units + (MOST_STEPS * _OF_A_STEP if is_backtracking(pattern) else 0)


def _length(value: Json) -> int:
    return len(value) if isinstance(value, dict | list) else 0


def _cost_of_options(options: Json) -> int:
    """Return the units of a comparison: one look into a table where all are texts or all are integers, else many."""
    found = cast(list[Json], options)
    kinds = {type(one) for one in found if one is not None}
    if kinds <= {str} or kinds <= {int} or kinds <= {bool}:
        return 1
    return sum(_cost_of_option(one) for one in found)


def _cost_of_option(value: Json) -> int:
    units, ahead = 0, [value]
    while ahead:
        one = ahead.pop()
        units += _OF_A_FRACTION if isinstance(one, float) else 1
        if isinstance(one, dict | list):
            inner: Iterable[Json] = one.values() if isinstance(one, dict) else one
            units += _OF_A_PART * len(one)
            ahead += inner
    return units


_COSTS: dict[str, Callable[[Json], int]] = {
    "dependentRequired": _length,
    "dependentSchemas": _length,
    "enum": lambda options: _cost_of_options(options) if isinstance(options, list) else 0,
    "const": lambda value: _cost_of_options([value]),
    "pattern": cost_of_pattern,
    "patternProperties": lambda patterns: sum(map(cost_of_pattern, patterns)) if isinstance(patterns, dict) else 0,
    "format": lambda _: _OF_A_FORMAT,
    "uniqueItems": lambda _: _OF_A_PART,
    "multipleOf": lambda _: _OF_A_MULTIPLE,
    "unevaluatedItems": lambda _: _OF_AN_EVALUATION,
    "unevaluatedProperties": lambda _: _OF_AN_EVALUATION,
}
