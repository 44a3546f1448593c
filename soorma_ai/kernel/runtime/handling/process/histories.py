"""The histories of plans that went on lately, as models are told them: a step never changes, so that only new ones are
read."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from soorma_ai.kernel.domain.plan_state import PlanState
from soorma_ai.kernel.ports import Plans

if TYPE_CHECKING:
    from soorma_ai.kernel.rules.prompting.history import EarlierSteps, StepLines

MOST_KEPT = 4_096


class Histories:
    """Cache of rendered histories, up to `most` steps, of the latest plans. A step takes some kilobytes at most, with
    any amount of data."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[str, tuple[EarlierSteps, Sequence[StepLines]]] = OrderedDict()
        self._count = 0

    async def read(self, plans: Plans, stored: PlanState, first: int) -> "tuple[EarlierSteps, Sequence[StepLines]]":
        """Return the stored steps of a plan from the `first` on, and the facts of those before. Kept steps are
        of this very plan: a plan begun anew after its removal has another time of birth."""
        plan = stored.plan
        # Of no use to who runs no planner.
        from soorma_ai.kernel.rules.prompting.history import EarlierSteps, StepLines, add_earlier

        key = f"{plan.plan_id} {plan.created_at.isoformat()}"
        earlier, known = self._kept.get(key, (EarlierSteps(), ()))
        if earlier.last >= max(first, 1):
            earlier, known = EarlierSteps(), ()
        begin = known[-1].ordinal + 1 if known else earlier.last
        is_at_hand = bool(stored.recent) and stored.recent[0].ordinal <= begin
        steps = stored.recent if is_at_hand else await plans.steps(plan.plan_id, begin)
        read = [*known, *(StepLines(step) for step in steps if step.ordinal >= begin)]
        found = [step for step in read if step.ordinal >= first]
        before = [step for step in read if earlier.last < step.ordinal < first]
        if before:
            earlier = add_earlier(earlier, before)
        self._keep(key, earlier, found)
        return earlier, found

    def _keep(self, key: str, earlier: "EarlierSteps", found: "Sequence[StepLines]") -> None:
        _, before = self._kept.pop(key, (None, ()))
        self._count += len(found) - len(before)
        self._kept[key] = earlier, found
        while self._count > self._most:
            self._count -= len(self._kept.popitem(last=False)[1][1])
