"""Calls for trials: old answers before today's code."""

from typing import TYPE_CHECKING

from soorma_ai.features.trials.records import PlanTrial
from soorma_ai.kernel.domain.calls import Act, CallTable, Right
from soorma_ai.kernel.domain.parameters import Id
from soorma_ai.kernel.runtime.client.operator import OperatorCalls
from soorma_ai.kernel.runtime.views.plans import own_plan

if TYPE_CHECKING:
    from soorma_ai.features.trials.replay import Replay

CALLS = CallTable()
TRY_PLAN = Right("trial", Act.STEER)


class TrialCalls(OperatorCalls):
    """Trials of recorded decisions. Nothing is carried out, and no model is called."""

    @CALLS("GET /plans/{plan_id}/trial", TRY_PLAN, "try_plan")
    async def trial(self, plan_id: Id) -> PlanTrial:
        """Judge the recorded answers of a plan by today's code, registry, rules and prompts, up to the first
        difference. Raise NotFound."""
        plan = await own_plan(self.services, self.person, plan_id, TRY_PLAN)
        return await self._replay().try_plan(plan)

    def _replay(self) -> "Replay":
        # Few programs make trials.
        from soorma_ai.features.trials.replay import Replay

        return Replay(self.services.store.plans, self.services.store.registry, self.services.prompts)


def trials_of(client: OperatorCalls) -> TrialCalls:
    """Return the trials of a client's person."""
    return TrialCalls(client.services, client.person)
