"""Queue of a remote agent: deliveries are leased, and their outcome is committed, over HTTP.

Other uses of a queue (arriving, timers, sweeping) are in the process of the store.
"""

import json
from asyncio import Event
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import cast

from pydantic import TypeAdapter, ValidationError

from soorma_ai.errors import LocalProtocolError
from soorma_ai.features.remote.elsewhere.calls import RemoteCalls, delivery_in_hand, place_of
from soorma_ai.features.remote.protocol import acts_of, ending_of
from soorma_ai.features.remote.records import Act, AnyEnding, Lent, Reading
from soorma_ai.kernel.domain.effects import Effect, Schedule
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Arrival, Expectation
from soorma_ai.kernel.domain.memory import OpenSession
from soorma_ai.kernel.domain.names import agent_key
from soorma_ai.kernel.domain.plans import Rest
from soorma_ai.kernel.domain.registry import Backlog
from soorma_ai.kernel.domain.states import PROGRESS
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.ports import Delivery, StoredEvent, Swept, Work
from soorma_ai.kernel.runtime.handling.working_copies.recorded import must_be_committed

_ACTS = TypeAdapter(list[Act])


class RemoteQueue:
    """Queue over HTTP. `process` is an id of this one. `idle` tells by agent whether it has leased all its deliveries,
    `lent` holds the agents with a loan."""

    def __init__(self, door: RemoteCalls, process: str) -> None:
        self._door = door
        self._process = process
        self._last: dict[str, int | None] = {}
        self.idle: defaultdict[str, Event] = defaultdict(Event)
        self.lent: set[str] = set()

    async def claim(
        self, agent: str, now: datetime, lease: timedelta, limit: int, held: Sequence[int] = ()
    ) -> list[Delivery]:
        body: JsonObject = {"limit": limit, "held": [*held], "process": self._process, "last": self._last.get(agent)}
        loan = await self._door.lease(agent, body)
        self._last[agent] = loan.loan
        if loan.deliveries:
            self.lent.add(agent)
        else:
            self.idle[agent].set()
        return [_delivery(agent_key(self._door.tenant_id, agent), one) for one in loan.deliveries]

    async def claim_poison_candidate(
        self, agents: Sequence[str], now: datetime, lease: timedelta, held: Sequence[int] = ()
    ) -> Delivery | None:
        """A suspect of the server's is leased as all others are."""
        return None

    async def behind(self, delivery: Delivery, limit: int) -> list[Delivery]:
        return []

    async def begin(self, delivery: Delivery) -> None:
        await self._door.tell(delivery.agent, *place_of(delivery), "begin")

    async def release(self, deliveries: Sequence[Delivery]) -> None:
        for agent, body in _by_agent(deliveries).items():
            await self._door.tell(agent, "deliveries", "release", body=body)

    async def renew(self, deliveries: Sequence[Delivery], until: datetime) -> list[Delivery]:
        kept: set[tuple[int, int]] = set()
        for agent, body in _by_agent(deliveries).items():
            kept |= {(one.seq, one.fence) for one in await self._door.renew(agent, body)}
        return [one for one in deliveries if (one.seq, one.fence) in kept]

    async def commit(self, work: Work, now: datetime) -> Arrival:
        delivery = work.delivery
        try:
            acts = acts_of(work.effects, delivery.event, delivery.agent, delivery.redriven)
            ending = ending_of(work.disposition)
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            place = "/".join(map(str, fault["loc"][:3]))
            raise LocalProtocolError(f"what {delivery.agent} did cannot be told: {place}: {fault['msg']}") from error
        body = JsonObject(acts=_ACTS.dump_python(acts, mode="json", by_alias=True), ending=_dump(ending))
        must_be_committed(len(json.dumps(body, separators=(",", ":"))))
        await self._door.tell(delivery.agent, *place_of(delivery), "commit", body=body)
        return Arrival()

    async def send(
        self,
        events: Sequence[EventEnvelope],
        expect: Expectation | None,
        now: datetime,
        *,
        session: OpenSession | None = None,
        delivery: Delivery | None = None,
        keys: Sequence[str] = (),
    ) -> Arrival:
        """Tell how far a task is, which is all that a handler sends at once."""
        delivery = delivery or delivery_in_hand()
        for event in events:
            if event.type != PROGRESS:
                raise LocalProtocolError(f"{event.type!r} is published by the context of a handler only")
            told = {name: event.data[name] for name in ("progress", "message")}
            body: JsonObject = {"report_id": event.id, **told}
            await self._door.tell(delivery.agent, *place_of(delivery), "progress", body=body)
        return Arrival()

    async def count_pending(self, agent: str, owner: str) -> int:
        return cast("int", await self._door.read(Reading.PENDING))

    async def count_mail(self) -> dict[str, int]:
        return {}

    async def arrive(self, events: Sequence[EventEnvelope], now: datetime) -> Arrival:
        return Arrival()

    async def offer_untaken(self, after: int, limit: int, now: datetime) -> tuple[int | None, Arrival]:
        return None, Arrival()

    async def unsent(self, limit: int) -> list[StoredEvent]:
        return []

    async def mark_sent(self, seqs: Sequence[int], now: datetime) -> None: ...

    async def set_aside(self, event: EventEnvelope, reason: str, now: datetime) -> None:
        raise _beside_the_store("an event is set aside")

    async def fire(self, now: datetime, limit: int) -> int:
        return 0

    async def backlog(self, at_most: int) -> int:
        return 0

    async def backlogs(self, tenant_id: str, at_most: int) -> list[Backlog]:
        return []

    async def sweep(self, now: datetime) -> Swept:
        return Swept()

    async def next_due(self, agents: Sequence[str], after: datetime) -> datetime | None:
        return None

    async def find_rest(self, agent: str, owner: str, now: datetime) -> Rest | None:
        return None

    async def keep_timers(self, beginning: str, timers: Sequence[Schedule]) -> None:
        raise _beside_the_store("a goal that comes again is kept")

    async def send_once(self, changes: Sequence[Effect], now: datetime) -> bool:
        raise _beside_the_store("a request from outside is sent")


def _beside_the_store(what: str) -> LocalProtocolError:
    return LocalProtocolError(f"{what} in the process of the store, and not by an agent elsewhere")


def _delivery(agent: str, lent: Lent) -> Delivery:
    return Delivery(lent.seq, agent, lent.owner, lent.event, lent.attempt, lent.fence, lent.started, lent.redriven)


def _dump(ending: AnyEnding) -> JsonObject:
    return ending.model_dump(mode="json")


def _by_agent(deliveries: Sequence[Delivery]) -> dict[str, JsonObject]:
    found: dict[str, list[JsonObject]] = {}
    for one in deliveries:
        found.setdefault(one.agent, []).append({"seq": one.seq, "fence": one.fence})
    return {agent: {"leases": [*leases]} for agent, leases in found.items()}
