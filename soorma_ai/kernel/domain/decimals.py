"""Decimals: exact amounts, such as money. In JSON they are text of the format `decimal`: JSON numbers lose digits.

A condition compares them by value: text of digits counts as a number where the expression compares it with a number,
calculates with it, or orders it against another such text.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from soorma_ai.kernel.domain.expressions import Term
from soorma_ai.kernel.domain.schema_formats import is_decimal
from soorma_ai.kernel.domain.values import Json

# Names of a value and its fields; `EACH` stands for any item of a list.
Path: TypeAlias = tuple[str, ...]
EACH = "*"

MOST_DIGITS = 15  # of them, floating point numbers keep order and difference
_ORDERING = {"<", "<=", ">", ">="}
_ARITHMETIC = {"-", "*", "/", "%"}
_OF_NUMBERS = ("int", "uint", "double", "size")


def number_paths(part: Term, bound: Mapping[str, Path] | None = None) -> set[Path]:
    """Return the paths of the values used as numbers. `bound` are variables of loops around the expression."""
    bound = bound or {}
    if part.kind == "loop":
        over = _path_of(part.parts[0], bound)
        inner = {**bound, **dict.fromkeys(part.binds, (*over, EACH) if over else ())}
        return number_paths(part.parts[0], bound).union(*(number_paths(body, inner) for body in part.parts[1:]))
    found = set[Path]().union(*(number_paths(inner, bound) for inner in part.parts))
    signs = {*part.word.split()}
    is_compared = part.kind == "comparison" and (signs <= _ORDERING or any(map(_is_number, part.parts)))
    if is_compared or (part.kind == "logic" and signs & _ARITHMETIC):
        found |= _operands(part, bound)
    return found


def decimals_as_numbers(value: Json, paths: Sequence[Path]) -> Json:
    """Return a value with numbers for the decimals at these paths. Raise ValueError for a decimal of more than
    `MOST_DIGITS` digits: a number cannot hold it."""
    if any(not path for path in paths) and isinstance(value, str):
        return _number_of(value)
    heads = {path[0] for path in paths if path}
    if isinstance(value, dict):
        changed = {name: _within(item, name, paths) for name, item in value.items() if name in heads}
        return {**value, **changed}
    if isinstance(value, list) and EACH in heads:
        return [_within(item, EACH, paths) for item in value]
    return value


def _within(value: Json, name: str, paths: Sequence[Path]) -> Json:
    return decimals_as_numbers(value, [path[1:] for path in paths if path and path[0] == name])


def _number_of(text: str) -> Json:
    if not is_decimal(text):
        return text
    if len(text.partition("E")[0].replace(".", "").strip("-0")) > MOST_DIGITS:
        raise ValueError(f"{text} has more than {MOST_DIGITS} digits")
    return float(text)


def _operands(part: Term, bound: Mapping[str, Path]) -> set[Path]:
    """Return the paths of the values between the signs of a comparison or a calculation."""
    if part.kind in ("comparison", "logic", "plus", "choice"):
        parts = part.parts[1:] if part.kind == "choice" else part.parts
        return set[Path]().union(*(_operands(inner, bound) for inner in parts))
    path = _path_of(part, bound)
    return {path} if path else set()


def _path_of(part: Term, bound: Mapping[str, Path]) -> Path:
    """Return the path of a value; an empty one for a calculated value."""
    if part.kind == "name":
        return bound.get(part.word, (part.word,))
    if part.kind != "field":
        return ()
    path = _path_of(part.parts[0], bound)
    return (*path, part.word or _key_of(part.parts[-1])) if path else ()


def _key_of(index: Term) -> str:
    """Return the name in `value["name"]`; `EACH` for the number of an item."""
    is_text = index.kind == "literal" and index.word[:1] in ("'", '"')
    return index.word.strip("'\"") if is_text else EACH


def _is_number(part: Term) -> bool:
    match part.kind:
        case "literal":
            return part.word[:1].isdigit() or part.word[:1] == "."
        case "call":
            return part.word in _OF_NUMBERS
        case "logic":
            return bool({*part.word.split()} & _ARITHMETIC)
        case "plus":
            return any(map(_is_number, part.parts))
        case _:
            return False
