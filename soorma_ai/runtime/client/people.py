"""Questions, as one person of a tenant lists, reads and answers them."""

from datetime import datetime

from soorma_ai.core.authority import check_answer, is_listed, is_open_to, only_user
from soorma_ai.core.expecting.answers import event_of_answer, judge_answer
from soorma_ai.domain.events import EventEnvelope, EventTopic
from soorma_ai.domain.expectations import FOR_PEOPLE, Expectation, Wait
from soorma_ai.domain.people import ACCEPTED, INVALID, Answer, AnswerOutcome, Person
from soorma_ai.domain.schemas import describe, violations
from soorma_ai.errors import NotFound
from soorma_ai.ports import Registry, Store
from soorma_ai.runtime.handling.handling import Services
from soorma_ai.runtime.handling.requests import request_type


async def questions_to(services: Services, person: Person, limit: int, plan_id: str | None = None) -> list[Wait]:
    """Return open questions that are a person's to see or name them, the most urgent first: of all, or of the tree of a
    plan, whether or not it is theirs to see."""
    if plan_id is not None:
        return await _questions_of_tree(services, person, plan_id, limit)
    user_id, roles, most = only_user(person), person.roles or (), limit
    while True:
        found = await services.store.plans.questions(person.tenant_id, most, user_id=user_id, roles=roles)
        now = services.clock.now()
        shown = [wait for one in found if is_listed(person, one, now) and (wait := Wait.of(one))]
        if len(shown) >= limit or len(found) < most:
            return shown[:limit]
        most *= 2  # some are for a role of theirs only later, when they escalate


async def _questions_of_tree(services: Services, person: Person, plan_id: str, limit: int) -> list[Wait]:
    plan, now = await services.store.plans.plan(plan_id), services.clock.now()
    asked = await services.store.plans.open_in_tree(plan.root_plan_id if plan else plan_id)
    theirs = (one for one in asked if is_listed(person, one, now))
    return sorted((wait for one in theirs if (wait := Wait.of(one))), key=_urgency)[:limit]


def _urgency(wait: Wait) -> tuple[bool, datetime, datetime, str]:
    return wait.deadline is None, wait.deadline or wait.opened_at, wait.opened_at, wait.wait_id


async def own_question(store: Store, person: Person, wait_id: str, now: datetime) -> Expectation:
    """Return a question, whatever became of it. Raise NotFound for what is none, and for what is not theirs to see or
    answer."""
    asked = await store.plans.expectation(wait_id)
    if asked is None or asked.kind not in FOR_PEOPLE or asked.ask is None or not is_open_to(person, asked, now):
        raise NotFound(_missing(person, wait_id))
    return asked


def _missing(person: Person, wait_id: str) -> str:
    return f"no question {wait_id} is asked of tenant {person.tenant_id!r}; list the open ones"


async def take_answer(store: Store, wait_id: str, given: Answer, person: Person, now: datetime) -> AnswerOutcome:
    """Judge and record what a person says about a question: the first valid answer wins. Raise NotFound as
    `own_question` does."""
    while True:
        asked = await own_question(store, person, wait_id, now)
        check_answer(person, asked, _missing(person, wait_id))
        outcome = judge_answer(asked, given, person, now)
        if outcome != ACCEPTED or asked.answer is not None:
            return outcome
        event = event_of_answer(asked, given, now)
        if fault := await _fault_of(store.registry, event, now):
            return AnswerOutcome(INVALID, fault)
        if await store.plans.answer(wait_id, given, event, now):
            return outcome
        # Somebody was first since the question was read: judged again, on what stands now.


async def _fault_of(registry: Registry, event: EventEnvelope, now: datetime) -> str:
    """Return why a held request cannot be let go as its receivers define it now; empty where it can."""
    if event.topic is not EventTopic.ACTION_REQUESTS:
        return ""
    definition = await request_type(registry, event.tenant_id, event.type, now)
    faults = violations(definition.payload_schema, event.data) if definition else []
    return f"the payload does not fit {event.type!r} as it is defined now: {describe(faults)}" if faults else ""
