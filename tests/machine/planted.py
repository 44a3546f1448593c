"""Planted bugs of a store, to prove the proofs."""

from datetime import datetime
from typing import Any

from bugs import AcksFirst, AnswersBlindly, KeepsNoMark, PublishesOutside, with_parts
from msgspec.structs import replace

from machine.stores import kind_of_store
from soorma_ai.kernel.domain.effects import Close, SavePlan, Spend
from soorma_ai.kernel.ports import Delivery, Work
from soorma_ai.kernel.sql.parts import SqlQueue


class LeavesThingsOpen(SqlQueue):
    """Ends a plan and leaves its expectations open."""

    async def commit(self, work: Work, now: datetime) -> None:
        ends = any(isinstance(effect, SavePlan) and effect.plan.status.is_final for effect in work.effects)
        kept = tuple(effect for effect in work.effects if not (ends and isinstance(effect, Close)))
        await super().commit(replace(work, effects=kept), now)


class CountsNoActions(SqlQueue):
    """Publishes without charging the budget."""

    async def commit(self, work: Work, now: datetime) -> None:
        kept = tuple(effect for effect in work.effects if not isinstance(effect, Spend))
        await super().commit(replace(work, effects=kept), now)


class BeginsUnseen(SqlQueue):
    """Runs a call unsafe to repeat without a record of its begin on disk."""

    async def begin(self, delivery: Delivery) -> None:
        return


PLANTED: dict[str, Any] = {
    "an answer is recorded without compare-and-set": with_parts(kind_of_store(), plans=AnswersBlindly),
    "the delivery is done before its effects are stored": with_parts(kind_of_store(), queue=AcksFirst),
    "the inbox forgets what it has seen": with_parts(kind_of_store(), queue=KeepsNoMark),
    "a plan that ends leaves its expectations open": with_parts(kind_of_store(), queue=LeavesThingsOpen),
    "events are published apart from the state they belong to": with_parts(kind_of_store(), queue=PublishesOutside),
    "actions are not charged": with_parts(kind_of_store(), queue=CountsNoActions),
    "the beginning of what must not run twice is not recorded": with_parts(kind_of_store(), queue=BeginsUnseen),
}
