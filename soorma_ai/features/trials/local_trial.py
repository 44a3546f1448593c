"""Trials of a model by a process beside the owner of a store: it reads the store, and the owner keeps the calls."""

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from msgspec import Struct

from soorma_ai.adapters.clock import SystemClock
from soorma_ai.adapters.models import LiteLLMReasoner
from soorma_ai.adapters.prompts import PromptFiles
from soorma_ai.features.trials.asking import Asker, Budget
from soorma_ai.features.trials.cases.records import DecisionCase
from soorma_ai.features.trials.cases.replay import CaseReplay
from soorma_ai.features.trials.model_replay import ModelReplay
from soorma_ai.features.trials.ports import TrialLedger
from soorma_ai.features.trials.records import ModelTrial, Stop, TrialCall
from soorma_ai.features.trials.replay import Replay
from soorma_ai.features.trials.service import TRY_PLAN
from soorma_ai.kernel.ports import ModelOptions
from soorma_ai.kernel.runtime.client.client import Client
from soorma_ai.kernel.runtime.views.plans import own_plan


class ModelChange(Struct, frozen=True):
    """Model of a trial with its number of answers, budget, address and price per token."""

    model: str
    times: int = 1
    max_usd: float | None = None
    api_base: str | None = None
    price: tuple[float, float] | None = None

    def asker(self, ledger: TrialLedger) -> Asker:
        """Return the asker of a trial. Raise ConfigError, and ModelBlocked without a key."""
        options = ModelOptions(api_base=self.api_base, price=self.price)
        reasoner = LiteLLMReasoner(self.model, **options)
        reasoner.check()
        return Asker(reasoner, ledger, SystemClock(), Budget(self.max_usd), self.times)


class MemoryLedger:
    """Ledger of one run without a store."""

    def __init__(self) -> None:
        self._calls: dict[str, TrialCall] = {}

    async def trial_calls(self, tenant_id: str, question: str, model: str) -> list[TrialCall]:
        return [one for one in self._calls.values() if (one.question, one.model) == (question, model)]

    async def open_trial_call(self, call: TrialCall) -> None:
        self._calls[call.call_id] = call

    async def close_trial_call(self, call: TrialCall) -> None:
        self._calls[call.call_id] = call


async def try_plans(
    reader: Client, ledger: TrialLedger, plan_ids: Sequence[str], change: ModelChange
) -> AsyncGenerator[ModelTrial]:
    """Try plans one after the other, until the budget is spent. Raise NotFound and the errors of the model."""
    services = reader.services
    store, prompts = services.store, services.prompts
    replay = ModelReplay(Replay(store.plans, store.registry, prompts), change.asker(ledger))
    for plan_id in plan_ids:
        trial = await replay.try_plan(await own_plan(services, reader.person, plan_id, TRY_PLAN))
        yield trial
        if trial.stopped is Stop.BUDGET:
            return


async def try_cases(
    reader: Client, ledger: TrialLedger, cases: Sequence[DecisionCase], change: ModelChange
) -> AsyncGenerator[ModelTrial]:
    """Try cases before the events that are registered today. Raise as `try_plans` does."""
    tenant_id, services = reader.person.tenant_id, reader.services
    registered = await services.store.registry.all_events(tenant_id)
    replay = CaseReplay(services.prompts, registered, change.asker(ledger))
    async for trial in _try_each(replay, [one.of_tenant(tenant_id) for one in cases]):
        yield trial


async def try_cases_alone(
    folders: Sequence[Path], cases: Sequence[DecisionCase], change: ModelChange
) -> AsyncGenerator[ModelTrial]:
    """Try cases without a store, before their own definitions. No answer is kept."""
    replay = CaseReplay(PromptFiles(*folders), (), change.asker(MemoryLedger()))
    async for trial in _try_each(replay, cases):
        yield trial


async def _try_each(replay: CaseReplay, cases: Sequence[DecisionCase]) -> AsyncGenerator[ModelTrial]:
    for case in cases:
        trial = await replay.try_case(case)
        yield trial
        if trial.stopped is Stop.BUDGET:
            return
