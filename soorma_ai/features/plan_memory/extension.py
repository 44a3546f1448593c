"""Extension: working memory of plans and sessions, for programs outside."""

from collections.abc import Sequence
from datetime import datetime

from soorma_ai.features.plan_memory.ports import FEATURE, PLAN_MEMORY
from soorma_ai.kernel.domain.memory import MemoryChange, OpenSession
from soorma_ai.kernel.extension import Extension
from soorma_ai.kernel.sql import effects
from soorma_ai.kernel.sql.connection import Connection
from soorma_ai.kernel.sql.database import StorePart
from soorma_ai.kernel.sql.storage import Storage


class SqlPlanMemory(StorePart):
    async def memorize(self, changes: Sequence[MemoryChange | OpenSession], now: datetime) -> None:
        users = [(one.tenant_id, one.session.user_id) for one in changes if isinstance(one, OpenSession)]

        def memorizing(db: Connection) -> None:
            db.features.check_users(db, users)
            effects.apply(db, changes, now)

        await self.write(memorizing)


EXTENSION = Extension(name=FEATURE, storage=Storage(parts={PLAN_MEMORY: SqlPlanMemory}))
