"""Calls for trials: old answers before today's code, and old questions to another model."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from soorma_ai.errors import ConfigError
from soorma_ai.features.trials.ports import TRIALS, TrialLedger
from soorma_ai.features.trials.records import Dollars, ModelTrial, Patience, PlanTrial, Stop, Times, TrialCall
from soorma_ai.features.trials.shadow.ports import SHADOWS
from soorma_ai.features.trials.shadow.records import ShadowReport
from soorma_ai.features.trials.upgrade.ports import CONTRACTS
from soorma_ai.kernel.domain.calls import Act, CallTable, Right
from soorma_ai.kernel.domain.parameters import Id, Limit, Name
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.registry import Registration
from soorma_ai.kernel.ports import Reasoner
from soorma_ai.kernel.rules.authority import Owner, check
from soorma_ai.kernel.runtime.client.operator import OperatorCalls
from soorma_ai.kernel.runtime.handling.handling import must_be_outside
from soorma_ai.kernel.runtime.views.plans import own_plan

if TYPE_CHECKING:
    from soorma_ai.features.trials.asking import Budget
    from soorma_ai.features.trials.replay import Replay
    from soorma_ai.features.trials.upgrade.records import UpgradeReport

CALLS = CallTable()
TRY_PLAN = Right("trial", Act.STEER)
# It spends the tenant's money.
TRY_MODEL = Right("try_model", Act.MANAGE)
CHECK_UPGRADE = Right("check_upgrade", Act.MANAGE)
# Beyond the patience of a caller, for the end of what goes on without a model.
GRACE_SECONDS = 1.0


class TrialCalls(OperatorCalls):
    """Trials of recorded decisions. Nothing is carried out."""

    @CALLS("GET /plans/{plan_id}/trial", TRY_PLAN, "try_plan")
    async def trial(self, plan_id: Id) -> PlanTrial:
        """Judge the recorded answers of a plan by today's code, registry, rules and prompts, up to the first
        difference. Raise NotFound."""
        plan = await own_plan(self.services, self.person, plan_id, TRY_PLAN)
        return await self._replay().try_plan(plan)

    @CALLS("POST /plans/{plan_id}/trial", TRY_MODEL, "try_model", form="ModelTrialForm", raises=(ConfigError,))
    async def try_model(
        self, plan_id: Id, model: Name, *, times: Times = 1, max_usd: Dollars = None, patience: Patience = 20.0
    ) -> ModelTrial:
        """Ask a `model` the recorded questions of a plan again, each `times` times, up to the first difference.

        All calls of the trial of this plan cost at most `max_usd`. Answers are kept: after `patience` seconds it is
        incomplete, and the same call goes on. Raise Forbidden, NotFound, ConfigError, and the errors of the model.
        """
        must_be_outside()
        from soorma_ai.features.trials.asking import Budget  # few programs make trials

        check(self.person, TRY_MODEL, Owner(self.person.tenant_id), "")
        plan = await own_plan(self.services, self.person, plan_id, TRY_PLAN)
        clock, reasoner = self.services.clock, self.services.models.find(model)
        reasoner.check()
        end = clock.monotonic() + patience

        async def start() -> ModelTrial:
            return await self._try_model(plan, reasoner, Budget(max_usd), times, lambda: clock.monotonic() >= end)

        person = self.person
        key = ("try_model", person.tenant_id, person.user_id, plan_id, model, str(times), str(max_usd))
        found = await self.services.long_calls.result(key, start, clock, patience + GRACE_SECONDS)
        if found is not None:
            return found
        # The call of the model goes on, and the next call finds its answer: it is paid once.
        count = await self.services.store.plans.count_decisions(plan_id)
        return ModelTrial(plan_id, plan.agent, plan.goal_event, reasoner.model, times, count, stopped=Stop.TIME)

    async def _try_model(
        self, plan: PlanRecord, reasoner: Reasoner, budget: "Budget", times: int, is_over: Callable[[], bool]
    ) -> ModelTrial:
        from soorma_ai.features.trials.asking import Asker
        from soorma_ai.features.trials.model_replay import ModelReplay

        async with self._changing("try_model", plan.plan_id) as change:
            asker = Asker(reasoner, change.store.part(TRIALS), self.services.clock, budget, times)
            return await ModelReplay(self._replay(), asker, is_over).try_plan(plan)

    @CALLS("GET /shadows/{planner}", Act.MANAGE, "report_shadow")
    async def shadow_report(self, planner: Name, *, limit: Limit = 50) -> ShadowReport:
        """Return the newest outcomes of the shadow of a `planner`, and its costs of the last days. Raise Forbidden
        without the operator's role."""
        check(self.person, CALLS["shadow_report"], Owner(self.person.tenant_id), "")
        return await self.services.store.part(SHADOWS).shadow_report(self.person.tenant_id, planner, limit)

    @CALLS.local(CHECK_UPGRADE)
    async def check_upgrade(self, new: Sequence[Registration] = ()) -> "UpgradeReport":
        """Judge open plans and parked requests of this tenant by the `new` registrations of agents, and by the prompts
        of this program: changed events, broken open work, and last answers. Raise Forbidden without the operator's
        role."""
        from soorma_ai.features.trials.upgrade.check import UpgradeCheck

        check(self.person, CHECK_UPGRADE, Owner(self.person.tenant_id), "")
        made = UpgradeCheck(self._replay(), self.services.store.plans, self.services.store.part(CONTRACTS))
        return await made.run(self.person.tenant_id, new)

    @property
    def trial_ledger(self) -> "OwnTrialLedger":
        """Ledger of calls of models in trials, for a trial by a process beside the owner of the store."""
        return OwnTrialLedger(self)

    def _replay(self) -> "Replay":
        # Few programs make trials.
        from soorma_ai.features.trials.replay import Replay

        return Replay(self.services.store.plans, self.services.store.registry, self.services.prompts)


class OwnTrialLedger:
    """Ledger of the tenant of a client's person. Every call raises Forbidden without the right to make trials."""

    def __init__(self, calls: TrialCalls) -> None:
        self._calls = calls

    async def trial_calls(self, tenant_id: str, question: str, model: str) -> list[TrialCall]:
        return [*await self._part(tenant_id).trial_calls(tenant_id, question, model)]

    async def open_trial_call(self, call: TrialCall) -> None:
        await self._part(call.tenant_id).open_trial_call(call)

    async def close_trial_call(self, call: TrialCall) -> None:
        await self._part(call.tenant_id).close_trial_call(call)

    def _part(self, tenant_id: str) -> TrialLedger:
        check(self._calls.person, TRY_MODEL, Owner(tenant_id), f"no trials in tenant {tenant_id!r}")
        return self._calls.services.store.part(TRIALS)


def trials_of(client: OperatorCalls) -> TrialCalls:
    """Return the trials of a client's person."""
    made = TrialCalls(client.services, client.person)
    made.caller = client.caller
    return made
