"""Questions to people: reading and answering by one person of a tenant."""

from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace

from soorma_ai.errors import NotFound
from soorma_ai.kernel.domain.expectations import FOR_PEOPLE, Expectation, Wait
from soorma_ai.kernel.domain.people import ACCEPTED, Answer, AnswerDecision, AnswerOutcome, Person
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.ports import COLLEAGUES, KEYS, Store
from soorma_ai.kernel.rules.authority import check_answer, is_open_to
from soorma_ai.kernel.rules.waits.answers import event_of_answer, judge_answer
from soorma_ai.kernel.rules.waits.substitutes import answering_as, lent_person, stands_in
from soorma_ai.kernel.runtime.handling.check_ahead import check_ahead
from soorma_ai.kernel.runtime.handling.requests import definition_of_held


async def with_claims(store: Store, waits: Sequence[Wait], now: datetime) -> list[Wait]:
    """Return questions with the person of each claim."""
    colleagues = store.find(COLLEAGUES)
    if not waits or colleagues is None:
        return [*waits]
    found = await colleagues.claims([wait.wait_id for wait in waits])
    claims = {one.wait_id: one for one in found if one.lasts_at(now)}
    return [replace(wait, claim=claims.get(wait.wait_id)) for wait in waits]


async def absent_of(store: Store, person: Person, now: datetime) -> list[Person]:
    """Return a person's absent colleagues, as their substitute, with the lent rights. Without stored keys, an absence
    declared by a key lends nothing."""
    colleagues, keys = store.find(COLLEAGUES), store.find(KEYS)
    absent: list[Person] = []
    for one in await colleagues.stood_in_for(person.tenant_id, person.user_id, now) if colleagues else ():
        key = await keys.find(one.key_id) if one.key_id and keys else None
        lent = lent_person(one, key, now) if keys or not one.key_id else None
        absent += [lent] if lent else []
    return absent


async def own_question(store: Store, person: Person, wait_id: str, now: datetime) -> Expectation:
    """Return a question, in any state. Raise NotFound for an unknown one, and without the right to see or answer it,
    the person's own or as a substitute."""
    asked = await store.plans.expectation(wait_id)
    if asked is None or asked.kind not in FOR_PEOPLE or asked.ask is None:
        raise NotFound(missing_question(person, wait_id))
    if not is_open_to(person, asked, now) and not stands_in(asked, await absent_of(store, person, now), now):
        raise NotFound(missing_question(person, wait_id))
    return asked


def missing_question(person: Person, wait_id: str) -> str:
    return f"no question {wait_id} is asked of tenant {person.tenant_id!r}; list the open ones"


async def right_to_answer(store: Store, person: Person, wait_id: str, now: datetime) -> Person:
    """Return the right of a person's answer: their own, or that of an absent colleague. Raise NotFound as
    `own_question` does, and Forbidden."""
    asked = await own_question(store, person, wait_id, now)
    right = answering_as(asked, person, await absent_of(store, person, now), now)
    check_answer(right, asked, missing_question(person, wait_id))
    return right


async def take_answer(store: Store, wait_id: str, given: Answer, person: Person, now: datetime) -> AnswerOutcome:
    """Judge and record an answer by the right of this person: the first valid answer wins. Raise NotFound as
    `own_question` does."""
    while True:
        asked = await own_question(store, person, wait_id, now)
        check_answer(person, asked, missing_question(person, wait_id))
        definition = await definition_of_held(store.registry, asked, now)
        await _check_ahead(asked, given, definition)
        outcome = judge_answer(asked, given, person, now, definition)
        if outcome != ACCEPTED or asked.answer is not None:
            return outcome
        event = event_of_answer(asked, given, now)
        if await store.plans.answer(wait_id, given, event, now):
            return outcome
        # Somebody was first since the question was read: judged again, on what stands now.


async def _check_ahead(asked: Expectation, given: Answer, definition: EventDefinition | None) -> None:
    ask = asked.ask
    if ask is None:
        return
    held = ask.proposal
    if held is None or given.decision is not AnswerDecision.EDIT:
        await check_ahead(asked.tenant_id, ask.response_schema, given.payload)
    if held is not None:
        schema = definition.payload_schema if definition else held.payload_schema
        is_edit = given.decision is AnswerDecision.EDIT
        await check_ahead(asked.tenant_id, schema, given.payload.get("data") if is_edit else held.data)
