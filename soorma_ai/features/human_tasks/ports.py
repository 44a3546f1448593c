"""Port for claims, absences, notices and links, beside answers."""

from datetime import datetime
from typing import Protocol

from soorma_ai.features.human_tasks.records import Colleague, LinkKind, MadeLink, Notice, Snooze
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.people import Absence, Claim
from soorma_ai.kernel.ports import Colleagues, StoreKey


class People(Colleagues, Protocol):
    async def claim(self, claim: Claim, was: Claim | None, announcement: EventEnvelope | None = None) -> bool:
        """Keep a claim in the place of `was`, and publish its announcement. False, and nothing changes, where the
        question is not open, or its claim is another by now."""
        ...

    async def release(self, claim: Claim) -> bool:
        """End a claim. False, and nothing changes, where it is another by now, or none."""
        ...

    async def snooze(self, snooze: Snooze, now: datetime) -> bool:
        """Put off the reminders and the escalation of a question from now on. False, and nothing changes, where it is
        not open, ends before, or is snoozed for longer."""
        ...

    async def snoozed(self, wait_id: str) -> Snooze | None:
        """Return the snooze of an open question, also one that is over."""
        ...

    async def absences(self, tenant_id: str, now: datetime) -> list[Absence]:
        """Return the present ones, by name; one of a person at most."""
        ...

    async def leave(self, absence: Absence) -> None:
        """Keep an absence in the place of the one before."""
        ...

    async def come_back(self, tenant_id: str, user_id: str) -> bool:
        """End an absence. False where there is none."""
        ...

    async def notices(self, wait_id: str) -> list[Notice]:
        """Return the notices of a question, in the order of time."""
        ...

    async def tell(self, notice: Notice) -> None:
        """Record the state of a notice to a person by a channel, in place of the former one."""
        ...

    async def look(self, notice: Notice, colleague: Colleague) -> bool:
        """Record a person's look at a question, with their roles. False for a further look."""
        ...

    async def colleagues(self, tenant_id: str, limit: int) -> list[Colleague]:
        """Return people with a look at questions, by their last look, newest first."""
        ...

    async def colleague(self, tenant_id: str, user_id: str) -> Colleague | None: ...

    async def find_alike(self, asked: Expectation, limit: int) -> list[Expectation]:
        """Return other questions of the tenant of this kind and subject that people have answered, the last answered
        first."""
        ...

    async def add_link(self, made: MadeLink) -> None:
        """List a link in the place of the one before of this person about the same."""
        ...

    async def link(self, tenant_id: str, kind: LinkKind, about: str, user_id: str) -> MadeLink | None: ...

    async def links(self, tenant_id: str, about: str, limit: int) -> list[MadeLink]:
        """Return the links about a question or a plan, the last made first; about nothing, those to whole inboxes.
        Sessions are not listed."""
        ...

    async def revoke_link(self, made: MadeLink) -> bool:
        """Revoke a link. False for a revoked one; links made before that are no longer valid."""
        ...


PEOPLE: StoreKey[People] = StoreKey("people", feature="human_tasks")
