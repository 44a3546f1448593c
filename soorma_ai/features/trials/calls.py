"""Calls for trials. Written by `make clients`; do not edit."""

from typing import Protocol

from soorma_ai.features.trials.records import PlanTrial
from soorma_ai.kernel.domain.parameters import Id


class TrialCalls(Protocol):
    """Trials of recorded decisions. Nothing is carried out, and no model is called."""

    async def trial(self, plan_id: Id) -> PlanTrial: ...
