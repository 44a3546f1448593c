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
        """Claim beside other writes: a row in a writer's hands is not claimable then."""
        return await self.database.claim(agent, lambda db: inbox.claim(db, agent, now, lease, limit, held))


class PostgresRegistry(SqlRegistry):
    async def leave(self, agents: Sequence[str]) -> None:
        """Let an agent with a possible instance in another process leave by its silence."""
        await self.write(lambda db: self._leave(db, agents), HOUSE)

    def _leave(self, db: Connection, agents: Sequence[str]) -> None:
        if not present(db) - {db.holder}:
            registry.leave(db, self.database.routes, agents)


class PostgresStore(SqlStore):
    """Store in the database of a `postgresql://` URL, open to other processes at the same time. `read_only` is for
    looking at it. Leases of a process are free after its silence of `absence`. `statement_timeout`: seconds of a
    statement, before its connection is given up. `features` are the active ones."""

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
