"""A look into SQLite itself: executed statements, their query plans, and their costs."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from soorma_ai.adapters.sqlite import SqliteStore

# Read whole on purpose: a registry is small; an outbox, a batch and a list of arguments are as short as the request.
SMALL = ("agent", "outbox", "json_each", "(subquery", "marked", "place", "forgetting")


@contextmanager
def trace_statements(store: SqliteStore) -> Iterator[set[str]]:
    """Collect the statements executed in the block, with their values; of a store in memory the reading ones, too."""
    seen: set[str] = set()
    store.database.writer.connection.set_trace_callback(seen.add)
    yield seen
    store.database.writer.connection.set_trace_callback(None)


async def explain_plan(store: SqliteStore, sql: str) -> list[str]:
    rows = await store.database.write(lambda db: db.execute(f"EXPLAIN QUERY PLAN {sql}").fetchall())
    return [row[3] for row in rows]


async def scans(store: SqliteStore, statements: Iterable[str], fine: tuple[str, ...] = ()) -> set[str]:
    """Return the full reads of growing tables by these statements, without the `fine` ones."""
    return {
        f"{line}  <-  {' '.join(sql.split())}"
        for sql in statements
        for line in await explain_plan(store, sql)
        if line.startswith("SCAN") and not _is_small(line) and not line.startswith(fine)
    }


def _is_small(line: str) -> bool:
    what = line.removeprefix("SCAN ")
    return what.startswith(SMALL) or "CONSTANT ROW" in what


class Effort:
    """Counts the steps of the database's machine: the same on every computer, also a busy one."""

    def __init__(self, store: SqliteStore) -> None:
        self.hundreds = 0
        store.database.writer.connection.set_progress_handler(self._more, 100)

    def _more(self) -> int:
        self.hundreds += 1
        return 0
