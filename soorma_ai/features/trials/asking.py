"""Calls of a model for a trial. Each is reserved on disk before it is sent, and its answer is kept."""

import asyncio
from collections.abc import Callable, Iterable

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.errors import ConfigError, ContentFiltered, LimitExceeded, ModelRefused, Paid, SoormaError
from soorma_ai.features.trials.ports import TrialLedger
from soorma_ai.features.trials.records import TrialAnswer, TrialCall, Usage
from soorma_ai.kernel.domain.limits import UNPRICED_CURES, fill_in
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.values import Json
from soorma_ai.kernel.ports import Clock, ModelQuestion, Reasoner
from soorma_ai.kernel.rules.decisions.repairs import Repair
from soorma_ai.kernel.rules.prompting.digests import digest_of_part
from soorma_ai.kernel.rules.prompting.spelling import spell
from soorma_ai.kernel.runtime.views.model_calls import largest_cost, repaired, usable


class Budget:
    """Budget of a trial in US dollars; None: without a bound."""

    def __init__(self, max_usd: float | None = None) -> None:
        self.max_usd = max_usd
        self.spent = 0.0
        self._counted: set[str] = set()

    def take_uncounted(self, calls: Iterable[TrialCall]) -> list[TrialCall]:
        """Return the calls without those counted before; from now on they are."""
        found = [call for call in calls if call.call_id not in self._counted]
        self._counted |= {call.call_id for call in found}
        return found

    def add(self, usd: float) -> None:
        """Count a cost, a negative one for a reservation given back."""
        self.spent += usd

    def reserve(self, usd: float | None, model: str) -> None:
        """Count the largest cost of a call. Raise LimitExceeded beyond the budget, ConfigError without a price."""
        if self.max_usd is not None and usd is None:
            price = f"the price of {model} is not known: {UNPRICED_CURES}"
            raise ConfigError(f"the budget of the trial is in US dollars, and {price}")
        if self.max_usd is not None and self.spent + (usd or 0.0) > self.max_usd:
            raise LimitExceeded("max_usd", f"{self.spent:.4f} of {self.max_usd} used, and a call may cost {usd:.4f}")
        self.add(usd or 0.0)


class Answers(Struct, frozen=True):
    """Answers to a question, by number. `is_short`: the budget had no room for all. `usage` counts each call of the
    plan once, `paid_usd` those of this run."""

    found: tuple[TrialAnswer, ...]
    usage: Usage
    paid_usd: float
    is_short: bool


class Asker(Struct, frozen=True):
    """Asks a model each question `times` times. A kept answer is not asked for again."""

    reasoner: Reasoner
    ledger: TrialLedger
    clock: Clock
    budget: Budget
    times: int = 1

    async def ask(self, plan: PlanRecord, question: ModelQuestion, repair: Callable[[Json], Repair]) -> Answers:
        """Return the answers to a question. Raise as the reasoner does."""
        key, tenant_id = _fingerprint(question), plan.lineage.tenant_id
        before = [
            call
            for call in await self.ledger.trial_calls(tenant_id, key, self.reasoner.model)
            if call.number <= self.times
        ]
        usage = _usage_of(self.budget.take_uncounted(before), plan.plan_id)
        self.budget.add(usage.usd or 0.0)
        kept = {call.number for call in before if call.answer is not None}
        asked = _Call(self, plan, question, repair, key)
        missing = [number for number in range(1, self.times + 1) if number not in kept]
        ended = await asyncio.gather(*map(asked.make, missing), return_exceptions=True)
        made = [one for one in ended if isinstance(one, TrialCall)]
        faults = [one for one in ended if isinstance(one, BaseException)]
        for fault in faults:
            if not isinstance(fault, LimitExceeded):
                raise fault
        answers = {call.number: call.answer for call in (*made, *reversed(before)) if call.answer is not None}
        return Answers(
            tuple(answers[number] for number in sorted(answers)),
            usage.plus(_usage_of(self.budget.take_uncounted(made), plan.plan_id)),
            sum(call.usd or 0.0 for call in made),
            bool(faults),
        )


class _Call(Struct, frozen=True):
    """Call about one question."""

    asker: Asker
    plan: PlanRecord
    question: ModelQuestion
    repair: Callable[[Json], Repair]
    key: str

    async def make(self, number: int) -> TrialCall:
        """Make the call, between the record of its reservation and that of its cost."""
        reasoner, lineage = self.asker.reasoner, self.plan.lineage
        most = largest_cost(reasoner, self.question)
        self.asker.budget.reserve(most.cost_usd, reasoner.model)
        call = TrialCall(
            self.asker.clock.new_id(),
            lineage.tenant_id,
            lineage.user_id,
            self.plan.plan_id,
            self.key,
            reasoner.model,
            number,
            self.asker.clock.now(),
            most.cost_usd,
        )
        await self.asker.ledger.open_trial_call(call)
        try:
            answer = usable(repaired(await reasoner.ask(self.question), self.repair))
        except (ModelRefused, ContentFiltered) as declined:
            said = TrialAnswer(fault=str(declined), declined=True, tokens=sum(fill_in(declined.paid, most)[:2]))
            return await self._close(call, most, declined.paid, said)
        except SoormaError as fault:
            await self._close(call, most, fault.paid, None)
            raise
        paid = fill_in(answer.paid, most)
        said = TrialAnswer(answer.value, answer.fault, tokens=sum(paid[:2]), latency_ms=answer.latency_ms)
        return await self._close(call, most, paid, said)

    async def _close(self, call: TrialCall, most: Paid, paid: Paid, answer: TrialAnswer | None) -> TrialCall:
        usd = fill_in(paid, most).cost_usd
        closed = replace(call, usd=usd, answer=answer)
        self.asker.budget.add((usd or 0.0) - (call.usd or 0.0))
        await self.asker.ledger.close_trial_call(closed)
        return closed


def _fingerprint(question: ModelQuestion) -> str:
    messages: list[Json] = [[one.role, one.content] for one in question.messages]
    return digest_of_part(spell([messages, question.schema]))


def _usage_of(calls: list[TrialCall], plan_id: str) -> Usage:
    """Return the usage of calls. One that another plan has paid has no cost."""
    usage = Usage()
    for call in calls:
        answer = call.answer or TrialAnswer()
        usd = call.usd if call.plan_id == plan_id else 0.0
        usage = usage.plus(Usage(1, answer.tokens, usd, answer.latency_ms))
    return usage
