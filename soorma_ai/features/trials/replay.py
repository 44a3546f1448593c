"""Replay of a plan's decisions from the journal. Its ports read and render; none of them publishes."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from typing import Protocol, cast

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.errors import ConfigError, DecisionError, LimitExceeded
from soorma_ai.features.trials.records import DecisionTrial, Outcome, PlanTrial
from soorma_ai.features.trials.rules import (
    StepQuestion,
    ask_today,
    compare_effects,
    diff_messages,
    diff_values,
    is_of_step,
    read_answer,
    refused_today,
    situation_then,
)
from soorma_ai.kernel.domain.decisions import AcceptedDecision, Showing
from soorma_ai.kernel.domain.history import REASK, JournalEntry, Said, Step, Verdict
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.registry import RegisteredEvent
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.ports import Prompts
from soorma_ai.kernel.ports.stored_questions import StoredQuestions
from soorma_ai.kernel.rules.choices.form import digest_of
from soorma_ai.kernel.rules.decisions.judge import checks_of, judge
from soorma_ai.kernel.rules.decisions.sent import retold_answer
from soorma_ai.kernel.rules.decisions.stored_question import StoredQuestion, find_changed, find_missing, make_inputs
from soorma_ai.kernel.rules.prompting.fence import fence_quotations
from soorma_ai.kernel.runtime.handling.check_ahead import check_ahead, run_in_slices
from soorma_ai.kernel.runtime.views.questions import messages_as_sent, read_question, retold_entries

PAGE = 100


class KnownEvents(Protocol):
    """Part of `Registry` for trials."""

    async def all_events(self, tenant_id: str) -> Sequence[RegisteredEvent]: ...


class PlanRows(Struct, frozen=True):
    """Rows of a plan that all of its decisions need."""

    plan: PlanRecord
    steps: Sequence[Step]
    shown: dict[str, Showing]
    registered: Sequence[RegisteredEvent]


class Replay(Struct, frozen=True):
    """Replay of plans, by readers alone."""

    plans: StoredQuestions
    registry: KnownEvents
    prompts: Prompts

    async def read_rows(self, plan: PlanRecord) -> PlanRows:
        return PlanRows(
            plan,
            await self.plans.steps(plan.plan_id),
            await self.plans.find_shown(plan.plan_id),
            await self.registry.all_events(plan.lineage.tenant_id),
        )

    async def entries(self, plan_id: str, count: int, begin: int = 0) -> AsyncGenerator[tuple[int, JournalEntry]]:
        """Return the recorded answers with their numbers, in pages."""
        for first in range(begin, count, PAGE):
            for number, entry in enumerate(await self.plans.decisions(plan_id, first, PAGE), first + 1):
                yield number, entry
                await asyncio.sleep(0)

    async def try_plan(self, plan: PlanRecord) -> PlanTrial:
        """Judge the recorded answers of a plan in order, up to the first difference."""
        return await self._try_from(plan, 0, await self.plans.count_decisions(plan.plan_id))

    async def try_last(self, plan: PlanRecord) -> PlanTrial:
        """Judge the last recorded answer of a plan."""
        count = await self.plans.count_decisions(plan.plan_id)
        return await self._try_from(plan, max(0, count - 1), count)

    async def _try_from(self, plan: PlanRecord, begin: int, count: int) -> PlanTrial:
        rows = await self.read_rows(plan)
        trial = PlanTrial(plan.plan_id, plan.agent, plan.goal_event, count, 0)
        async for number, entry in self.entries(plan.plan_id, count, begin):
            tried = await self._try(rows, number, entry)
            trial = replace(trial, tried=number - begin)
            if tried.outcome is Outcome.UNREADABLE:
                trial = replace(trial, unreadable=trial.unreadable + 1)
            elif tried.outcome is not Outcome.SAME:
                return replace(trial, first=tried)
        return trial

    async def _try(self, rows: PlanRows, number: int, entry: JournalEntry) -> DecisionTrial:
        tried = DecisionTrial(number, Outcome.SAME, entry.prompt_id, entry.model, entry.verdict)
        stored = await read_question(self.plans, rows.plan, entry, rows.steps)
        if missing := find_missing(stored):
            return replace(tried, outcome=Outcome.UNREADABLE, reason=missing[0])
        question = self.question_today(rows, stored)
        if question is None:
            return self._compare_question(tried, stored, make_inputs(stored), None)
        tried = await self.judge_recorded(tried, question, rows.steps)
        return tried if tried.outcome is not Outcome.SAME else self._compare_question(tried, stored, {}, question)

    def question_today(self, rows: PlanRows, stored: StoredQuestion) -> StepQuestion | None:
        """Return the question of a step by today's registry; None for a question of another kind."""
        entry = stored.entry
        shown, inputs = rows.shown.get(entry.shown), make_inputs(stored)
        if shown is None or not is_of_step(inputs):
            return None
        return ask_today(rows.plan, entry, inputs, shown, rows.registered)

    async def judge_recorded(
        self, tried: DecisionTrial, question: StepQuestion, steps: Sequence[Step]
    ) -> DecisionTrial:
        """Judge an accepted answer. A refused one stays refused: it was asked for again."""
        entry = question.entry
        if entry.is_refused or entry.sent is None:
            return tried
        try:
            judged = await judge_again(question, steps_before(entry, steps))
        except (DecisionError, LimitExceeded) as error:
            return refused_today(tried, error)
        if judged is None or entry.verdict is Verdict.LOOKED_UP:
            return tried
        last = entry.sent.last
        reason, diff = compare_effects(judged, [step for step in steps if step.ordinal > last])
        return replace(tried, outcome=Outcome.DIFFERENT, reason=reason, answer=diff) if reason else tried

    def _compare_question(
        self, tried: DecisionTrial, stored: StoredQuestion, inputs: JsonObject, question: StepQuestion | None
    ) -> DecisionTrial:
        """Compare the messages and the form of today with the recorded ones."""
        reworded = replace(tried, outcome=Outcome.REWORDED)
        inputs = question.inputs if question else inputs
        then = messages_as_sent(self.prompts, stored)
        try:
            today = self.messages_today(stored, inputs, is_of_step=question is not None)
        except ConfigError as error:
            return replace(reworded, reason=str(error))
        if then != today:
            return replace(reworded, reason="the prompt has other words", question=diff_messages(then, today))
        if changed := find_changed(stored):
            return replace(reworded, reason=changed[0])
        entry = stored.entry
        if question and digest_of(question.form) != entry.offer_digest:
            form = cast(Json, json.loads((stored.parts or {})[entry.offer_digest]))
            diff = diff_values(form, question.form)
            return replace(reworded, reason="the form of the answer differs", question=diff)
        return tried

    def messages_today(self, stored: StoredQuestion, inputs: JsonObject, *, is_of_step: bool) -> tuple[Said, ...]:
        """Render the question by today's prompts. Only that of a step has a known prompt to ask again by. Raise
        ConfigError."""
        prompt = self.prompts.render(stored.entry.prompt_id, inputs)
        messages = [Said("system", prompt.parts["system"]), Said("user", prompt.parts["user"])]
        if not is_of_step:
            return (*messages, *messages_as_sent(self.prompts, stored)[2:])
        for one in retold_entries(stored):
            told = self.prompts.render(REASK, {"refusal": fence_quotations(one.refusal)})
            messages += [Said("assistant", retold_answer(one)), Said("user", told.parts["user"])]
        return (*messages,)


def steps_before(entry: JournalEntry, steps: Sequence[Step]) -> list[Step]:
    """Return the steps that were known at a question."""
    return [step for step in steps if entry.sent is not None and step.ordinal <= entry.sent.last]


async def judge_again(question: StepQuestion, before: Sequence[Step]) -> AcceptedDecision | None:
    """Judge the answer of the question's entry; None for a lookup. Raise DecisionError or LimitExceeded."""
    tenant_id = question.plan.lineage.tenant_id
    decision = await run_in_slices(tenant_id, read_answer(question, before))
    if decision is None:
        return None
    for schema, value in checks_of(decision, question.offer):
        await check_ahead(tenant_id, schema, value)
    return judge(decision, situation_then(question, before, decision))
