"""Calls of an operator: dead letters, and the audit log."""

from contextlib import AbstractAsyncContextManager
from datetime import datetime

from msgspec.structs import replace

from soorma_ai.errors import IllegalTransition, LocalProtocolError
from soorma_ai.kernel.domain.calls import Act, CallTable
from soorma_ai.kernel.domain.dead_letters import Letter
from soorma_ai.kernel.domain.identity import Caller
from soorma_ai.kernel.domain.parameters import Note, Position
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.ports import AuditRow
from soorma_ai.kernel.rules.authority import Owner, check
from soorma_ai.kernel.runtime.client.dead_letters import REDRIVE, dead_letter_of, dead_letter_page, own_row, redrive
from soorma_ai.kernel.runtime.handling.handling import Services, must_be_outside
from soorma_ai.kernel.runtime.views.audit import AuditedChange, changing

CALLS = CallTable()
_ENDED = (IllegalTransition,)


class OperatorCalls:
    """Operator's calls for one person of one tenant, by the `services` of a platform."""

    # Who came by a token; what they change is written down.
    caller: Caller | None = None

    def __init__(self, services: Services, person: Person) -> None:
        self._open_services: Services | None = replace(services, store=services.store.within(person.tenant_id))
        self.person = person

    @property
    def services(self) -> Services:
        if self._open_services is None:
            raise LocalProtocolError("the platform is not open; use `async with Platform(...)`")
        return self._open_services

    @CALLS.local(Act.OVERSEE)
    async def audit(self, *, before: int | None = None, limit: int = 100) -> list[AuditRow]:
        """Return outside callers' changes and refused attempts, the newest first; the next page is the one `before` the
        last `seq`. Raise Forbidden without the role of an auditor or operator."""
        check(self.person, CALLS["audit"], Owner(self.person.tenant_id), "")
        return await self.services.store.audit.entries(self.person.tenant_id, limit, before=before)

    @CALLS("GET /dead-letters", Act.SEE, "list_letters", by=lambda one: str(one.letter_id))
    async def dead_letters(self, *, limit: int = 50) -> list[Letter]:
        """Return dead letters, the newest first: failed deliveries with an open decision."""
        must_be_outside()
        return [*(await dead_letter_page(self.services, self.person, limit)).letters]

    @CALLS("GET /dead-letters/{letter_id}", Act.SEE, "show_letter")
    async def dead_letter(self, letter_id: Position) -> Letter:
        """Return a dead letter, even a redriven or discarded one. Raise NotFound."""
        must_be_outside()
        return dead_letter_of(await own_row(self.services, self.person, letter_id, CALLS["dead_letter"]))

    @CALLS("POST /dead-letters/{letter_id}/redrive", REDRIVE, "redrive_letter", key="redriven", raises=_ENDED)
    async def redrive(self, letter_id: Position) -> bool:
        """Deliver it again, as if for the first time but with the same `idempotency_key`. False for a letter no longer
        dead. Raise NotFound, and LocalProtocolError for a letter of an ended plan or with an unreadable event.

        The requester got the failure at the letter's death. A plan past it does not take a second reply; `request` with
        the same `idempotency_key` finds the success, once there is one.
        """
        must_be_outside()
        async with self._changing("redrive", str(letter_id)) as change:
            return await redrive(change.services, self.person, letter_id)

    @CALLS("POST /dead-letters/{letter_id}/discard", Act.STEER, "discard_letter", key="discarded", raises=_ENDED)
    async def discard(self, letter_id: Position, note: Note = "") -> bool:
        """Discard it for good. False for a letter no longer dead. Raise NotFound."""
        must_be_outside()
        said = f"discarded by {self.person.user_id}" + (f": {note}" if note else "")
        async with self._changing("discard", str(letter_id)) as change:
            await own_row(self.services, self.person, letter_id, CALLS["discard"])
            return await change.store.letters.discard(letter_id, said, self._now())

    def _changing(self, call: str, what: str) -> AbstractAsyncContextManager[AuditedChange]:
        return changing(self.services, self.caller, call, what)

    def _now(self) -> datetime:
        return self.services.clock.now()
