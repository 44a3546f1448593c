"""A question to people with everything helpful for its answer, for one person."""

from datetime import datetime

from msgspec import Struct

from soorma_ai.errors import NotFound
from soorma_ai.features.human_tasks.claims import current_claim, not_open_fault
from soorma_ai.features.human_tasks.difference import Difference, difference
from soorma_ai.features.human_tasks.ports import PEOPLE
from soorma_ai.features.human_tasks.records import Claim, MadeLink, Notice, Snooze
from soorma_ai.features.human_tasks.service import CALLS, Inbox
from soorma_ai.features.human_tasks.snoozing import current_snooze
from soorma_ai.features.human_tasks.summary import (
    AnswerCounts,
    Consequences,
    QuestionState,
    consequences,
    count_answers,
    question_state,
)
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind
from soorma_ai.kernel.domain.history import Verdict
from soorma_ai.kernel.domain.limits import Spent
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.rules.authority import Owner, can_answer, is_listed, steers_all, verdict
from soorma_ai.kernel.rules.authority import Permission as Allowed
from soorma_ai.kernel.rules.waits.answers import may_answer
from soorma_ai.kernel.rules.waits.substitutes import answering_as
from soorma_ai.kernel.runtime.client.people import absent_of, own_question
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.views.plans import own_plan
from soorma_ai.kernel.runtime.views.registry import Directory

# So many earlier answers are looked at; those to questions of others do not count.
DECISIONS = 50  # in a page
_MOST_ANSWERED = 100
_MOST_LINKS = 20


class Reasoning(Struct, frozen=True):
    """The words with which a model decided, and which model it was."""

    words: str
    model: str


class QuestionDetails(Struct, frozen=True):
    """Question with its details. `rule` is the condition behind the hold. `plan`, the amounts `spent` by its tree, and
    `reasoning` are None without an asking plan, or with one invisible to this person. `since` is the difference from
    the last approved request. `claim` and `snooze` are the present ones; `for_user` is the absent colleague of this
    substitute; `may_answer`: with a right of their own, or that one's. `colleagues` are possible assignees; `links` to
    it are shown to operators."""

    asked: Expectation
    standing: QuestionState
    consequences: Consequences
    rule: str
    earlier: AnswerCounts
    since: Difference | None
    plan: PlanRecord | None
    spent: Spent | None
    reasoning: Reasoning | None
    claim: Claim | None
    snooze: Snooze | None
    notices: list[Notice]
    for_user: str
    may_answer: bool
    colleagues: list[str]
    links: list[MadeLink]


async def question_details(services: Services, person: Person, wait_id: str) -> QuestionDetails:
    """Return the details of a question. Raise NotFound without the right to see or answer it."""
    now = services.clock.now()
    asked = await own_question(services.store, person, wait_id, now)
    held = asked.ask.proposal if asked.ask else None
    earlier = await _earlier(services, person, asked, now) if held else AnswerCounts()
    plan = await _plan(services, person, asked)
    right = answering_as(asked, person, await absent_of(services.store, person, now), now)
    people = services.store.part(PEOPLE)
    claims = await people.claims([wait_id])
    return QuestionDetails(
        asked=asked,
        standing=question_state(asked, now),
        consequences=consequences(asked),
        rule=await _rule(services, person, asked),
        earlier=earlier,
        since=difference(earlier.last_payload, held.data) if held and earlier.last_payload is not None else None,
        plan=plan,
        spent=await services.store.plans.read_spent(plan.root_plan_id) if plan else None,
        reasoning=await _reasoning(services, plan.plan_id, asked.opened_at) if plan else None,
        claim=current_claim(claims[0], now) if claims else None,
        snooze=current_snooze(await people.snoozed(wait_id), now),
        notices=await people.notices(wait_id),
        for_user="" if right is person else right.user_id,
        may_answer=can_answer(right, asked, now),
        colleagues=await _colleagues(services, person, asked, right, now),
        links=await people.links(person.tenant_id, wait_id, _MOST_LINKS) if _oversees(person) else [],
    )


async def _colleagues(
    services: Services, person: Person, asked: Expectation, right: Person, now: datetime
) -> list[str]:
    if not_open_fault(asked, now) or not (may_answer(asked, right, now) or steers_all(person)):
        return []
    return await Inbox(services, person).colleagues(asked.id)


def _oversees(person: Person) -> bool:
    return verdict(person, CALLS["links"], Owner(person.tenant_id)) is Allowed.MAY


async def _plan(services: Services, person: Person, asked: Expectation) -> PlanRecord | None:
    if asked.plan_id is None:
        return None
    try:
        return await own_plan(services, person, asked.plan_id)
    except NotFound:
        return None


async def _rule(services: Services, person: Person, asked: Expectation) -> str:
    if asked.kind is not ExpectationKind.GATE:
        return ""
    definition = await Directory(services, person).get_event(asked.subject)
    return definition.approval.when if definition and definition.approval else ""


async def _earlier(services: Services, person: Person, asked: Expectation, now: datetime) -> AnswerCounts:
    """Return how people answered of late about the same event, of the questions that this person was listed."""
    others = await services.store.part(PEOPLE).find_alike(asked, _MOST_ANSWERED)
    return count_answers(one for one in others if is_listed(person, one, _when_answered(one, now)))


def _when_answered(one: Expectation, now: datetime) -> datetime:
    """Return the moment for the judgement of the approvers; they change as time passes."""
    return one.answer.answered_at if one.answer else now


async def _reasoning(services: Services, plan_id: str, opened_at: datetime) -> Reasoning | None:
    """Return the reasoning of the last decision that counted before the question was asked. Read from the end."""
    store = services.store.plans
    last = await store.count_decisions(plan_id)
    while last > 0:
        first = max(0, last - DECISIONS)
        page = await store.decisions(plan_id, first, last - first)
        counted = (one for one in reversed(page) if one.verdict is Verdict.ACCEPTED and one.at <= opened_at)
        if found := next(counted, None):
            said = found.value.get("reasoning") if isinstance(found.value, dict) else None
            return Reasoning(said, found.model) if isinstance(said, str) and said else None
        last = first
    return None
