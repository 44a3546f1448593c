"""Decimals: exact amounts, such as money. In JSON they are text of the format `decimal`: JSON numbers lose digits.

A condition compares them by value: text of digits counts as a number where the expression compares it with a number,
calculates with it, or orders it against another such text. One that is compared as text in the same expression is in
doubt, and so is the expression: a gate then asks.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from soorma_ai.kernel.domain.expressions import Term
from soorma_ai.kernel.domain.schema_formats import is_decimal
from soorma_ai.kernel.domain.values import Json

# Names of a value and its fields; `EACH` stands for any item of a list.
Path: TypeAlias = tuple[str, ...]
EACH = "*"

MOST_DIGITS = 15  # of them, floating point numbers keep order and difference
SMALLEST, LARGEST = 1e-30, 1e30  # beyond, sums and products become zero or infinite
_COMPOUND = {"comparison", "logic", "plus", "choice", "list"}
_ORDERING = {"<", "<=", ">", ">="}
_ARITHMETIC = {"-", "*", "/", "%"}
_OF_NUMBERS = ("int", "uint", "double", "size")


def number_paths(part: Term) -> set[Path]:
    """Return the paths of the values used as numbers."""
    found = set[Path]()
    for use, bound in _comparisons(part, {}):
        if _is_of_numbers(use):
            found |= _operands(use, bound)
    return found


def text_paths(part: Term) -> set[Path]:
    """Return the paths of the values compared as text, by equality or membership. Text without a decimal in it tells
    nothing about decimals."""
    found = set[Path]()
    for use, bound in _comparisons(part, {}):
        if use.kind != "logic" and not _is_of_numbers(use) and not any(map(_is_plain, use.parts)):
            found |= _operands(use, bound, in_calls=True)
    return found


def _comparisons(part: Term, bound: Mapping[str, Path]) -> Iterator[tuple[Term, Mapping[str, Path]]]:
    """Yield comparisons and calculations with the variables of the loops around them."""
    inner = bound
    if part.kind == "loop":
        over = _path_of(part.parts[0], bound)
        inner = {**bound, **dict.fromkeys(part.binds, (*over, EACH) if over else ())}
    for number, one in enumerate(part.parts):
        yield from _comparisons(one, inner if number else bound)
    if part.kind in ("comparison", "logic") or _is_membership(part):
        yield part, bound


def _is_membership(part: Term) -> bool:
    return part.kind == "call" and "in" in part.word.split()


def _is_of_numbers(part: Term) -> bool:
    signs = {*part.word.split()}
    if part.kind == "logic":
        return bool(signs & _ARITHMETIC)
    return signs <= _ORDERING or any(map(_is_number, part.parts))


def _is_plain(part: Term) -> bool:
    """Tell whether this is text, or a list of texts, without a decimal."""
    if part.kind == "list":
        return all(map(_is_plain, part.parts))
    is_readable = part.kind == "literal" and "\\" not in part.word
    return is_readable and not is_decimal(part.word.lstrip("rRbB").strip("'\""))


def decimals_as_numbers(value: Json, paths: Sequence[Path], texts: Sequence[Path] = ()) -> Json:
    """Return a value with numbers for the decimals at these paths. Raise ValueError for a decimal that a number cannot
    hold, and for one that is compared as text, too: the number would never equal it."""
    both = [path for path in paths if path in texts]
    return _replace_decimals(_replace_decimals(value, both, _refuse), paths, _number_of)


def _replace_decimals(value: Json, paths: Sequence[Path], read: Callable[[str], Json]) -> Json:
    if any(not path for path in paths) and isinstance(value, str):
        return read(value) if is_decimal(value) else value
    heads = {path[0] for path in paths if path}
    if isinstance(value, dict):
        changed = {name: _within(item, name, paths, read) for name, item in value.items() if name in heads}
        return {**value, **changed}
    if isinstance(value, list) and EACH in heads:
        return [_within(item, EACH, paths, read) for item in value]
    return value


def _within(value: Json, name: str, paths: Sequence[Path], read: Callable[[str], Json]) -> Json:
    return _replace_decimals(value, [path[1:] for path in paths if path and path[0] == name], read)


def _refuse(text: str) -> Json:
    raise ValueError(f"{text} is compared as a number and as text")


def _number_of(text: str) -> Json:
    digits, number = text.partition("E")[0].replace(".", "").strip("-0"), float(text)
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"{text} has more than {MOST_DIGITS} digits")
    if digits and not SMALLEST < abs(number) < LARGEST:
        raise ValueError(f"{text} is not between {SMALLEST} and {LARGEST}")
    return number


def _operands(part: Term, bound: Mapping[str, Path], *, in_calls: bool = False) -> set[Path]:
    """Return the paths of the values between the signs of a comparison or a calculation."""
    if part.kind in _COMPOUND or _is_membership(part) or (in_calls and part.kind == "call"):
        parts = part.parts[1:] if part.kind == "choice" else part.parts
        return set[Path]().union(*(_operands(inner, bound, in_calls=in_calls) for inner in parts))
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
        case "plus" | "list":
            return any(map(_is_number, part.parts))
        case _:
            return False
