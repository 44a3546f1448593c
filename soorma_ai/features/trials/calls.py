"""Calls for trials. Written by `make clients`; do not edit."""

from typing import Protocol

from soorma_ai.features.trials.records import Dollars, ModelTrial, Patience, PlanTrial, Times
from soorma_ai.features.trials.shadow.records import ShadowReport
from soorma_ai.kernel.domain.parameters import Id, Limit, Name


class TrialCalls(Protocol):
    """Trials of recorded decisions. Nothing is carried out."""

    async def trial(self, plan_id: Id) -> PlanTrial: ...

    async def try_model(
        self, plan_id: Id, model: Name, *, times: Times = 1, max_usd: Dollars = None, patience: Patience = 20.0
    ) -> ModelTrial: ...

    async def shadow_report(self, planner: Name, *, limit: Limit = 50) -> ShadowReport: ...
