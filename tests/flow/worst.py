"""The worst that the design allows. With SOORMA_WORST=1 the flow tests run on it: every event comes twice, alone and
the second time the other way round, no memory is kept from one operation to the next, and nothing is done in groups.

Leases stay as they are: they may not be shorter than their renewal, and tests let the clock run faster than any
handling. The state machine in tests/machine tries lost leases.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

from soorma_ai import Platform, assembly
from soorma_ai.adapters.local_bus import LocalBus
from soorma_ai.adapters.sqlite.database import Database
from soorma_ai.adapters.sqlite.file import writer
from soorma_ai.adapters.sqlite.file.connection import Connection
from soorma_ai.adapters.sqlite.store import SqliteStore
from soorma_ai.kernel.ports import Delivery, StoredEvent
from soorma_ai.kernel.runtime.loops import relay, timers
from soorma_ai.kernel.sql.parts import SqlQueue
from soorma_ai.kernel.sql.storage import FeatureSet
from soorma_ai.kernel.sql.tenant_scope import TenantScope

T = TypeVar("T")

IS_WORST = os.environ.get("SOORMA_WORST") == "1"
ON_NATS = os.environ.get("SOORMA_TEST_BUS") == "nats"
HAS_BROKER = IS_WORST or ON_NATS


class TwiceBus(LocalBus):
    is_broker = True

    async def publish(self, rows: Sequence[StoredEvent]) -> None:
        for row in (*rows, *reversed(rows)):
            await super().publish([row])


class OneAtATime(SqlQueue):
    async def claim(
        self, agent: str, now: datetime, lease: timedelta, limit: int, held: Sequence[int] = ()
    ) -> list[Delivery]:
        return await super().claim(agent, now, lease, 1, held)


class ForgetfulDatabase(Database):
    async def transact(
        self,
        operation: Callable[[Connection], T],
        ended: Callable[[T, bool], None],
        acting: TenantScope,
        *,
        is_long: bool,
        keys: frozenset[str] | None = None,
    ) -> T:
        def and_forget(db: Connection) -> T:
            self.routes.forget()
            db.note_unknown()
            return operation(db)

        return await super().transact(and_forget, ended, acting, is_long=is_long)


class ForgetfulStore(SqliteStore):
    database_type = ForgetfulDatabase

    def __init__(self, path: Path | None, features: FeatureSet) -> None:
        super().__init__(path, features)
        self.queue = OneAtATime(self.database)


class WorstPlatform(Platform):
    async def _open(self, opened: AsyncExitStack) -> None:
        self._bus = TwiceBus()
        await super()._open(opened)


def alone() -> None:
    """Use groups and batches of one, and stores that forget, in this process."""
    assembly.SqliteStore = ForgetfulStore
    writer.GROUP = relay.BATCH = timers.BATCH = 1
