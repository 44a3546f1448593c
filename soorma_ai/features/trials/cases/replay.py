"""Asks a model the questions of cases. Its ports render, ask and keep calls; none of them publishes."""

from collections.abc import Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.errors import ConfigError, DecisionError, LimitExceeded
from soorma_ai.features.trials.asking import Asker
from soorma_ai.features.trials.cases.records import CaseKind, DecisionCase
from soorma_ai.features.trials.cases.rules import choices_today, compare_with_case
from soorma_ai.features.trials.model_replay import ask_question, question_for_model
from soorma_ai.features.trials.records import DecisionTrial, ModelTrial, Outcome, TrialAnswer
from soorma_ai.features.trials.replay import judge_again
from soorma_ai.features.trials.rules import StepQuestion, ask_today, refused_today
from soorma_ai.kernel.domain.registry import RegisteredEvent
from soorma_ai.kernel.domain.values import Json, clip
from soorma_ai.kernel.ports import Prompts

REASON_CHARS = 1_000


class CaseReplay(Struct, frozen=True):
    """Trial of cases before today's prompts and the `registered` events."""

    prompts: Prompts
    registered: Sequence[RegisteredEvent]
    asker: Asker

    async def try_case(self, case: DecisionCase) -> ModelTrial:
        """Ask the question of a case. Raise as the model does."""
        plan, entry = case.plan, case.entry
        trial = ModelTrial(
            plan.plan_id, plan.agent, plan.goal_event, self.asker.reasoner.model, self.asker.times, 1, case.number
        )
        tried = DecisionTrial(case.number, Outcome.SAME, entry.prompt_id, entry.model, entry.verdict)
        registered = choices_today(case, self.registered)
        question = ask_today(plan, entry, case.inputs, case.showing, registered)
        try:
            prompt = self.prompts.render(entry.prompt_id, question.inputs)
        except ConfigError as error:
            return replace(trial, first=replace(tried, outcome=Outcome.REFUSED, reason=str(error)))
        asked = question_for_model(question, prompt.parts["system"], prompt.parts["user"])
        return await ask_question(self.asker, trial, question, asked, partial(_compare, case, question, tried))


async def _compare(
    case: DecisionCase, question: StepQuestion, tried: DecisionTrial, answer: TrialAnswer
) -> DecisionTrial:
    """Judge an answer by today's rules and by the case."""
    if answer.declined:
        return replace(tried, outcome=Outcome.REFUSED, reason=clip(answer.fault, REASON_CHARS))
    wanted: Json = case.should if case.kind is CaseKind.SHOULD else case.entry.value
    try:
        gold = await judge_again(_with_answer(question, wanted, ""), case.steps)
    except (DecisionError, LimitExceeded) as error:
        if case.kind is not CaseKind.WRONG:
            return refused_today(tried, error)
        gold = None
    try:
        given = await judge_again(_with_answer(question, answer.value, answer.fault), case.steps)
    except (DecisionError, LimitExceeded) as error:
        return refused_today(tried, error)
    if given is None:
        return replace(tried, outcome=Outcome.DIFFERENT, reason="a lookup in the place of a decision")
    if gold is None:
        return tried
    reason, diff = compare_with_case(case, gold.decision, given.decision)
    return replace(tried, outcome=Outcome.DIFFERENT, reason=reason, answer=diff) if reason else tried


def _with_answer(question: StepQuestion, value: Json, fault: str) -> StepQuestion:
    return replace(question, entry=replace(question.entry, value=value, fault=fault))
