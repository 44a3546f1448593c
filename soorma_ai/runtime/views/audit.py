"""The one door for changes that come from outside: whoever came by a token is written down with what they changed."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from soorma_ai.domain.identity import AuditEntry, Caller
from soorma_ai.domain.values import clip
from soorma_ai.errors import SoormaError, TransientError
from soorma_ai.runtime.handling.handling import Services
from soorma_ai.runtime.handling.logs import warn

DONE = "done"
LONGEST_NAME = 200


@dataclass
class Outcome:
    word: str = DONE


@asynccontextmanager
async def changing(services: Services, caller: Caller | None, call: str, what: str) -> AsyncGenerator[Outcome]:
    """Write down who made this change, and how it ended; `caller` None is code of this process, which is not. The row
    is a transaction of its own behind the change: a kill between them loses the row."""
    outcome = Outcome()
    if caller is None:
        yield outcome
        return
    try:
        yield outcome
    except BaseException as error:
        outcome.word = error.code if isinstance(error, SoormaError) else type(error).__name__
        raise
    finally:
        person, now = caller.person, services.clock.now()
        what = clip(what, LONGEST_NAME)
        entry = AuditEntry(person.tenant_id, person.user_id, caller.key_id, call, what, now, outcome.word)
        try:
            await services.store.audit.record(entry)
        except TransientError as error:
            # What has happened has happened, and is told so: the log has what the table has not.
            warn("audit_not_written", call=call, what=what, outcome=outcome.word, reason=error)
