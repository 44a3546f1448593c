"""Pages of questions to people, for one person."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from msgspec import Struct

from soorma_ai.kernel.domain.expectations import FOR_PEOPLE, Expectation, ExpectationKind, ExpectationStatus, Wait
from soorma_ai.kernel.domain.parameters import MOST_ITEMS
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.ports import Place
from soorma_ai.kernel.rules.authority import is_listed, only_user
from soorma_ai.kernel.rules.waits.substitutes import may_stand_in, stands_in
from soorma_ai.kernel.runtime.client.people import absent_of, own_question, with_claims
from soorma_ai.kernel.runtime.handling.handling import Services

# Rows that are read to be judged one by one, for a count.
MOST_JUDGED = 300
# Rows that are read at once where most are for somebody else by now.
MOST_AT_ONCE = 1_000


class QuestionPage(Struct, frozen=True):
    """Page of questions, the most urgent first. It begins behind the question `begin`, with the first for None;
    `has_more`: there are less urgent ones."""

    waits: list[Wait]
    begin: str | None
    has_more: bool


class Count(Struct, frozen=True):
    """Number of questions, exact or estimated."""

    number: int
    is_exact: bool = True


async def question_page(
    services: Services,
    person: Person,
    limit: int,
    plan_id: str | None = None,
    *,
    beyond: Place | None = None,
    kind: ExpectationKind | None = None,
) -> QuestionPage:
    """Return open questions visible to a person, or addressed to them or to an absent colleague they substitute, with
    the person of each claim. With `plan_id`, those of a plan's tree, visible or not.

    Without a place, and at a place with nothing beyond it or less than a page before it, it is the first page. Raise
    NotFound for the place of a question invisible to the person.
    """
    if beyond is not None:
        await own_question(services.store, person, beyond.id, services.clock.now())
    listing = _Listing(services, person, plan_id, kind)
    found = await listing.read(limit + 1, beyond)
    if beyond is not None and (not found or (beyond.is_back and len(found) <= limit)):
        beyond, found = None, await listing.read(limit + 1, None)
    if beyond is not None and beyond.is_back:
        begin, shown, has_more = found[0].id, found[1:], True
    else:
        begin, shown, has_more = beyond.id if beyond else None, found[:limit], len(found) > limit
    waits = [wait for one in shown if (wait := Wait.of(one))]
    return QuestionPage(await with_claims(services.store, waits, services.clock.now()), begin, has_more)


async def find_questions(services: Services, person: Person, beginning: str) -> list[Wait]:
    """Return the questions of a person with ids of this beginning: the open ones, or without any the closed ones."""
    store, now = services.store, services.clock.now()
    absent = await absent_of(store, person, now)
    asked = await store.plans.questions_beginning(person.tenant_id, beginning, MOST_AT_ONCE)
    own = [one for one in asked if is_listed(person, one, now) or stands_in(one, absent, now)]
    shown = [one for one in own if one.status is ExpectationStatus.OPEN] or own
    return await with_claims(store, [wait for one in shown[:MOST_ITEMS] if (wait := Wait.of(one))], now)


async def count_questions(services: Services, person: Person, plan_id: str | None = None) -> Count:
    """Count the questions of all pages. The number is exact for a person with sight of the whole tenant."""
    store, user_id, now = services.store, only_user(person), services.clock.now()
    if plan_id is not None:
        return Count(len(await _Listing(services, person, plan_id, None).read(None, None)))
    if user_id is not None and await absent_of(store, person, now):
        found = await _Listing(services, person, None, None).read(MOST_JUDGED + 1, None)
        return Count(min(len(found), MOST_JUDGED), len(found) <= MOST_JUDGED)
    roles = person.roles or ()
    number = await store.plans.count_questions(person.tenant_id, user_id=user_id, roles=roles)
    if user_id is None:
        return Count(number)
    ladders = await store.plans.ladders(person.tenant_id, user_id, roles, MOST_JUDGED)
    later = sum(not is_listed(person, one, now) for one in ladders)
    return Count(number - later, len(ladders) < MOST_JUDGED)


class _Listing:
    """Ordered list of questions for one person."""

    def __init__(self, services: Services, person: Person, plan_id: str | None, kind: ExpectationKind | None) -> None:
        self._services = services
        self._person = person
        self._plan_id = plan_id
        self._kind = kind

    async def read(self, limit: int | None, beyond: Place | None) -> list[Expectation]:
        """Return up to `limit` questions from the beginning or next to a place, or all of a tree, in order."""
        now = self._services.clock.now()
        absent = await absent_of(self._services.store, self._person, now)
        if self._plan_id is not None or limit is None:
            return _cut(await self._of_tree(absent, now), limit, beyond)
        found = {one.id: one for one in await self._own(limit, beyond)}
        for one in absent:
            found |= {asked.id: asked for asked in await self._lent(one, limit, beyond)}
        ordered = sorted(found.values(), key=_urgency)
        return ordered[-limit:] if beyond is not None and beyond.is_back else ordered[:limit]

    async def _own(self, limit: int, beyond: Place | None) -> list[Expectation]:
        person = self._person

        def is_shown(one: Expectation) -> bool:
            return is_listed(person, one, self._services.clock.now())

        return await _collect(self._asking(person, only_user(person)), is_shown, limit, beyond)

    async def _lent(self, absent: Person, limit: int, beyond: Place | None) -> list[Expectation]:
        """Return the questions to an absent colleague."""

        def is_shown(one: Expectation) -> bool:
            return may_stand_in(one, absent, self._services.clock.now())

        return await _collect(self._asking(absent, absent.user_id), is_shown, limit, beyond)

    def _asking(self, person: Person, user_id: str | None) -> "Ask":
        plans, roles = self._services.store.plans, person.roles or ()

        async def ask(limit: int, beyond: Place | None) -> list[Expectation]:
            return await plans.questions(
                person.tenant_id, limit, user_id=user_id, roles=roles, kind=self._kind, beyond=beyond
            )

        return ask

    async def _of_tree(self, absent: Sequence[Person], now: datetime) -> list[Expectation]:
        plans, plan_id = self._services.store.plans, self._plan_id or ""
        plan = await plans.plan(plan_id)
        asked = await plans.open_in_tree(plan.root_plan_id if plan else plan_id)
        shown = [
            one
            for one in asked
            if one.kind in FOR_PEOPLE and (is_listed(self._person, one, now) or stands_in(one, absent, now))
        ]
        return sorted(shown, key=_urgency)


Ask = Callable[[int, Place | None], Awaitable[list[Expectation]]]


async def _collect(
    ask: Ask, is_shown: Callable[[Expectation], bool], limit: int, beyond: Place | None
) -> list[Expectation]:
    """Return up to `limit` visible questions. Some become visible to a role only later, by their escalation."""
    is_back, most = beyond is not None and beyond.is_back, limit
    shown: list[Expectation] = []
    while True:
        found = await ask(most, beyond)
        passed = [one for one in found if is_shown(one)]
        shown = [*passed, *shown] if is_back else [*shown, *passed]
        if len(shown) >= limit or len(found) < most:
            return shown[-limit:] if is_back else shown[:limit]
        beyond = Place(found[0].id if is_back else found[-1].id, is_back)
        most = max(limit, min(2 * most, MOST_AT_ONCE))


def _cut(ordered: Sequence[Expectation], limit: int | None, beyond: Place | None) -> list[Expectation]:
    if beyond is None:
        return [*ordered[:limit]]
    place = next((place for place, one in enumerate(ordered) if one.id == beyond.id), None)
    if place is None:
        return []
    return [*ordered[:place]][-(limit or 0) :] if beyond.is_back else [*ordered[place + 1 :]][:limit]


def _urgency(asked: Expectation) -> tuple[bool, datetime, datetime, str]:
    return asked.deadline is None, asked.deadline or asked.opened_at, asked.opened_at, asked.id
