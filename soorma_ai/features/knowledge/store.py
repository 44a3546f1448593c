"""The part of a store for memos."""

from collections.abc import Sequence
from datetime import datetime

from soorma_ai.features.knowledge import statements
from soorma_ai.features.knowledge.records import KeepMemo, MemoChange
from soorma_ai.kernel.sql import effects
from soorma_ai.kernel.sql.connection import Connection
from soorma_ai.kernel.sql.database import StorePart, reading


class SqlMemos(StorePart):
    memo = reading(statements.memo)
    search = reading(statements.search)
    signs = reading(statements.signs)
    numbers = reading(statements.numbers)
    memos_at = reading(statements.memos_at)

    async def change(self, changes: Sequence[MemoChange], now: datetime) -> None:
        shelves = [one.memo.shelf for one in changes if isinstance(one, KeepMemo)]

        def changing(db: Connection) -> None:
            db.features.check_users(db, [(one.tenant_id, one.user_id) for one in shelves if not one.is_shared])
            effects.apply(db, changes, now)

        await self.write(changing)
