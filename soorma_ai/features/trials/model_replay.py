"""Replay of a plan's questions with another model. Its ports read, render, ask and keep calls; none of them
publishes."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.errors import ConfigError, DecisionError, LimitExceeded
from soorma_ai.features.trials.asking import Asker
from soorma_ai.features.trials.records import DecisionTrial, ModelTrial, Outcome, Score, Stop, TrialAnswer, Usage
from soorma_ai.features.trials.replay import PlanRows, Replay, judge_again, steps_before
from soorma_ai.features.trials.rules import StepQuestion, compare_decisions, compare_lookups, refused_today
from soorma_ai.kernel.domain.history import JournalEntry, Sent, Step, Verdict
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.values import clip
from soorma_ai.kernel.ports import Message, ModelQuestion, QuestionFacts
from soorma_ai.kernel.rules.decisions.repairs import repair_step
from soorma_ai.kernel.rules.decisions.stored_question import StoredQuestion, find_missing
from soorma_ai.kernel.runtime.views.questions import read_question

REASON_CHARS = 1_000
Compare = Callable[[TrialAnswer], Awaitable[DecisionTrial]]


class ModelReplay(Struct, frozen=True):
    """Replay of plans with another model. `is_over` tells at each question whether the time is up."""

    replay: Replay
    asker: Asker
    is_over: Callable[[], bool] = lambda: False

    async def try_plan(self, plan: PlanRecord) -> ModelTrial:
        """Ask the questions of a plan again, up to the first difference. Raise as the model does."""
        plans = self.replay.plans
        count = await plans.count_decisions(plan.plan_id)
        rows = await self.replay.read_rows(plan)
        trial = ModelTrial(
            plan.plan_id, plan.agent, plan.goal_event, self.asker.reasoner.model, self.asker.times, count
        )
        async for number, entry in self.replay.entries(plan.plan_id, count):
            if self.is_over():
                return replace(trial, stopped=Stop.TIME)
            trial = await self._try(rows, replace(trial, tried=number), entry)
            if trial.stopped is not None:
                return replace(trial, tried=number - 1)
            if trial.first is not None:
                return trial
        return trial

    async def try_decision(self, plan: PlanRecord, number: int, entry: JournalEntry) -> ModelTrial:
        """Ask the question of one decision again. Raise as the model does."""
        rows = await self.replay.read_rows(plan)
        asker = self.asker
        model = asker.reasoner.model
        trial = ModelTrial(plan.plan_id, plan.agent, plan.goal_event, model, asker.times, number, number)
        return await self._try(rows, trial, entry)

    async def _try(self, rows: PlanRows, trial: ModelTrial, entry: JournalEntry) -> ModelTrial:
        """Try one decision. A refused answer is none: its question was asked again."""
        if entry.is_refused:
            return trial
        stored = await read_question(self.replay.plans, rows.plan, entry, rows.steps)
        if find_missing(stored):
            return replace(trial, unreadable=trial.unreadable + 1)
        question = self.replay.question_today(rows, stored)
        if question is None:
            return replace(trial, unasked=trial.unasked + 1)
        tried = DecisionTrial(trial.tried, Outcome.SAME, entry.prompt_id, entry.model, entry.verdict)
        recorded = await self.replay.judge_recorded(tried, question, rows.steps)
        if recorded.outcome is not Outcome.SAME:
            return replace(trial, first=recorded)
        try:
            asked = self._question_of(stored, question)
        except ConfigError as error:
            return replace(trial, first=replace(tried, outcome=Outcome.REFUSED, reason=str(error)))
        before = steps_before(entry, rows.steps)
        return await ask_question(self.asker, trial, question, asked, partial(_compare, tried, question, before))

    def _question_of(self, stored: StoredQuestion, question: StepQuestion) -> ModelQuestion:
        """Return the question in today's words, without the refused answers before it. Raise ConfigError."""
        fresh = replace(stored, entry=replace(stored.entry, sent=_without_refusals(stored.entry)))
        said = self.replay.messages_today(fresh, question.inputs, is_of_step=True)
        return question_for_model(question, said[0].content, said[1].content)


def question_for_model(question: StepQuestion, system: str, user: str) -> ModelQuestion:
    facts = QuestionFacts(question.plan.goal_data)
    return ModelQuestion((Message("system", system), Message("user", user)), question.form, facts=facts)


async def ask_question(
    asker: Asker, trial: ModelTrial, question: StepQuestion, asked: ModelQuestion, compare: Compare
) -> ModelTrial:
    """Return the trial with the score of one question."""
    offer, entry = question.offer, question.entry
    repair = partial(repair_step, names=offer.choices.keys(), result_schema=offer.result_schema)
    answers = await asker.ask(question.plan, asked, repair)
    paid, now = trial.paid_usd + answers.paid_usd, trial.now.plus(answers.usage)
    trial = replace(trial, now=now, paid_usd=paid)
    if answers.is_short:
        return replace(trial, stopped=Stop.BUDGET)
    found = [await compare(one) for one in answers.found]
    score = Score(trial.tried, sum(one.outcome is Outcome.SAME for one in found), len(found))
    tokens = entry.prompt_tokens + entry.completion_tokens
    then = trial.then.plus(Usage(1, tokens, entry.cost_usd, entry.latency_ms))
    first = next((one for one in found if one.outcome is not Outcome.SAME), None)
    return replace(trial, scores=(*trial.scores, score), then=then, first=first)


async def _compare(
    tried: DecisionTrial, question: StepQuestion, before: Sequence[Step], answer: TrialAnswer
) -> DecisionTrial:
    """Judge an answer of the trial by today's rules, and compare it with the recorded one."""
    if answer.declined:
        return replace(tried, outcome=Outcome.REFUSED, reason=clip(answer.fault, REASON_CHARS))
    entry = question.entry
    other = replace(question, entry=replace(entry, value=answer.value, fault=answer.fault))
    try:
        then, today = await judge_again(question, before), await judge_again(other, before)
        if then is None or today is None or entry.verdict is Verdict.LOOKED_UP:
            reason, diff = compare_lookups(entry.value, answer.value)
        else:
            reason, diff = compare_decisions(then.decision, today.decision)
    except (DecisionError, LimitExceeded) as error:
        return refused_today(tried, error)
    return replace(tried, outcome=Outcome.DIFFERENT, reason=reason, answer=diff) if reason else tried


def _without_refusals(entry: JournalEntry) -> Sent | None:
    return replace(entry.sent, after=()) if entry.sent else None
