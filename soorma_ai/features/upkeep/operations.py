"""Routes of the owner of a store: served to its own user, and in no document."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from soorma_ai.api.operation import operations
from soorma_ai.api.server.app_state import Call
from soorma_ai.features.upkeep.service import CALLS, upkeep_of
from soorma_ai.kernel.domain.calls import CallTable
from soorma_ai.kernel.domain.parameters import Name
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.domain.values import LONGEST_WAIT_SECONDS
from soorma_ai.kernel.ports import Forgotten, Pruned

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
    return await upkeep_of(call.client).prune(timedelta(seconds=older_than), statuses, after=after, batches=batches)


@HANDLERS("POST /forget", CALLS["forget"], "forget")
async def forget(call: Call, user_id: Name, batches: Batches) -> Forgotten:
    """Remove all that is a user's, so many `batches` at a time; `is_done` of the answer says whether that was the
    last."""
    return await upkeep_of(call.client).forget(user_id, batches=batches)


OWNER_OPERATIONS = operations(HANDLERS, "owner")
