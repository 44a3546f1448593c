"""Question of a sampled decision to its shadow. Its ports read, render, ask and keep calls; none of them publishes."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from soorma_ai.adapters.prompts import SUFFIX, PromptFiles
from soorma_ai.errors import LimitExceeded
from soorma_ai.features.trials.asking import Asker, Budget
from soorma_ai.features.trials.model_replay import ModelReplay
from soorma_ai.features.trials.ports import TRIALS, TrialLedger
from soorma_ai.features.trials.records import Stop, TrialCall
from soorma_ai.features.trials.replay import PAGE, Replay
from soorma_ai.features.trials.shadow.ports import SHADOWS, Shadows
from soorma_ai.features.trials.shadow.records import Outcome, Sample, ShadowCall
from soorma_ai.kernel.domain.history import JournalEntry
from soorma_ai.kernel.ports import Prompt, Prompts
from soorma_ai.kernel.ports.stored_questions import StoredQuestions
from soorma_ai.kernel.runtime.handling.handling import Services


class ShadowLedger:
    """Ledger of the calls about one sample, within its budget of the day."""

    def __init__(self, shadows: Shadows, calls: TrialLedger, sample: Sample) -> None:
        self._shadows = shadows
        self._calls = calls
        self._sample = sample
        self._opened: dict[str, ShadowCall] = {}

    async def trial_calls(self, tenant_id: str, question: str, model: str) -> Sequence[TrialCall]:
        return await self._calls.trial_calls(tenant_id, question, model)

    async def open_trial_call(self, call: TrialCall) -> None:
        """Raise LimitExceeded beyond the budget, and for a decision asked before."""
        opened = ShadowCall(self._sample, call)
        if not await self._shadows.open_shadow(opened):
            raise LimitExceeded("shadow", f"decision {self._sample.decision_id} was asked before, or its plan is gone")
        self._opened[call.call_id] = opened

    async def close_trial_call(self, call: TrialCall) -> None:
        await self._shadows.close_shadow(self._opened[call.call_id], call)


class LayeredPrompts:
    """Prompts of a folder, above others."""

    def __init__(self, folder: Path, beneath: Prompts) -> None:
        self._folder, self._above, self._beneath = folder, PromptFiles(folder), beneath

    def label(self, prompt_id: str) -> str:
        return self._of(prompt_id).label(prompt_id)

    def render(self, prompt_id: str, inputs: Mapping[str, object]) -> Prompt:
        return self._of(prompt_id).render(prompt_id, inputs)

    def fill(self, template: str, inputs: Mapping[str, object]) -> Mapping[str, str]:
        return self._beneath.fill(template, inputs)

    def _of(self, prompt_id: str) -> Prompts:
        return self._above if (self._folder / f"{prompt_id}{SUFFIX}").is_file() else self._beneath


def prompts_of(folder: Path, beneath: Prompts) -> Prompts:
    return LayeredPrompts(folder, beneath)


async def ask_again(services: Services, sample: Sample, prompts: Prompts) -> None:
    """Ask the shadow of a decision, and keep the outcome. Raise as the model does."""
    store = services.store.within(sample.tenant_id)
    plan, reasoner = await store.plans.plan(sample.entry.plan_id), sample.shadow.reasoner
    if plan is None or reasoner is None:
        return
    if services.choose_model is not None:
        reasoner = await services.choose_model(services, sample.tenant_id, reasoner)
    shadows = store.part(SHADOWS)
    ledger = ShadowLedger(shadows, store.part(TRIALS), sample)
    asker = Asker(reasoner, ledger, services.clock, Budget())
    replay = ModelReplay(Replay(store.plans, store.registry, prompts), asker)
    number = await _number_of(store.plans, sample.entry)
    trial = await replay.try_decision(plan, number, sample.entry)
    if trial.stopped is not Stop.BUDGET and (trial.scores or trial.first):
        await shadows.keep_outcome(Outcome(sample, trial, services.clock.now()))


async def _number_of(plans: StoredQuestions, entry: JournalEntry) -> int:
    """Return the number of a decision in its plan, looked for from the end."""
    end = await plans.count_decisions(entry.plan_id)
    while end > 0:
        begin = max(0, end - PAGE)
        for number, one in enumerate(await plans.decisions(entry.plan_id, begin, end - begin), begin + 1):
            if one.key == entry.key:
                return number
        end = begin
    return 1
