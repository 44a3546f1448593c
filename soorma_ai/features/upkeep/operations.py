"""Routes of dead letters, and of the owner of a store: those are served to its own user, and in no document."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from soorma_ai.api.operation import operations
from soorma_ai.api.paging import Page, make_page
from soorma_ai.api.server.app_state import Call
from soorma_ai.errors import NotFound
from soorma_ai.features.upkeep.service import CALLS
from soorma_ai.kernel.domain.calls import CallTable
from soorma_ai.kernel.domain.dead_letters import Letter
from soorma_ai.kernel.domain.parameters import Name
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.domain.values import LONGEST_WAIT_SECONDS
from soorma_ai.kernel.ports import Forgotten, Place, Pruned
from soorma_ai.kernel.runtime.client.dead_letters import letter_page

MOST_BATCHES = 100

HANDLERS = CallTable()
Batches = Annotated[int, Field(ge=1, le=MOST_BATCHES)]


@HANDLERS("POST /prune", CALLS["prune"], "prune")
async def prune(
    call: Call,
    older_than: Annotated[float, Field(gt=0, le=LONGEST_WAIT_SECONDS)],
    statuses: Annotated[list[PlanStatus], Field(min_length=1)],
    batches: Batches,
    after: str | None = None,
) -> Pruned:
    """Remove plans that ended, in one of `statuses`, more than `older_than` seconds ago, a part at a time: so many
    `batches`, behind the place `after`. `after` of the answer is where to go on, null at the end."""
    return await call.client.prune(timedelta(seconds=older_than), statuses, after=after, batches=batches)


@HANDLERS("POST /forget", CALLS["forget"], "forget")
async def forget(call: Call, user_id: Name, batches: Batches) -> Forgotten:
    """Remove all that is a user's, so many `batches` at a time; `is_done` of the answer says whether that was the
    last."""
    return await call.client.forget(user_id, batches=batches)


async def list_letters(call: Call, after: str | None, limit: int) -> Page[Letter]:
    """Return a page of the dead letters that a person sees."""
    beyond = _place(after) if after is not None else None
    found = await letter_page(call.client.services, call.client.person, limit, beyond)
    return make_page(found.letters, str(found.letters[-1].letter_id) if found.older else None)


def _place(after: str) -> Place:
    """Return the place of a letter. Raise NotFound for what is no number of one."""
    if not (after.isascii() and after.isdigit() and len(after) < 19):
        raise NotFound(f"after={after[:40]!r} is no number of a dead letter; begin anew without it")
    return Place(after)


OPERATIONS = operations(CALLS, "dead_letters", lambda call: call.client, dead_letters=list_letters)
OWNER_OPERATIONS = operations(HANDLERS, "owner")
