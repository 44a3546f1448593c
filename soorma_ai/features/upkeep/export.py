"""Contents of one database, on the way to another, and the proof of their completeness."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from msgspec import Struct

Value = str | int | float | bytes | None
Row = tuple[Value, ...]

_BYTES = 16


class TableRows(Struct, frozen=True):
    """Rows of a table. Each call of `rows` starts again, in the order of their making, if that matters."""

    name: str
    columns: Sequence[str]
    rows: Callable[[], Iterable[Row]]


class Contents(Struct, frozen=True):
    """All of one moment. `texts` are those in the full-text index of a table: number, title, content and marks. `last`
    is the last number that each table has given, which may be gone."""

    tables: Sequence[TableRows]
    texts: Callable[[str], Iterable[tuple[int, str, str, str]]]
    last: Mapping[str, int]


class MovedTable(Struct, frozen=True):
    """A table that is the same in both by now: its number of rows, and their digest."""

    table: str
    rows: int
    digest: str


@dataclass
class TableDigest:
    """Counts rows, and adds up their hashes, so that their order does not matter."""

    rows: int = 0
    _sum: int = field(default=0, repr=False)

    def add(self, row: Row) -> None:
        self.rows += 1
        self._sum += int.from_bytes(blake2b(repr(row).encode(), digest_size=_BYTES).digest())

    @property
    def digest(self) -> str:
        return f"{self._sum % (1 << 8 * _BYTES):0{2 * _BYTES}x}"
