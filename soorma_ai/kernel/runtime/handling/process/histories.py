"""The histories of plans that went on lately, as models are told them: a step never changes, so that only new ones are
read."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.ports import Plans

if TYPE_CHECKING:
    from soorma_ai.kernel.rules.prompting.history import StepLines

MOST_KEPT = 4_096


class Histories:
    """Cache of rendered histories, up to `most` steps, of the latest plans. A step takes some kilobytes at most, with
    any amount of data."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[str, Sequence[StepLines]] = OrderedDict()
        self._count = 0

    async def read(self, plans: Plans, plan: PlanRecord, first: int) -> "Sequence[StepLines]":
        """Return the stored steps of a plan from the `first` on. Cached ones are of this very plan: one begun again
        after its removal has another time of birth."""
        # Of no use to who runs no planner.
        from soorma_ai.kernel.rules.prompting.history import StepLines

        key = f"{plan.plan_id} {plan.created_at.isoformat()}"
        known = [step for step in self._kept.get(key, ()) if step.ordinal >= first]
        if known and known[0].ordinal > first:
            known = []
        begin = known[-1].ordinal + 1 if known else first
        found = [*known, *map(StepLines, await plans.steps(plan.plan_id, begin))]
        self._keep(key, found)
        return found

    def _keep(self, key: str, found: "Sequence[StepLines]") -> None:
        self._count += len(found) - len(self._kept.pop(key, ()))
        self._kept[key] = found
        while self._count > self._most:
            self._count -= len(self._kept.popitem(last=False)[1])
