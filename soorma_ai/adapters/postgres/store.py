"""The store on PostgreSQL."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from soorma_ai.adapters.postgres.database import Database
from soorma_ai.adapters.postgres.listener import ABSENCE, present
from soorma_ai.kernel.domain.limits import STATEMENT_SECONDS
from soorma_ai.kernel.ports import Delivery, Queue, Registry
from soorma_ai.kernel.sql.connection import Connection
from soorma_ai.kernel.sql.parts import SqlQueue, SqlRegistry, SqlStore
from soorma_ai.kernel.sql.storage import NO_FEATURES, FeatureSet
from soorma_ai.kernel.sql.tables import inbox, registry
from soorma_ai.kernel.sql.tenant_scope import HOUSE


class PostgresQueue(SqlQueue):
    database: Database

    async def claim(
        self, agent: str, now: datetime, lease: timedelta, limit: int, held: Sequence[int] = ()
    ) -> list[Delivery]:
        """Claim beside what is written: who writes may have the rows, and then they are nobody's to claim."""
        return await self.database.claim(agent, lambda db: inbox.claim(db, agent, now, lease, limit, held))


class PostgresRegistry(SqlRegistry):
    async def leave(self, agents: Sequence[str]) -> None:
        """An agent of which another process may have an instance leaves by its silence."""
        await self.write(lambda db: _leave(db, agents), HOUSE)


class PostgresStore(SqlStore):
    """The store in the database of a `postgresql://` URL, which other processes may use at the same time. `read_only`
    is for looking at it. What a process has leased is free when nobody has seen it for `absence`. `statement_timeout`:
    seconds that a statement may take, before its connection is given up. `features` are those that are on."""

    database: Database

    def __init__(
        self,
        url: str,
        features: FeatureSet = NO_FEATURES,
        *,
        read_only: bool = False,
        absence: timedelta = ABSENCE,
        statement_timeout: float = STATEMENT_SECONDS,
    ) -> None:
        made = Database(url, features, read_only=read_only, absence=absence, statement_timeout=statement_timeout)
        super().__init__(made)

    def _make_parts(self) -> None:
        super()._make_parts()
        self.queue: Queue = PostgresQueue(self.database, self._acting, self._note)
        self.registry: Registry = PostgresRegistry(self.database, self._acting, self._note)


def _leave(db: Connection, agents: Sequence[str]) -> None:
    if not present(db) - {db.holder}:
        registry.leave(db, agents)
