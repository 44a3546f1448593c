"""The part of a store for changes of memory from outside of a handling."""

from collections.abc import Sequence
from datetime import datetime

from soorma_ai.kernel.domain.memory import MemoryChange, OpenSession
from soorma_ai.kernel.sql import effects
from soorma_ai.kernel.sql.connection import Connection
from soorma_ai.kernel.sql.database import StorePart


class SqlPlanMemory(StorePart):
    async def memorize(self, changes: Sequence[MemoryChange | OpenSession], now: datetime) -> None:
        users = [(one.tenant_id, one.session.user_id) for one in changes if isinstance(one, OpenSession)]

        def memorizing(db: Connection) -> None:
            db.features.check_users(db, users)
            effects.apply(db, changes, now)

        await self.write(memorizing)
