"""The histories of plans that went on lately, as models are told them: a step never changes, so that only new ones are
read."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.kernel.domain.history import Step
from soorma_ai.kernel.domain.plan_state import PlanState
from soorma_ai.kernel.ports import Plans

if TYPE_CHECKING:
    from soorma_ai.kernel.rules.prompting.history import EarlierSteps, StepLines

MOST_KEPT = 4_096


class _KeptHistory(Struct, frozen=True):
    """History of a plan: facts of its earlier steps, lines of the later ones, and those of its `recorded` steps, each
    with its step without data. By the next decision they are stored, unless their handling fails."""

    earlier: "EarlierSteps"
    told: "Sequence[StepLines]" = ()
    recorded: "Sequence[tuple[Step, StepLines]]" = ()

    def lines_of(self, step: Step) -> "StepLines":
        """Return the lines of a step; for a recorded one the same object, so the text of its plan is appended to."""
        from soorma_ai.kernel.rules.prompting.history import StepLines

        for known, lines in self.recorded:
            if known.ordinal == step.ordinal and known == replace(step, data=None) and lines.brings(step.data):
                return lines
        return StepLines(step)


class Histories:
    """Cache of rendered histories, up to `most` steps, of the latest plans. A step takes some kilobytes at most, with
    any amount of data."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[str, _KeptHistory] = OrderedDict()
        self._count = 0

    async def read(
        self, plans: Plans, stored: PlanState, first: int, recorded: Sequence[Step] = ()
    ) -> "tuple[EarlierSteps, Sequence[StepLines]]":
        """Return the steps of a plan from the `first` on, those just recorded included, and the facts of those before.
        Kept steps are of this very plan: a plan begun anew after its removal has another time of birth."""
        plan = stored.plan
        # Of no use to who runs no planner.
        from soorma_ai.kernel.rules.prompting.history import NOTHING_EARLIER, add_earlier

        key = f"{plan.plan_id} {plan.created_at.isoformat()}"
        kept = self._kept.get(key, _KeptHistory(NOTHING_EARLIER))
        earlier, known = kept.earlier, kept.told
        if earlier.last >= max(first, 1):
            earlier, known = NOTHING_EARLIER, ()
        begin = known[-1].ordinal + 1 if known else earlier.last
        is_at_hand = bool(stored.recent) and stored.recent[0].ordinal <= begin
        steps = stored.recent if is_at_hand else await plans.steps(plan.plan_id, begin)
        read = [*known, *[kept.lines_of(step) for step in steps if step.ordinal >= begin]]
        found = [step for step in read if step.ordinal >= first]
        before = [step for step in read if earlier.last < step.ordinal < first]
        if before:
            earlier = add_earlier(earlier, before)
        new = [(replace(step, data=None), kept.lines_of(step)) for step in recorded]
        self._keep(key, _KeptHistory(earlier, found, new))
        if new:
            earlier = add_earlier(earlier, [lines for _, lines in new if lines.ordinal < first])
            found = [*found, *[lines for _, lines in new if lines.ordinal >= first]]
        return earlier, found

    def _keep(self, key: str, kept: _KeptHistory) -> None:
        before = self._kept.pop(key, None)
        self._count += len(kept.told) - (len(before.told) if before else 0)
        self._kept[key] = kept
        while self._count > self._most:
            self._count -= len(self._kept.popitem(last=False)[1].told)
