"""Equality of JSON values as JSON Schema has it: 1 is 1.0, and neither is true."""

from collections.abc import Generator, Hashable

from soorma_ai.kernel.domain.values import Json

_TRUE, _FALSE = object(), object()
_OF_AN_ITEM = 20


def identity(value: Json) -> Generator[int, None, Hashable]:
    """Return what equal values have in common; yields the work done."""
    if isinstance(value, bool):
        return _TRUE if value else _FALSE
    if isinstance(value, int | float):
        # Digits, since others can choose numbers that have one hash, and no texts that do.
        return (hex(int(value)) if value == value // 1 else repr(value)).encode()
    if isinstance(value, dict):
        members: set[tuple[str, Hashable]] = set()
        for name, item in value.items():
            yield _OF_AN_ITEM
            members.add((name, (yield from identity(item))))
        return frozenset(members)
    if isinstance(value, list):
        items: list[Hashable] = []
        for item in value:
            yield _OF_AN_ITEM
            items.append((yield from identity(item)))
        return tuple(items)
    return value
