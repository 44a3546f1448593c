"""Values as they are spelled in statements and sent as parameters."""

from math import isfinite

from psycopg.abc import Buffer
from psycopg.types.string import StrDumper


def quote(text: str) -> str:
    """Standard strings know no other escape."""
    return "'" + _without_nul(text).replace("'", "''") + "'"


# The type of NULL is that of its place.
TYPES: dict[type[object], str] = {
    int: "bigint",
    float: "double precision",
    bool: "boolean",
    bytes: "bytea",
    type(None): "unknown",
}


def literal(value: object) -> str | None:
    """Return a parameter as it is spelled in a statement; None for one of another type."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case str():
            return quote(value)
        case bytes():
            return rf"'\x{value.hex()}'"
        case int():
            return repr(value) if -(2**63) <= value < 2**63 else None
        case float():
            return repr(value) if isfinite(value) else None
        case _:
            return None


def _without_nul(text: str) -> str:
    """Return text without NUL, impossible here. A non-character stands for it, and `json_quote` reads it back."""
    return text.replace("\0", "\uffff")


class TextDumper(StrDumper):
    def dump(self, obj: str) -> Buffer | None:
        return super().dump(_without_nul(obj))
