"""What only the owner of a store does, for whoever keeps it: served to its own user, and in no document."""

from datetime import timedelta
from http import HTTPStatus

from pydantic import Field

from soorma_ai.api.server.operation import NOT_FOUND, Answer, AnyOperation, Call, Form, Id, Name, Nothing, post
from soorma_ai.api.server.routes.common import Made
from soorma_ai.features.identity.keys import key_ring_of
from soorma_ai.features.upkeep.service import upkeep_of
from soorma_ai.kernel.domain.identity import ApiKey
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.domain.values import LONGEST_WAIT_SECONDS
from soorma_ai.kernel.ports import Forgotten, Pruned

MOST_BATCHES = 100


class Old(Form):
    """Plans that ended, in one of `statuses`, more than `older_than` seconds ago. So many `batches` are removed, behind
    the place `after`, so that the answer comes in time."""

    older_than: float = Field(gt=0, le=LONGEST_WAIT_SECONDS)
    statuses: list[PlanStatus] = Field(min_length=1)
    after: str | None = None
    batches: int = Field(ge=1, le=MOST_BATCHES)


class Leaver(Form):
    """A user of whom everything is removed, so many `batches` at a time."""

    user_id: Name
    batches: int = Field(ge=1, le=MOST_BATCHES)


class NewKey(Form):
    """`key` has the hash of a secret that never comes here."""

    key: ApiKey


class Added(Made):
    key_id: str


class OfKey(Form):
    key_id: Id


class Revoked(Made):
    """`revoked` is false for a key that was revoked before."""

    revoked: bool


async def prune(call: Call[Nothing, Old]) -> Answer:
    """Remove what is over, a part at a time; `after` of the answer is where to go on, null at the end."""
    sent = call.sent
    span = timedelta(seconds=sent.older_than)
    return Answer(await upkeep_of(call.client).prune(span, sent.statuses, after=sent.after, batches=sent.batches))


async def forget(call: Call[Nothing, Leaver]) -> Answer:
    """Remove all that is a user's, a part at a time; `is_done` of the answer says whether that was the last."""
    return Answer(await upkeep_of(call.client).forget(call.sent.user_id, batches=call.sent.batches))


async def add_key(call: Call[Nothing, NewKey]) -> Answer:
    """Store an API key."""
    await key_ring_of(call.client).add(call.sent.key)
    return Answer(Added(key_id=call.sent.key.key_id))


async def revoke_key(call: Call[OfKey, Nothing]) -> Answer:
    """End an API key."""
    return Answer(Revoked(revoked=await key_ring_of(call.client).revoke(call.asked.key_id)))


OPERATIONS: tuple[AnyOperation, ...] = (
    post("/v1/prune", prune, Nothing, Old, {HTTPStatus.OK: Pruned}),
    post("/v1/forget", forget, Nothing, Leaver, {HTTPStatus.OK: Forgotten}),
    post("/v1/keys", add_key, Nothing, NewKey, {HTTPStatus.OK: Added}),
    post("/v1/keys/{key_id}/revoke", revoke_key, OfKey, Nothing, {HTTPStatus.OK: Revoked}, NOT_FOUND),
)
