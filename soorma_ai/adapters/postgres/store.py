"""The store on PostgreSQL."""

from collections.abc import Sequence
from datetime import timedelta

from soorma_ai.adapters.postgres.database import Database
from soorma_ai.adapters.postgres.listener import ABSENCE, present
from soorma_ai.adapters.sql.acting import HOUSE
from soorma_ai.adapters.sql.connection import Connection
from soorma_ai.adapters.sql.parts import SqlRegistry, SqlStore
from soorma_ai.adapters.sql.tables import registry
from soorma_ai.ports import Registry


class PostgresRegistry(SqlRegistry):
    async def leave(self, agents: Sequence[str]) -> None:
        """An agent of which another process may have an instance leaves by its silence."""
        await self.write(lambda db: _leave(db, agents), HOUSE)


class PostgresStore(SqlStore):
    """The store in the database of a `postgresql://` URL, which other processes may use at the same time. `read_only`
    is for looking at it. What a process has leased is free when nobody has seen it for `absence`."""

    database: Database

    def __init__(self, url: str, *, read_only: bool = False, absence: timedelta = ABSENCE) -> None:
        super().__init__(Database(url, read_only=read_only, absence=absence))

    def _make_parts(self) -> None:
        super()._make_parts()
        self.registry: Registry = PostgresRegistry(self.database, self._acting, self._note)


def _leave(db: Connection, agents: Sequence[str]) -> None:
    if not present(db) - {db.holder}:
        registry.leave(db, agents)
