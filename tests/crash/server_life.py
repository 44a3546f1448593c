"""A life whose store is in a database of a server: its points, and its clock."""

from collections.abc import Callable, Generator
from typing import Any

from failpoints import Failpoints, point_of

from soorma_ai.adapters.postgres import database, listener
from soorma_ai.adapters.postgres.connection import Connection
from soorma_ai.adapters.postgres.store import PostgresStore
from soorma_ai.adapters.postgres.writer import PostgresWriter
from soorma_ai.assembly import ALL_FEATURES
from soorma_ai.errors import StoreUnavailable
from soorma_ai.kernel.sql import connection as family


def hurry(by: float) -> None:
    """Let processes be looked for by the clock of the rest, and be gone when they were missed twice."""
    listener.POLL_SECONDS /= by
    listener.ABSENCE /= by


def make_store(url: str, kind: type[PostgresStore] = PostgresStore) -> PostgresStore:
    return kind(url, ALL_FEATURES, absence=listener.ABSENCE)


def watch_writer(points: Failpoints) -> None:
    """Make every writing statement of the connection that writes a point, passed just before it is sent. Of a
    transaction are some more: it has the lock; its commit was sent, and is not answered; it is answered."""

    class Watched(Connection):
        def begin(self, *statements: str) -> None:
            points.hit("sql.begin", self._raw)
            super().begin(*statements)
            points.hit("lock.had", self._raw)

        def execute(self, sql: str, parameters: family.Parameters = (), /) -> family.Rows:
            self._pass(sql)
            return super().execute(sql, parameters)

        def executemany(self, sql: str, parameters: Any, /) -> family.Rows:
            self._pass(sql)
            return super().executemany(sql, parameters)

        def _pass(self, sql: str) -> None:
            if name := point_of(sql):
                points.hit(name, self._raw)

    commit = PostgresWriter._commit

    def watched(self: PostgresWriter, group: list[Any], last: str, *, wrote: bool) -> StoreUnavailable | None:
        raw = self.connection.raw
        points.hit("sql.commit", raw)
        wait = raw.wait
        raw.wait = lambda answer, *given: wait(_told(answer, lambda: points.hit("commit.sent", raw)), *given)
        try:
            fault = commit(self, group, last, wrote=wrote)
        finally:
            raw.wait = wait
        if fault is None:
            points.hit("commit.answered", raw)
        return fault

    database.Connection = Watched
    PostgresWriter._commit = watched


def _told(answer: Generator[Any, Any, Any], sent: Callable[[], None]) -> Generator[Any, Any, Any]:
    """The same, telling when all is sent and the answer is waited for."""
    try:
        wanted = next(answer)
        sent()
        while True:
            wanted = answer.send((yield wanted))
    except StopIteration as end:
        return end.value
