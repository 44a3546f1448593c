"""Agents that run in other processes: they register, are lent what comes for them, and say what became of it."""

from functools import cache
from http import HTTPStatus
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from soorma_ai.api.server.operation import (
    CONFLICT,
    NOT_FOUND,
    Answer,
    AnyOperation,
    Call,
    Form,
    Id,
    Name,
    Nothing,
    Seconds,
    get,
    post,
)
from soorma_ai.api.server.routes.common import Made
from soorma_ai.errors import DeadlineExceeded
from soorma_ai.features.remote.leases import Lending, register
from soorma_ai.features.remote.loans import Loans
from soorma_ai.features.remote.lookups import readings_for
from soorma_ai.features.remote.records import (
    ANSWERS,
    LONGEST_NAME,
    MOST_ACTS,
    Act,
    Ending,
    Lease,
    Lent,
    Newcomer,
    Read,
    Reading,
    RowId,
)
from soorma_ai.kernel.domain.identity import Caller
from soorma_ai.kernel.domain.values import Json
from soorma_ai.kernel.ports import Delivery

MOST_LEASES = 1_000


class Newcomers(Form):
    """Agents that start together: all are registered, or none is."""

    agents: list[Newcomer] = Field(min_length=1, max_length=100)


class Registered(Made):
    """Names of the agents, and the tenant whose they are."""

    agents: list[str]
    tenant_id: str


class OfRemote(Form):
    name: Name


class Waiting(OfRemote):
    """`wait`: seconds for which something to come is waited for."""

    wait: Seconds = 0


class HasCome(Made):
    has_come: bool


class Room(Form):
    """For how many deliveries there is room, and the rows of those that are in hand. A `process` that names itself,
    and the `last` loan that came to it, is lent again what did not come, and no attempt is counted for that."""

    limit: int = Field(1, ge=1, le=MOST_LEASES)
    held: list[RowId] = Field(default_factory=list[int], max_length=MOST_LEASES)
    process: Id | None = None
    last: RowId | None = None


class Loan(Made):
    """At most sixteen deliveries; the number of the loan, for a process that names itself."""

    deliveries: list[Lent]
    loan: RowId | None = None


class Leases(Form):
    leases: list[Lease] = Field(max_length=MOST_LEASES)


class Kept(Made):
    """The leases that still are."""

    leases: list[Lease]


class OfLease(Form):
    """A delivery by its row, and the fence under which it was lent."""

    name: Name
    seq: RowId
    fence: RowId


class Progress(Form):
    """The share of the task that is done; `report_id` makes telling it again the same report."""

    report_id: Id
    progress: float = Field(ge=0, le=1)
    message: str = Field("", max_length=10 * LONGEST_NAME)


class Looking(Form):
    read: Read


class Found(Made):
    """What was read, of the type that the reading has."""

    value: Json


class Outcome(Form):
    """What a handler did, in the order in which it did it, and how its delivery ends."""

    acts: Annotated[list[Act], Field(max_length=MOST_ACTS)]
    ending: Ending


async def register_agents(call: Call[Nothing, Newcomers]) -> Answer:
    """Register agents that run elsewhere, for the tenant of who calls. Registering again is what a restart does."""
    given = call.sent.agents
    await register(call.surroundings.services, _caller(call), given)
    return Answer(Registered(agents=[one.name for one in given], tenant_id=_caller(call).person.tenant_id))


async def confirm_agent(call: Call[OfRemote, Nothing]) -> Answer:
    """Say that an agent lives. Who says nothing for five minutes is gone."""
    await _lending(call).confirm()
    return Answer(status=HTTPStatus.NO_CONTENT)


async def leave(call: Call[OfRemote, Nothing]) -> Answer:
    """Say that an agent has ended. What comes for it is kept until it registers again."""
    await _lending(call).leave()
    return Answer(status=HTTPStatus.NO_CONTENT)


async def await_deliveries(call: Call[Waiting, Nothing]) -> Answer:
    """Wait until something has come for an agent, which is leased by another call."""
    waited = _lending(call).has_come(call.asked.wait)
    try:
        has_come = await call.surroundings.wait_for(waited, call.asked.wait)
    except DeadlineExceeded:
        has_come = False
    return Answer(HasCome(has_come=has_come))


async def lease_deliveries(call: Call[OfRemote, Room]) -> Answer:
    """Lease what has come for an agent, one delivery for each plan, task or request, for thirty seconds."""
    room, lending, number = call.sent, _lending(call), None
    if room.process is None:
        taken = await lending.lend(room.limit, room.held)
    else:
        loans = call.surroundings.share(Loans)
        taken, number = await lending.lend_to(room.process, loans, room.last, room.limit, room.held)
    return Answer(Loan.model_construct(deliveries=[_tell_delivery(one) for one in taken], loan=number))


