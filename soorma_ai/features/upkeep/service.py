"""The calls of who keeps a platform: what could not be handled, what is over, keys, and who changed what."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta

from msgspec.structs import replace

from soorma_ai.errors import IllegalTransition, LocalProtocolError
from soorma_ai.features.identity.keys import KeyRing
from soorma_ai.features.upkeep.retention import FINAL, FORGET, PRUNE, USUAL_AGE, forget, prune
from soorma_ai.kernel.domain.calls import Act, CallTable
from soorma_ai.kernel.domain.dead_letters import Letter
from soorma_ai.kernel.domain.identity import Caller
from soorma_ai.kernel.domain.parameters import Note, Position
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.ports import AuditRow, Forgotten, Pruned
from soorma_ai.kernel.rules.authority import Owner, check
from soorma_ai.kernel.runtime.client.dead_letters import REDRIVE, letter_of, letter_page, own_row, redrive
from soorma_ai.kernel.runtime.handling.handling import Services, must_be_outside
from soorma_ai.kernel.runtime.views.audit import Change, changing

CALLS = CallTable()
_ENDED = (IllegalTransition,)


class Upkeep:
    """Acts as one person of one tenant. `keys` are those of the API, and `services` is what runs it all."""

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

    @property
    def keys(self) -> KeyRing:
        return KeyRing(self.services, self.person, self.caller)

    @CALLS.local(Act.OVERSEE)
    async def audit(self, *, before: int | None = None, limit: int = 100) -> list[AuditRow]:
        """Return what callers from outside changed or were refused, the newest first; the next page is that `before`
        the last `seq`. Raise Forbidden for who is no auditor or operator."""
        check(self.person, CALLS["audit"], Owner(self.person.tenant_id), "")
        return await self.services.store.audit.entries(self.person.tenant_id, limit, before=before)

    @CALLS("GET /dead-letters", Act.SEE, "list_letters", by=lambda one: str(one.letter_id))
    async def dead_letters(self, *, limit: int = 50) -> list[Letter]:
        """Return what could not be handled and waits for somebody to decide about it, the newest first."""
        must_be_outside()
        return [*(await letter_page(self.services, self.person, limit)).letters]

    @CALLS("GET /dead-letters/{letter_id}", Act.SEE, "show_letter")
    async def dead_letter(self, letter_id: Position) -> Letter:
        """Return a dead letter, even if it is redriven or discarded by now. Raise NotFound."""
        must_be_outside()
        return letter_of(await own_row(self.services, self.person, letter_id, CALLS["dead_letter"]))

    @CALLS("POST /dead-letters/{letter_id}/redrive", REDRIVE, "redrive_letter", key="redriven", raises=_ENDED)
    async def redrive(self, letter_id: Position) -> bool:
        """Deliver it again, as if for the first time but with the same `idempotency_key`. False when it is not dead
        (any more). Raise NotFound, and LocalProtocolError when its plan has ended, or its event cannot be read.

        Whoever asked was told of the failure when the letter died. A plan that went on does not take a second reply;
        `request` with the same `idempotency_key` finds the success, once there is one.
        """
        must_be_outside()
        async with self._changing("redrive", str(letter_id)) as change:
            return await redrive(change.services, self.person, letter_id)

    @CALLS("POST /dead-letters/{letter_id}/discard", Act.STEER, "discard_letter", key="discarded", raises=_ENDED)
    async def discard(self, letter_id: Position, note: Note = "") -> bool:
        """Be done with it, for good. False when it is not dead (any more). Raise NotFound."""
        must_be_outside()
        said = f"discarded by {self.person.user_id}" + (f": {note}" if note else "")
        async with self._changing("discard", str(letter_id)) as change:
            await own_row(self.services, self.person, letter_id, CALLS["discard"])
            return await change.store.letters.discard(letter_id, said, self._now())

    @CALLS.local(PRUNE)
    async def prune(
        self,
        older_than: timedelta = USUAL_AGE,
        statuses: Sequence[PlanStatus | str] = FINAL,
        *,
        dry_run: bool = False,
        after: str | None = None,
        batches: int | None = None,
    ) -> Pruned:
        """Remove plans of this tenant that ended, in one of `statuses`, longer ago than this, and old events of none.

        What is not done stays, with its whole tree (`kept`). What went is forgotten: an event that comes again, or an
        idempotency key used again, is new. Raise LocalProtocolError for less than 24 hours, and Forbidden for who is no
        operator. With `batches`, remove so many, from behind the place `after` on, and say where to go on.
        """
        must_be_outside()
        async with self._changing("prune", f"older than {older_than}") as change:
            return await prune(
                change.services, self.person, older_than, statuses, dry_run=dry_run, after=after, batches=batches
            )

    @CALLS.local(FORGET)
    async def forget(self, user_id: str, *, batches: int | None = None) -> Forgotten:
        """Remove all of this tenant that is a user's: plans, done or not, with their journals and events, sessions and
        memos; revoke their keys. Rows of keys and of the audit stay, as does what is another's or shared. After a kill
        it goes on by itself. With `batches`, remove so many. Raise Forbidden for who is no operator."""
        must_be_outside()
        async with self._changing("forget", user_id) as change:
            return await forget(change.services, self.person, user_id, batches=batches)

    def _changing(self, call: str, what: str) -> AbstractAsyncContextManager[Change]:
        return changing(self.services, self.caller, call, what)

    def _now(self) -> datetime:
        return self.services.clock.now()
