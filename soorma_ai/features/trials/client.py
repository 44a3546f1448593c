"""Calls for trials over HTTP. Written by `make clients`; do not edit."""

from typing import TypeVar

from soorma_ai.api.clients.blocks import Blocking, blocking
from soorma_ai.api.clients.messages import get, post
from soorma_ai.api.clients.sender import Sender
from soorma_ai.features.trials.records import Dollars, ModelTrial, Patience, PlanTrial, Times
from soorma_ai.features.trials.shadow.records import ShadowReport
from soorma_ai.kernel.domain.parameters import Id, Limit, Name


class AsyncTrials:
    """Trials of recorded decisions. Nothing is carried out."""

    def __init__(self, caller: Sender) -> None:
        self._caller = caller

    async def trial(self, plan_id: Id) -> PlanTrial:
        """Judge the recorded answers of a plan by today's code, registry, rules and prompts, up to the first
        difference. Raise NotFound."""
        return await self._caller.read(get("plans", plan_id, "trial"), PlanTrial)

    async def try_model(
        self, plan_id: Id, model: Name, *, times: Times = 1, max_usd: Dollars = None, patience: Patience = 20.0
    ) -> ModelTrial:
        """Ask a `model` the recorded questions of a plan again, each `times` times, up to the first difference.

        All calls of the trial of this plan cost at most `max_usd`. Answers are kept: after `patience` seconds it is
        incomplete, and the same call goes on. Raise Forbidden, NotFound, ConfigError, and the errors of the model."""
        return await self._caller.read(
            post(
                "plans",
                plan_id,
                "trial",
                body={"model": model, "times": times, "max_usd": max_usd, "patience": patience},
            ),
            ModelTrial,
        )

    async def shadow_report(self, planner: Name, *, limit: Limit = 50) -> ShadowReport:
        """Return the newest outcomes of the shadow of a `planner`, and its costs of the last days. Raise Forbidden
        without the operator's role."""
        return await self._caller.read(get("shadows", planner, limit=limit), ShadowReport)


BlockingTrialsKind = TypeVar("BlockingTrialsKind", bound=AsyncTrials, covariant=True)


class BlockingTrials(Blocking[BlockingTrialsKind]):
    """Trials of recorded decisions. Nothing is carried out."""

    trial = blocking(AsyncTrials.trial)
    try_model = blocking(AsyncTrials.try_model)
    shadow_report = blocking(AsyncTrials.shadow_report)
