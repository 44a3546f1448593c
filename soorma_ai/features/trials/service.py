"""Calls for trials: old answers before today's code."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from soorma_ai.features.trials.ports import CONTRACTS
from soorma_ai.features.trials.records import PlanTrial
from soorma_ai.kernel.domain.calls import Act, CallTable, Right
from soorma_ai.kernel.domain.parameters import Id
from soorma_ai.kernel.domain.registry import Registration
from soorma_ai.kernel.rules.authority import Owner, check
from soorma_ai.kernel.runtime.client.operator import OperatorCalls
from soorma_ai.kernel.runtime.views.plans import own_plan

if TYPE_CHECKING:
    from soorma_ai.features.trials.replay import Replay
    from soorma_ai.features.trials.upgrade_records import UpgradeReport

CALLS = CallTable()
TRY_PLAN = Right("trial", Act.STEER)
CHECK_UPGRADE = Right("check_upgrade", Act.MANAGE)


class TrialCalls(OperatorCalls):
    """Trials of recorded decisions. Nothing is carried out, and no model is called."""

    @CALLS("GET /plans/{plan_id}/trial", TRY_PLAN, "try_plan")
    async def trial(self, plan_id: Id) -> PlanTrial:
        """Judge the recorded answers of a plan by today's code, registry, rules and prompts, up to the first
        difference. Raise NotFound."""
        plan = await own_plan(self.services, self.person, plan_id, TRY_PLAN)
        return await self._replay().try_plan(plan)

    @CALLS.local(CHECK_UPGRADE)
    async def check_upgrade(self, new: Sequence[Registration] = ()) -> "UpgradeReport":
        """Judge open plans and parked requests of this tenant by new registrations of agents, and by this program's
        prompts: changed events, broken open work, and last answers. Raise Forbidden without the operator's role."""
        from soorma_ai.features.trials.upgrade import UpgradeCheck

        check(self.person, CHECK_UPGRADE, Owner(self.person.tenant_id), "")
        store = self.services.store
        return await UpgradeCheck(store.plans, store.part(CONTRACTS), self.services.prompts).run(
            self.person.tenant_id, new
        )

    def _replay(self) -> "Replay":
        # Few programs make trials.
        from soorma_ai.features.trials.replay import Replay

        return Replay(self.services.store.plans, self.services.store.registry, self.services.prompts)


def trials_of(client: OperatorCalls) -> TrialCalls:
    """Return the trials of a client's person."""
    return TrialCalls(client.services, client.person)
