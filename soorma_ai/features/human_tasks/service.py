"""Acts about questions beside answering them: claim, assign, absences, links."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from soorma_ai.errors import Forbidden, LocalProtocolError, NotFound, Unauthenticated, VersionConflict
from soorma_ai.features.human_tasks.absences import absence_fault
from soorma_ai.features.human_tasks.claims import (
    announce_claim,
    assign_fault,
    claim_fault,
    current_claim,
    make_claim,
    not_open_fault,
    roles_of_person,
)
from soorma_ai.features.human_tasks.link_tokens import Links
from soorma_ai.features.human_tasks.links import (
    LONGEST,
    begin_at,
    link_fault,
    maker_fault,
    narrow,
    revocation,
    subject_fault,
)
from soorma_ai.features.human_tasks.ports import PEOPLE
from soorma_ai.features.human_tasks.records import (
    Absence,
    Claim,
    Colleague,
    Lasting,
    Link,
    LinkKind,
    MadeLink,
    NewLink,
    Notice,
    NoticeState,
    Roles,
    Snooze,
)
from soorma_ai.features.human_tasks.snoozing import returning_deadline, snooze_fault
from soorma_ai.kernel.domain.calls import Act, CallTable
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.identity import ApiKey, Caller
from soorma_ai.kernel.domain.parameters import Id, Name, Short
from soorma_ai.kernel.domain.people import Person, roles_of
from soorma_ai.kernel.domain.values import must_be_text, span_of
from soorma_ai.kernel.ports import KEYS, Store
from soorma_ai.kernel.rules.authority import Owner, Permission, check, verdict
from soorma_ai.kernel.rules.waits.answers import may_answer, role_fault
from soorma_ai.kernel.rules.waits.substitutes import answering_as
from soorma_ai.kernel.runtime.client.client import Client
from soorma_ai.kernel.runtime.client.people import absent_of, own_question, right_to_answer
from soorma_ai.kernel.runtime.handling.handling import Services, must_be_outside
from soorma_ai.kernel.runtime.views.audit import changing
from soorma_ai.kernel.runtime.views.plans import own_plan

MOST_TRIES = 5
MOST_KEYS = 1_000
MOST_COLLEAGUES = 200
MOST_LINKS = 200
# A link lasts so long where its question has no deadline, and nobody said how long.
LINK_LASTS = timedelta(days=7)

CALLS = CallTable("inbox.")


class Inbox:
    """Inbox of one person of one tenant. Every call about a question raises NotFound without the right to see or answer
    it, and Forbidden with the right to see it alone."""

    def __init__(
        self, services: Services, person: Person, caller: Caller | None = None, links: Links | None = None
    ) -> None:
        """`links` signs the paths of links, where a server opens them."""
        self._services = services
        self._person = person
        self._caller = caller
        self._links = links

    @CALLS("POST /waits/{wait_id}/claim", Act.SEE, "claim_wait", is_safe=True)
    async def claim(self, wait_id: Id, *, insist: bool = False) -> Claim:
        """Claim a question, for an hour or until its answer, and return the claim. It informs others and stops none of
        them. A repeated call changes nothing. With `insist`, take it from another person. Raise LocalProtocolError for
        another person's claim without `insist`, and for a closed question."""
        must_be_outside()
        async with changing(self._services, self._caller, "inbox.claim", wait_id) as change:
            for _ in range(MOST_TRIES):
                asked, now = await self._question(wait_id), self._now()
                was, found = await self._claims(wait_id)
                if fault := claim_fault(asked, found, self._person.user_id, now, insists=insist):
                    raise LocalProtocolError(fault)
                if found is not None and found.user_id == self._person.user_id:
                    return found
                made = make_claim(asked, self._person.user_id, now)
                if await change.store.part(PEOPLE).claim(made, was):
                    return made
        raise VersionConflict(f"question {wait_id} is claimed by others all the time: try again")

    @CALLS("POST /waits/{wait_id}/release", Act.SEE, "release_wait", key="released", is_safe=True)
    async def release(self, wait_id: Id) -> bool:
        """End a claim of this person. False for none."""
        must_be_outside()
        async with changing(self._services, self._caller, "inbox.release", wait_id) as change:
            await own_question(self._services.store, self._person, wait_id, self._now())
            _, found = await self._claims(wait_id)
            if found is None or found.user_id != self._person.user_id:
                return False
            return await change.store.part(PEOPLE).release(found)

    @CALLS("POST /waits/{wait_id}/hand-over", Act.STEER, "hand_over_wait", is_safe=True)
    async def hand_over(self, wait_id: Id, to: Name) -> Claim:
        """Assign a question to a colleague, inform them, and return the claim. A repeated call changes nothing, and
        informs no one. The colleague needs the right to answer it beforehand; raise LocalProtocolError for others. A
        person with the right to steer the question needs no right to answer it."""
        must_be_outside()
        async with changing(self._services, self._caller, "inbox.hand_over", wait_id) as change:
            for _ in range(MOST_TRIES):
                asked, now = await self._question(wait_id, to_steer=True), self._now()
                was, found = await self._claims(wait_id)
                if found is not None and found.user_id == to:
                    return found
                if fault := await self._fault_of_colleague(asked, to, now):
                    raise LocalProtocolError(fault)
                made = make_claim(asked, to, now, self._person.user_id)
                if await change.store.part(PEOPLE).claim(made, was, announce_claim(asked, made)):
                    return made
        raise VersionConflict(f"question {wait_id} is claimed by others all the time: try again")

    @CALLS("POST /waits/{wait_id}/snooze", Act.SEE, "snooze_wait", is_safe=True)
    async def snooze(self, wait_id: Id, until: datetime) -> Snooze:
        """Postpone the reminders and the escalation of a question `until` then, and return the snooze, in place of an
        earlier one. Only an approver may. Raise LocalProtocolError for a closed question, and for a moment in the past,
        at or after the deadline, before the end of an earlier snooze, or more than 30 days from the first."""
        must_be_outside()
        async with changing(self._services, self._caller, "inbox.snooze", wait_id) as change:
            for _ in range(MOST_TRIES):
                asked, now = await self._question(wait_id), self._now()
                found = await self._services.store.part(PEOPLE).snoozed(wait_id)
                if fault := snooze_fault(asked, found, until, now, await self._returning_deadline(asked, now)):
                    raise LocalProtocolError(fault)
                begun = found.at if found else now
                made = Snooze(wait_id, self._person.tenant_id, self._person.user_id, begun, until)
                if await change.store.part(PEOPLE).snooze(made, now):
                    return made
        raise VersionConflict(f"question {wait_id} is snoozed by others all the time: try again")

    @CALLS("GET /waits/{wait_id}/colleagues", Act.SEE, "list_colleagues")
    async def colleagues(self, wait_id: Id) -> list[str]:
        """List the names of other people known to have the right to answer a question."""
        asked, now = await self._question(wait_id, to_steer=True), self._now()
        store, tenant_id = self._services.store, self._person.tenant_id
        seen = await store.part(PEOPLE).colleagues(tenant_id, MOST_COLLEAGUES)
        keys = await keys_of(store, tenant_id)
        known: dict[str, Colleague] = {one.user_id: one for one in seen}
        names = {*known, *(key.user_id for key in keys if key.agent is None)} - {self._person.user_id}
        roles = {name: roles_of_person(keys, known.get(name), name, now) for name in names}
        return sorted(name for name in names if not assign_fault(asked, name, roles[name], now))

    @CALLS("POST /absences", Act.BEGIN, "be_away", is_safe=True)
    async def away(self, until: datetime, deputy: Name) -> Absence:
        """Let a colleague, the `deputy`, answer the questions of this person `until` then, with the present roles of
        this person. It replaces an earlier absence. Raise LocalProtocolError for an impossible one."""
        must_be_outside()
        person, now = self._person, self._now()
        if person.roles is None:
            raise LocalProtocolError("the root cannot be away: give the person and their roles")
        if until.tzinfo is None:
            raise LocalProtocolError("the end of an absence needs a time zone; give an aware datetime")
        must_be_text("deputy", deputy)
        key_id = self._caller.key_id if self._caller else None
        wanted = Absence(person.tenant_id, person.user_id, deputy, person.roles, now, until, key_id)
        async with changing(self._services, self._caller, "inbox.away", deputy) as change:
            people = self._services.store.part(PEOPLE)
            lasting_on = {one.user_id: one for one in await people.absences(person.tenant_id, now)}
            others = await people.stood_in_for(person.tenant_id, deputy, now)
            if fault := absence_fault(wanted, lasting_on.get(deputy), others):
                raise LocalProtocolError(fault)
            was = lasting_on.get(person.user_id)
            if was is not None and (was.deputy, was.until, was.roles) == (deputy, until, person.roles):
                return was
            await change.store.part(PEOPLE).leave(wanted)
        return wanted

    @CALLS("POST /absences/end", Act.STEER, "end_absence", key="back", raises=(NotFound,), is_safe=True)
    async def back(self, user_id: Name | None = None) -> bool:
        """End an absence early: one's own, or as an operator that of `user_id`. False for none."""
        must_be_outside()
        name = user_id or self._person.user_id
        async with changing(self._services, self._caller, "inbox.back", name) as change:
            missing = f"no absence of {name!r} in tenant {self._person.tenant_id!r}"
            check(self._person, CALLS["back"], Owner(self._person.tenant_id, name), missing)
            return await change.store.part(PEOPLE).come_back(self._person.tenant_id, name)

    @CALLS("GET /absences", Act.MEET, "list_absences")
    async def absences(self) -> list[Absence]:
        """List the absences of the tenant: persons, ends and deputies."""
        return await self._services.store.part(PEOPLE).absences(self._person.tenant_id, self._now())

    @CALLS.local(Act.BEGIN)
    async def stands_in_for(self) -> list[str]:
        """Return the names of the absent people with this person as their substitute now."""
        return [one.user_id for one in await absent_of(self._services.store, self._person, self._now())]

    @CALLS("GET /waits/{wait_id}/notices", Act.SEE, "list_notices")
    async def notices(self, wait_id: Id) -> list[Notice]:
        """List the people informed about a question, by channel, and its viewers."""
        await own_question(self._services.store, self._person, wait_id, self._now())
        return await self._services.store.part(PEOPLE).notices(wait_id)

    @CALLS.local(Act.SEE)
    async def look(self, wait_id: str, known: Sequence[Notice]) -> None:
        """Record this person's first look at a question. `known` are its notices."""
        person, now = self._person, self._now()
        if any(one.user_id == person.user_id and one.state is NoticeState.OPENED for one in known):
            return
        asked = await own_question(self._services.store, person, wait_id, now)
        right = answering_as(asked, person, await absent_of(self._services.store, person, now), now)
        if not_open_fault(asked, now) or not may_answer(asked, right, now):
            return
        seen = Notice(wait_id, person.tenant_id, person.user_id, NoticeState.OPENED, now)
        colleague = Colleague(person.tenant_id, person.user_id, person.roles or frozenset(), now)
        await self._services.store.part(PEOPLE).look(seen, colleague)

    @CALLS("POST /links", Act.BEGIN, "make_link", raises=(NotFound,))
    async def make_link(
        self,
        kind: LinkKind,
        about: Short = "",
        *,
        user_id: Name | None = None,
        roles: Roles | None = None,
        lasts: Lasting | None = None,
    ) -> NewLink:
        """Make a link for answers without signing in: to one question, to the questions of a plan's tree, or to all of
        a person's inbox. Its path, below the address of the server, is shown this once; it is empty for a server
        without links. In process, `Links(secret).path(...)` signs it. It replaces the earlier link of the same kind. It
        is this person's own, with the needed ones of their roles; the trusted root makes one for any `user_id`, with
        `roles`. A link to a question lasts as long as that, `lasts` at most; over HTTP, in `hours`. Raise
        LocalProtocolError, Forbidden."""
        must_be_outside()
        person, now = self._person, self._now()
        async with changing(self._services, self._caller, "inbox.make_link", about or "inbox") as change:
            name, span = (
                self._name_of_link(kind, about, user_id),
                LINK_LASTS if lasts is None else span_of("lasts", lasts),
            )
            asked = await own_question(self._services.store, person, about, now) if kind == "question" else None
            if kind == "plan":
                await own_plan(self._services, person, about)
            has = roles_of(roles) if roles is not None else person.roles or frozenset[str]()
            begun = begin_at(await self._services.store.part(PEOPLE).link(person.tenant_id, kind, about, name), now)
            until = begun + span
            if asked is not None and asked.deadline is not None:
                until = min(until, asked.deadline)
            given = has if roles is not None and asked is None else narrow(has, asked)
            link = Link(kind, about, person.tenant_id, name, given, begun, until)
            if fault := maker_fault(link, person):
                raise Forbidden(fault)
            if fault := link_fault(link, asked, now):
                raise LocalProtocolError(fault)
            made = MadeLink(link, person.user_id)
            await change.store.part(PEOPLE).add_link(made)
        return NewLink(made, self._links.path(made.link) if self._links else "")

    @CALLS("GET /links", Act.OVERSEE, "list_links")
    async def links(self, about: Id = "") -> list[MadeLink]:
        """List the links to a question or to a plan's, the last made first; `about` nothing, those to whole inboxes.
        Raise Forbidden for others than auditors and operators."""
        check(self._person, CALLS["links"], Owner(self._person.tenant_id), "")
        return await self._services.store.part(PEOPLE).links(self._person.tenant_id, about, MOST_LINKS)

    @CALLS("POST /links/revoke", Act.STEER, "revoke_link", key="revoked", raises=(NotFound,), is_safe=True)
    async def revoke_link(self, kind: LinkKind, about: Short = "", *, user_id: Name | None = None) -> bool:
        """End the links of a person about the same, those of agents too, made until now. Kind `session` ends sessions
        of the console: the one of this id, or all of the person; `user_id="*"` means everybody of the tenant. False for
        revoked ones. An operator does it for another. Raise NotFound."""
        must_be_outside()
        person, now = self._person, self._now()
        async with changing(self._services, self._caller, "inbox.revoke_link", about or "inbox") as change:
            name = self._name_of_link(kind, about, user_id)
            check(person, CALLS["revoke_link"], Owner(person.tenant_id, name), f"{name!r} has no link here")
            found = await self._services.store.part(PEOPLE).link(person.tenant_id, kind, about, name)
            none = Link(kind, about, person.tenant_id, name, frozenset(), now, now)
            link = replace(found.link if found else none, until=now + LONGEST)
            made_by = found.made_by if found else person.user_id
            return await change.store.part(PEOPLE).revoke_link(MadeLink(link, made_by, now))

    @CALLS.local(Act.BEGIN)
    async def check_link(self, link: Link, *, is_listed: bool) -> None:
        """Raise Unauthenticated for a signed link no longer valid. With `is_listed`, it is valid only as long as its
        row exists."""
        found = await self._services.store.part(PEOPLE).link(link.tenant_id, link.kind, link.about, link.user_id)
        if fault := revocation(link, found, is_listed=is_listed):
            raise Unauthenticated(fault)

    def _name_of_link(self, kind: str, about: str, user_id: str | None) -> str:
        name = self._person.user_id if user_id is None else user_id
        if fault := subject_fault(kind, about, name):
            raise LocalProtocolError(fault)
        return name

    async def _question(self, wait_id: str, *, to_steer: bool = False) -> Expectation:
        """Return a question with the right to answer it, in one's own name or as a substitute, or to steer it. Raise
        LocalProtocolError for another."""
        store, now = self._services.store, self._now()
        asked = await own_question(store, self._person, wait_id, now)
        if to_steer and verdict(self._person, CALLS["hand_over"], asked) is Permission.MAY:
            return asked
        right = await right_to_answer(store, self._person, wait_id, now)
        if fault := role_fault(asked, right, now):
            raise LocalProtocolError(fault)
        return asked

    async def _returning_deadline(self, asked: Expectation, now: datetime) -> datetime | None:
        if asked.deadline is not None or asked.root_plan_id is None:
            return None
        return returning_deadline(asked, await self._services.store.plans.plan(asked.root_plan_id), now)

    async def _claims(self, wait_id: str) -> tuple[Claim | None, Claim | None]:
        """Return the present claims, and those still valid."""
        found = await self._services.store.part(PEOPLE).claims([wait_id])
        return (found[0], current_claim(found[0], self._now())) if found else (None, None)

    async def _fault_of_colleague(self, asked: Expectation, to: str, now: datetime) -> str:
        if not to or not to.isprintable():
            return f"{to!r} is not a name: give the name of a colleague"
        if to == self._person.user_id:
            return "this assigns it to yourself: claim it instead"
        store, tenant_id = self._services.store, self._person.tenant_id
        seen, keys = await store.part(PEOPLE).colleague(tenant_id, to), await keys_of(store, tenant_id)
        return assign_fault(asked, to, roles_of_person(keys, seen, to, now), now)

    def _now(self) -> datetime:
        return self._services.clock.now()


async def keys_of(store: Store, tenant_id: str) -> list[ApiKey]:
    """Return the keys of a tenant; none where no keys are kept."""
    keys = store.find(KEYS)
    return await keys.ls(tenant_id, MOST_KEYS) if keys else []


def inbox_of(client: Client, links: Links | None = None) -> Inbox:
    """Return the calls of a client's person. `links` signs the paths of links."""
    return Inbox(client.services, client.person, client.caller, links)
