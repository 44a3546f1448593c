"""Trials of a model by a process beside the owner of a store: it reads the store, and the owner keeps the calls."""

from collections.abc import AsyncGenerator, Sequence

from msgspec import Struct

from soorma_ai.features.trials.asking import Asker, Budget
from soorma_ai.features.trials.model_replay import ModelReplay
from soorma_ai.features.trials.ports import TrialLedger
from soorma_ai.features.trials.records import ModelTrial, Stop
from soorma_ai.features.trials.replay import Replay
from soorma_ai.features.trials.service import TRY_PLAN
from soorma_ai.kernel.ports import ModelSettings
from soorma_ai.kernel.runtime.client.client import Client
from soorma_ai.kernel.runtime.views.plans import own_plan


class ModelChange(Struct, frozen=True):
    """Model of a trial with its number of answers, budget, address and price per token."""

    model: str
    times: int = 1
    max_usd: float | None = None
    api_base: str | None = None
    price: tuple[float, float] | None = None


async def try_plans(
    reader: Client, ledger: TrialLedger, plan_ids: Sequence[str], change: ModelChange
) -> AsyncGenerator[ModelTrial]:
    """Try plans one after the other, until the budget is spent. Raise NotFound and the errors of the model."""
    services, extra = reader.services, {"price": change.price} if change.price else {}
    reasoner = services.make_reasoner(ModelSettings(change.model, change.api_base, extra=extra))
    reasoner.check()
    asker = Asker(reasoner, ledger, services.clock, Budget(change.max_usd), change.times)
    replay = ModelReplay(Replay(services.store.plans, services.store.registry, services.prompts), asker)
    for plan_id in plan_ids:
        trial = await replay.try_plan(await own_plan(services, reader.person, plan_id, TRY_PLAN))
        yield trial
        if trial.stopped is Stop.BUDGET:
            return
