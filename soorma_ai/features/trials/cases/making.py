"""Makes cases of recorded decisions. It reads the store, and writes cases alone."""

from datetime import datetime

from msgspec import Struct

from soorma_ai.errors import LocalProtocolError, NotFound
from soorma_ai.features.trials.cases.records import CaseKind, DecisionCase, Review
from soorma_ai.features.trials.cases.rules import case_id_of, choices_of, find_decision, judgement_of, outline_entry
from soorma_ai.features.trials.replay import PlanRows, Replay, steps_before
from soorma_ai.kernel.domain.history import JournalEntry, Verdict
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.rules.decisions.stored_question import find_missing
from soorma_ai.kernel.runtime.views.questions import read_question


class Judgement(Struct, frozen=True):
    """Judgement of a decision, and the name of its set of cases."""

    name: str
    kind: CaseKind
    made_at: datetime
    should: JsonObject | None = None
    free: tuple[str, ...] = ()
    note: str = ""


async def read_decision(replay: Replay, plan: PlanRecord, number: int) -> JournalEntry:
    """Return a decision by its number. Raise NotFound."""
    found = await replay.plans.decisions(plan.plan_id, number - 1, 1)
    if not found:
        raise NotFound(f"plan {plan.plan_id} has no decision {number}; `soorma why` lists them")
    return found[0]


async def make_case(
    replay: Replay, rows: PlanRows, number: int, entry: JournalEntry, judgement: Judgement
) -> DecisionCase:
    """Return a decision as a case. Raise LocalProtocolError for one that no trial can ask again."""
    plan = rows.plan
    if entry.is_refused and judgement.kind is CaseKind.RIGHT:
        raise LocalProtocolError(f"decision {number} was refused: give the wanted answer, or the number of another")
    if entry.verdict is Verdict.LOOKED_UP:
        raise LocalProtocolError(f"decision {number} is a lookup: give the number of a decision after it")
    stored = await read_question(replay.plans, plan, entry, rows.steps)
    if missing := find_missing(stored):
        raise LocalProtocolError(f"decision {number} cannot be a case: {missing[0]}")
    question = replay.question_today(rows, stored)
    if question is None:
        raise LocalProtocolError(f"decision {number} cannot be a case: it is no step of a plan")
    return DecisionCase(
        case_id_of(plan.plan_id, number, judgement.name),
        judgement.name,
        judgement.kind,
        number,
        judgement.made_at,
        plan,
        outline_entry(entry),
        question.inputs,
        question.showing,
        choices_of(question, rows.registered),
        tuple(steps_before(entry, rows.steps)),
        judgement.should,
        judgement.free,
        judgement.note,
    )


async def make_case_of_review(replay: Replay, plan: PlanRecord, review: Review, name: str) -> DecisionCase | None:
    """Return the case of an edited or rejected approval; None where its decision cannot be asked again."""
    rows = await replay.read_rows(plan)
    asked = await replay.plans.expectation(review.expectation_id)
    count = await replay.plans.count_decisions(plan.plan_id)
    entries = [one async for one in replay.entries(plan.plan_id, count)]
    found = find_decision(entries, rows.steps, review.expectation_id)
    if asked is None or asked.answer is None or found is None:
        return None
    number, entry = found
    kind, should = judgement_of(asked, asked.answer, entry.value)
    judgement = Judgement(name, kind, asked.answer.answered_at, should, note=asked.answer.note)
    try:
        return await make_case(replay, rows, number, entry, judgement)
    except LocalProtocolError:
        return None
