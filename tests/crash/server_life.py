"""A life with its store in a database of a server: its points, and its clock."""

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
    """Shorten the heartbeats of processes by this factor; a process is gone after two missed ones."""
    listener.POLL_SECONDS /= by
    listener.ABSENCE /= by


def make_store(url: str, kind: type[PostgresStore] = PostgresStore) -> PostgresStore:
    return kind(url, ALL_FEATURES, absence=listener.ABSENCE)


def watch_writer(points: Failpoints) -> None:
    """Make every writing statement of the writer's connection a point, passed just before it is sent. A transaction has
    three more points: lock taken, commit sent without an answer, commit answered."""

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

    def commit_with_points(
        self: PostgresWriter, group: list[Any], *, wrote: bool, apart: bool
    ) -> StoreUnavailable | None:
        raw = self.connection.raw
        points.hit("sql.commit", raw)
        wait = raw.wait
        raw.wait = lambda answer, *given: wait(_signal_sent(answer, lambda: points.hit("commit.sent", raw)), *given)
        try:
            fault = commit(self, group, wrote=wrote, apart=apart)
        finally:
            raw.wait = wait
        if fault is None:
            points.hit("commit.answered", raw)
        return fault

    database.Connection = Watched
    PostgresWriter._commit = commit_with_points


def _signal_sent(answer: Generator[Any, Any, Any], sent: Callable[[], None]) -> Generator[Any, Any, Any]:
    """Yield the same, and call `sent` once the request is sent and before its answer."""
    try:
        wanted = next(answer)
        sent()
        while True:
            wanted = answer.send((yield wanted))
    except StopIteration as end:
        return end.value
