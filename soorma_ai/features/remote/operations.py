"""Remote agents: they register, lease their deliveries, and commit the outcome."""

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from soorma_ai.api.operation import operations
from soorma_ai.api.server.app_state import Call
from soorma_ai.errors import DeadlineExceeded, IllegalTransition
from soorma_ai.features.remote.leases import AgentLeases, register
from soorma_ai.features.remote.lookups import readings_for
from soorma_ai.features.remote.records import (
    ANSWERS,
    LONGEST_NAME,
    MOST_ACTS,
    Act,
    Ending,
    Lease,
    LeasedDeliveries,
    Lent,
    Newcomer,
    Read,
    Reading,
    RegistrationResult,
    RowId,
)
from soorma_ai.kernel.domain.calls import CallTable
from soorma_ai.kernel.domain.identity import Caller
from soorma_ai.kernel.domain.parameters import Fields, Id, Name, Patience
from soorma_ai.kernel.domain.values import Json
from soorma_ai.kernel.ports import Delivery
from soorma_ai.kernel.rules.authority import REGISTER_AGENT

MOST_LEASES = 1_000

HANDLERS = CallTable("agents.")
Leases = Annotated[list[Lease], Field(max_length=MOST_LEASES)]
_ENDED = (IllegalTransition,)


class ProgressFields(Fields, frozen=True):
    """Fields of a report of progress."""

    report_id: Id
    progress: Annotated[float, Field(ge=0, le=1)]
    message: Annotated[str, Field(max_length=10 * LONGEST_NAME)] = ""


_OF_ALL = "/agents/{name}/deliveries"
_OF_ONE = "/agents/{name}/deliveries/{seq}/{fence}"


@HANDLERS("POST /agents", REGISTER_AGENT, "register_agents", raises=_ENDED)
async def register_agents(
    call: Call, agents: Annotated[list[Newcomer], Field(min_length=1, max_length=100)]
) -> RegistrationResult:
    """Register remote agents, for the caller's tenant: all of them, or none. A restart registers them again."""
    await register(call.surroundings.services, _caller(call), agents)
    return RegistrationResult(agents=[one.name for one in agents], tenant_id=_caller(call).person.tenant_id)


@HANDLERS("POST /agents/{name}/confirm", REGISTER_AGENT, "confirm_agent", raises=_ENDED)
async def confirm_agent(call: Call, name: Name) -> None:
    """Confirm that an agent lives. After five minutes of silence it is gone."""
    await _lending(call, name).confirm()


@HANDLERS("POST /agents/{name}/leave", REGISTER_AGENT, "leave", raises=_ENDED)
async def leave(call: Call, name: Name) -> None:
    """Note the end of an agent. Its deliveries are kept until it registers again."""
    await _lending(call, name).leave()


@HANDLERS(f"GET {_OF_ALL}", REGISTER_AGENT, "await_deliveries", key="has_come", raises=_ENDED)
async def await_deliveries(call: Call, name: Name, wait: Patience = 0) -> bool:
    """Wait until something has come for an agent, which is leased by another call."""
    try:
        return await call.surroundings.wait_for(_lending(call, name).has_come(wait), wait)
    except DeadlineExceeded:
        return False


@HANDLERS(f"POST {_OF_ALL}/lease", REGISTER_AGENT, "lease_deliveries", raises=_ENDED)
async def lease_deliveries(
    call: Call,
    name: Name,
    limit: Annotated[int, Field(ge=1, le=MOST_LEASES)] = 1,
    held: Annotated[Sequence[RowId], Field(max_length=MOST_LEASES)] = (),
    process: Id | None = None,
    last: RowId | None = None,
) -> LeasedDeliveries:
    """Lease an agent's deliveries, one for each plan, task or request, for thirty seconds.

    `limit` is the room for deliveries, `held` the rows in hand. A `process` with a name, and with the `last` loan it
    received, gets lost deliveries again, without an attempt.
    """
    lending, number = _lending(call, name), None
    if process is None:
        taken = await lending.lend(limit, held)
    else:
        taken, number = await lending.lend_to(process, last, limit, held)
    return LeasedDeliveries(deliveries=[_tell_delivery(one) for one in taken], loan=number)


@HANDLERS(f"POST {_OF_ALL}/renew", REGISTER_AGENT, "renew_leases", key="leases", raises=_ENDED)
async def renew_leases(call: Call, name: Name, leases: Leases) -> list[Lease]:
    """Prolong leases. One missing in the answer is lost: its work cannot be committed."""
    return await _lending(call, name).renew(leases)


@HANDLERS(f"POST {_OF_ALL}/release", REGISTER_AGENT, "release_leases", raises=_ENDED)
async def release_leases(call: Call, name: Name, leases: Leases) -> None:
    """Give back unhandled deliveries, without an attempt."""
    await _lending(call, name).release(leases)


@HANDLERS(f"POST {_OF_ONE}/begin", REGISTER_AGENT, "begin_delivery", raises=_ENDED)
async def begin_delivery(call: Call, name: Name, seq: RowId, fence: RowId) -> None:
    """Say, before it runs, that a handler begins that must not run twice."""
    await _lending(call, name).begin(Lease(seq=seq, fence=fence))


@HANDLERS(f"POST {_OF_ONE}/progress", REGISTER_AGENT, "report_progress", raises=_ENDED)
async def report_progress(call: Call, name: Name, seq: RowId, fence: RowId, report: ProgressFields) -> None:
    """Tell how far the task in hand is: the share that is done. `report_id` makes a repetition the same report."""
    await _lending(call, name).report(Lease(seq=seq, fence=fence), report.report_id, report.progress, report.message)


@HANDLERS(f"POST {_OF_ONE}/read", REGISTER_AGENT, "read_for_delivery", key="value", raises=_ENDED)
async def read_for_delivery(call: Call, name: Name, seq: RowId, fence: RowId, read: Read) -> Json:
    """Read data for a handler: of the user or the tree of plans of its delivery."""
    delivery = await _lending(call, name).delivery(Lease(seq=seq, fence=fence))
    readings = await readings_for(call.surroundings.services, delivery)
    return _write(read.what, await readings.read(read))


@HANDLERS(f"POST {_OF_ONE}/commit", REGISTER_AGENT, "commit_delivery", raises=_ENDED)
async def commit_delivery(
    call: Call,
    name: Name,
    seq: RowId,
    fence: RowId,
    acts: Annotated[list[Act], Field(max_length=MOST_ACTS)],
    ending: Ending,
) -> None:
    """Commit the outcome of a delivery, its acts in their order and its end, under its lease: all of it, or nothing.
    Repeated, it is the same call."""
    await _lending(call, name).commit(Lease(seq=seq, fence=fence), acts, ending)


def _caller(call: Call) -> Caller:
    return call.client.caller or Caller(call.client.person)


def _lending(call: Call, name: str) -> AgentLeases:
    return AgentLeases(call.surroundings.services, _caller(call), name)


def _tell_delivery(one: Delivery) -> Lent:
    return Lent(one.seq, one.fence, one.owner, one.event, one.attempt, one.started, one.redriven)


def _write(what: Reading, value: object) -> Json:
    found: Json = _adapter(what).dump_python(value, mode="json", by_alias=True)
    return found


@cache
def _adapter(what: Reading) -> TypeAdapter[Any]:
    kind: Any = ANSWERS[what]
    return TypeAdapter(kind)


OPERATIONS = operations(HANDLERS, "remote")
