"""Statements for forks."""

from collections.abc import Sequence
from datetime import datetime

from soorma_ai.kernel.domain.effects import Effect
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.sql import effects as changes
from soorma_ai.kernel.sql.connection import Connection
from soorma_ai.kernel.sql.database import StorePart
from soorma_ai.kernel.sql.parts import MOST_ON_THE_LOOP
from soorma_ai.kernel.sql.tables import plans


def begin_fork(db: Connection, plan: PlanRecord, effects: Sequence[Effect]) -> bool:
    """Apply the effects; nothing for a plan that exists. Raise for a user about to be erased."""
    db.features.check_users(db, {(plan.lineage.tenant_id, plan.lineage.user_id)})
    if plans.plan_status(db, plan.plan_id) is not None:
        return False
    changes.apply(db, effects, plan.created_at)
    return True


class SqlForks(StorePart):
    async def begin_fork(self, plan: PlanRecord, effects: Sequence[Effect], now: datetime) -> bool:
        is_long = len(effects) > MOST_ON_THE_LOOP
        is_new, _ = await self.publish(lambda db: begin_fork(db, plan, effects), now, is_long=is_long)
        return is_new
