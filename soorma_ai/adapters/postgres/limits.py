"""Time limits of statements, kept on this side as well: a frozen server ends nothing by itself."""

from collections.abc import Generator
from math import inf
from time import monotonic
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen

from soorma_ai.kernel.domain.limits import STATEMENT_SECONDS

T = TypeVar("T")

# Seconds by which the server may be late with its own word that a statement took too long.
SLACK = 2.0


class NoAnswer(psycopg.OperationalError):
    """The server did not answer in time, and its connection is given up."""


class StatementLimit:
    """Seconds that a statement may take, on all connections of one database. After `end_within` every one ends soon."""

    def __init__(self, seconds: float = STATEMENT_SECONDS) -> None:
        self.seconds = seconds
        self._end = inf

    def end_within(self, seconds: float) -> None:
        self._end = min(self._end, monotonic() + seconds)

    def left_of(self, begun: float) -> float:
        """Return the seconds left of a statement that began at this moment."""
        return min(begun + self.seconds + SLACK, self._end) - monotonic()


class LimitedConnection(psycopg.Connection):
    """A connection without `limit` waits as long as it takes, as a migration does."""

    limit: StatementLimit | None = None

    def wait(self, gen: PQGen[T], *given: Any, **named: Any) -> T:
        if self.limit is None:
            return super().wait(gen, *given, **named)
        return super().wait(self._within(gen, self.limit, monotonic()), *given, **named)

    def _within(self, gen: PQGen[T], limit: StatementLimit, begun: float) -> Generator[Any, Any, T]:
        """Pass on the waits of the driver, which wakes every tenth of a second with nothing ready."""
        ready: Any = None
        while True:
            try:
                wanted = gen.send(ready)
            except StopIteration as done:
                return done.value
            ready = yield wanted
            if not ready and limit.left_of(begun) <= 0:
                self.pgconn.finish()
                raise NoAnswer(f"the server did not answer within {monotonic() - begun:.0f} s")
