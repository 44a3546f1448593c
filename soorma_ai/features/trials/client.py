"""Calls for trials over HTTP. Written by `make clients`; do not edit."""

from typing import TypeVar

from soorma_ai.api.clients.blocks import Blocking, blocking
from soorma_ai.api.clients.messages import get
from soorma_ai.api.clients.sender import Sender
from soorma_ai.features.trials.records import PlanTrial
from soorma_ai.kernel.domain.parameters import Id


class AsyncTrials:
    """Trials of recorded decisions. Nothing is carried out, and no model is called."""

    def __init__(self, caller: Sender) -> None:
        self._caller = caller

    async def trial(self, plan_id: Id) -> PlanTrial:
        """Judge the recorded answers of a plan by today's code, registry, rules and prompts, up to the first
        difference. Raise NotFound."""
        return await self._caller.read(get("plans", plan_id, "trial"), PlanTrial)


BlockingTrialsKind = TypeVar("BlockingTrialsKind", bound=AsyncTrials, covariant=True)


class BlockingTrials(Blocking[BlockingTrialsKind]):
    """Trials of recorded decisions. Nothing is carried out, and no model is called."""

    trial = blocking(AsyncTrials.trial)
