"""Audit log. A change made with a token is recorded in the transaction that makes it."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.errors import SoormaError, TransientError
from soorma_ai.kernel.domain.identity import AuditEntry, Caller
from soorma_ai.kernel.domain.values import clip
from soorma_ai.kernel.ports import Note, Store
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.handling.logs import warn

DONE = "done"
LONGEST_NAME = 200


class AuditedChange(Struct, frozen=True):
    """Change in progress, made by these `services`; their store records it in the same transaction."""

    services: Services
    note: Note | None = None

    @property
    def store(self) -> Store:
        return self.services.store

    def expect(self, outcome: str, for_user: str = "") -> None:
        """Set the outcome for the next stored change, else `DONE`, and the absent colleague of a substitute."""
        if self.note is not None:
            self.note.entry = replace(self.note.entry, outcome=outcome, for_user=for_user)


class _UnrecordedChange(Struct, frozen=True):
    """Change by code of this process."""

    change: AuditedChange

    async def __aenter__(self) -> AuditedChange:
        return self.change

    async def __aexit__(self, *_: object) -> None:
        return None


def changing(
    services: Services, caller: Caller | None, call: str, what: str
) -> AbstractAsyncContextManager[AuditedChange]:
    """Record the author of this change, and its outcome; `caller` None is code of this process, and is not recorded.

    The row is in the transaction of the change: there is neither without the other. Without a change, as for a refused
    call, and after a later failure, it is a transaction of its own.
    """
    return _UnrecordedChange(AuditedChange(services)) if caller is None else _recording(services, caller, call, what)


@asynccontextmanager
async def _recording(services: Services, caller: Caller, call: str, what: str) -> AsyncGenerator[AuditedChange]:
    person, now = caller.person, services.clock.now()
    what = clip(what, LONGEST_NAME)
    note = Note(AuditEntry(person.tenant_id, person.user_id, caller.key_id, call, what, now, DONE))
    outcome = None
    try:
        yield AuditedChange(replace(services, store=services.store.with_note(note)), note)
    except BaseException as error:
        outcome = error.code if isinstance(error, SoormaError) else type(error).__name__
        raise
    finally:
        entry = note.entry if outcome is None else replace(note.entry, outcome=outcome)
        if not (note.is_written and entry == note.entry):
            await _record(services, entry)


async def _record(services: Services, entry: AuditEntry) -> None:
    try:
        await services.store.audit.record(entry)
    except TransientError as error:
        # What was refused is told so: the log has what the table has not.
        warn("audit_not_written", call=entry.call, what=entry.what, outcome=entry.outcome, reason=error)