async def renew_leases(call: Call[OfRemote, Leases]) -> Answer:
    """Prolong leases. One that is not in the answer is lost: what was done under it cannot be committed."""
    return Answer(Kept(leases=await _lending(call).renew(call.sent.leases)))


async def release_leases(call: Call[OfRemote, Leases]) -> Answer:
    """Give back what was not handled, which is no attempt."""
    await _lending(call).release(call.sent.leases)
    return Answer(status=HTTPStatus.NO_CONTENT)


async def begin_delivery(call: Call[OfLease, Nothing]) -> Answer:
    """Say, before it runs, that a handler begins that must not run twice."""
    await _lending(call).begin(_lease(call.asked))
    return Answer(status=HTTPStatus.NO_CONTENT)


async def report_progress(call: Call[OfLease, Progress]) -> Answer:
    """Tell how far the task in hand is."""
    sent = call.sent
    await _lending(call).report(_lease(call.asked), sent.report_id, sent.progress, sent.message)
    return Answer(status=HTTPStatus.NO_CONTENT)


async def read_for_delivery(call: Call[OfLease, Looking]) -> Answer:
    """Read what a handler may look up: of the user or the tree of plans that its delivery is for."""
    delivery = await _lending(call).delivery(_lease(call.asked))
    readings = await readings_for(call.surroundings.services, delivery)
    value = await readings.read(call.sent.read)
    return Answer(Found.model_construct(value=_write(call.sent.read.what, value)))


async def commit_delivery(call: Call[OfLease, Outcome]) -> Answer:
    """Commit what became of a delivery, under its lease: all of it, or nothing. Said again, it is the same call."""
    await _lending(call).commit(_lease(call.asked), call.sent.acts, call.sent.ending)
    return Answer(status=HTTPStatus.NO_CONTENT)


def _caller(call: Call[Any, Any]) -> Caller:
    return call.client.caller or Caller(call.client.person)


def _lending(call: Call[Any, Any]) -> Lending:
    return Lending(call.surroundings.services, _caller(call), call.asked.name)


def _lease(asked: OfLease) -> Lease:
    return Lease(seq=asked.seq, fence=asked.fence)


def _tell_delivery(one: Delivery) -> Lent:
    return Lent(one.seq, one.fence, one.owner, one.event, one.attempt, one.started, one.redriven)


def _write(what: Reading, value: object) -> Json:
    found: Json = _adapter(what).dump_python(value, mode="json", by_alias=True)
    return found


@cache
def _adapter(what: Reading) -> TypeAdapter[Any]:
    kind: Any = ANSWERS[what]
    return TypeAdapter(kind)


_NONE = {HTTPStatus.NO_CONTENT: None}
_OF_ALL = "/v1/agents/{name}/deliveries"
_OF_ONE = "/v1/agents/{name}/deliveries/{seq}/{fence}"

OPERATIONS: tuple[AnyOperation, ...] = (
    post("/v1/agents", register_agents, Nothing, Newcomers, {HTTPStatus.OK: Registered}, CONFLICT),
    post("/v1/agents/{name}/confirm", confirm_agent, OfRemote, Nothing, _NONE, NOT_FOUND, CONFLICT),
    post("/v1/agents/{name}/leave", leave, OfRemote, Nothing, _NONE, NOT_FOUND, CONFLICT),
    get(_OF_ALL, await_deliveries, Waiting, HasCome, NOT_FOUND, CONFLICT),
    post(f"{_OF_ALL}/lease", lease_deliveries, OfRemote, Room, {HTTPStatus.OK: Loan}, NOT_FOUND, CONFLICT),
    post(f"{_OF_ALL}/renew", renew_leases, OfRemote, Leases, {HTTPStatus.OK: Kept}, NOT_FOUND, CONFLICT),
    post(f"{_OF_ALL}/release", release_leases, OfRemote, Leases, _NONE, NOT_FOUND, CONFLICT),
    post(f"{_OF_ONE}/begin", begin_delivery, OfLease, Nothing, _NONE, NOT_FOUND, CONFLICT),
    post(f"{_OF_ONE}/progress", report_progress, OfLease, Progress, _NONE, NOT_FOUND, CONFLICT),
    post(f"{_OF_ONE}/read", read_for_delivery, OfLease, Looking, {HTTPStatus.OK: Found}, NOT_FOUND, CONFLICT),
    post(f"{_OF_ONE}/commit", commit_delivery, OfLease, Outcome, _NONE, NOT_FOUND, CONFLICT),
)
