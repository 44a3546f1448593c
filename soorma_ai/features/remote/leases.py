"""Deliveries lent to remote agents, by their token and the stored rows, and nothing else.

A handling comes back as acts. They are made into effects here, checked as those of any handling, and committed under
its lease and fence.
"""

import hashlib
import json
from collections.abc import Sequence
from secrets import randbelow

from msgspec.structs import replace

from soorma_ai.errors import ConfigError, Forbidden, LeaseLost, LocalProtocolError, NotFound
from soorma_ai.features.remote.admit import DeliveryFacts, admit, disposition_of
from soorma_ai.features.remote.ports import LEASES, MOST_LOANS, Borrower
from soorma_ai.features.remote.records import (
    MOST_LENT,
    AnyAct,
    AnyEnding,
    Asking,
    Declaring,
    Delegating,
    EndingTask,
    Lease,
    PutOff,
    Remembering,
)
from soorma_ai.kernel.domain.effects import InDoubt
from soorma_ai.kernel.domain.events import EventTopic, completion_of
from soorma_ai.kernel.domain.identity import Caller
from soorma_ai.kernel.domain.names import agent_key, plain_name
from soorma_ai.kernel.domain.registry import AgentKind, Registration
from soorma_ai.kernel.domain.tasks import TaskRecord
from soorma_ai.kernel.domain.values import JsonObject, derived_id
from soorma_ai.kernel.ports import AgentRow, Delivery
from soorma_ai.kernel.rules.arrival.registration import with_made
from soorma_ai.kernel.rules.authority import agent_fault, registration_fault
from soorma_ai.kernel.rules.task import producers_of, progress_of, task_of
from soorma_ai.kernel.runtime.handling.charges import Charges
from soorma_ai.kernel.runtime.handling.doubts import ask_people
from soorma_ai.kernel.runtime.handling.execute import execute, validate
from soorma_ai.kernel.runtime.handling.handler_task import LEASE
from soorma_ai.kernel.runtime.handling.handling import Handling, Services
from soorma_ai.kernel.runtime.handling.process.signals import deliveries_of, until
from soorma_ai.kernel.runtime.views.audit import changing

SHORTEST_REST = 0.01


async def register(services: Services, caller: Caller, given: Sequence[Registration]) -> None:
    """Register remote agents, all of them or none, for the caller's tenant. Raise Forbidden for missing rights of their
    token, and ConfigError."""
    async with changing(services, caller, "agents.register", ", ".join(one.name for one in given)) as change:
        tenant_id, registry = caller.person.tenant_id, change.store.registry
        known = await registry.all_events(tenant_id)
        wanted = [one if one.tenant_id else replace(one, tenant_id=tenant_id) for one in given]
        for one in wanted:
            _must_be_elsewhere(services, one.agent)
            if fault := registration_fault(caller, one, known):
                raise Forbidden(fault)
        await registry.register(wanted, services.clock.now())
    services.signals.wake_agents(frozenset(one.agent for one in wanted))


class AgentLeases:
    """Deliveries of one agent. Every call raises Forbidden for another agent's token, and NotFound for an agent not
    registered in the caller's tenant."""

    def __init__(self, services: Services, caller: Caller, agent: str) -> None:
        self._services = services
        self._queue = services.store.queue
        self._leases = services.store.part(LEASES)
        self._caller = caller
        self._agent = agent_key(caller.person.tenant_id, agent)
        self._name = plain_name(agent)

    async def confirm(self) -> None:
        """Note that it lives."""
        await self._row()
        await self._services.store.registry.heartbeat([self._agent], self._services.clock.now())

    async def leave(self) -> None:
        """Note its end. Its deliveries are kept."""
        await self._row()
        async with changing(self._services, self._caller, "agents.leave", self._name) as change:
            await change.store.registry.leave([self._agent])

    async def has_come(self, seconds: float) -> bool:
        """Wait until something may be leased, for as long as so many seconds."""
        await self._row()
        signals, clock = self._services.signals, self._services.clock
        end = clock.monotonic() + seconds
        signals.agent(self._agent)  # from now on it is woken when all agents are
        with signals.notice_of(deliveries_of(self._agent)) as notice:
            while True:
                now = clock.now()
                if await self._leases.has_work(self._agent, now):
                    return True
                left = end - clock.monotonic()
                if left <= 0:
                    return False
                due = await self._queue.next_due([self._agent], now)
                rest = left if due is None else max((due - now).total_seconds(), SHORTEST_REST)
                await until(notice, clock, min(left, rest))

    async def lend(self, limit: int, held: Sequence[int]) -> list[Delivery]:
        """Lend deliveries, none of those already held. The ends of this process are none of theirs, so a poison
        candidate is lent too, by itself."""
        await self._row()
        return await self._leases.lend(self._agent, self._services.clock.now(), LEASE, min(limit, MOST_LENT), held)

    async def lend_to(
        self, process: str, last: int | None, limit: int, held: Sequence[int]
    ) -> tuple[list[Delivery], int]:
        """Lend to a process with the number of its last received loan, and return the number of this one. Deliveries
        lent to it since are taken back, without an attempt."""
        await self._row()
        borrower = Borrower(process, 1 + randbelow(MOST_LOANS), last)
        now, most = self._services.clock.now(), min(limit, MOST_LENT)
        return await self._leases.lend(self._agent, now, LEASE, most, held, borrower), borrower.loan

    async def renew(self, leases: Sequence[Lease]) -> list[Lease]:
        """Prolong leases; return those still valid."""
        await self._row()
        await self._services.store.registry.heartbeat([self._agent], self._services.clock.now())
        found = [one for lease in leases if (one := await self._find_leased(lease))]
        kept = await self._queue.renew(found, self._services.clock.now() + LEASE)
        return [Lease(seq=one.seq, fence=one.fence) for one in kept]

    async def release(self, leases: Sequence[Lease]) -> None:
        """Take back unhandled deliveries, without an attempt."""
        await self._row()
        await self._queue.release([one for lease in leases if (one := await self._find_leased(lease))])

    async def begin(self, lease: Lease) -> None:
        """Write down that a handler begins that must not run twice. Raise LeaseLost."""
        await self._row()
        await self._queue.begin(await self._delivery(lease))

    async def report(self, lease: Lease, report_id: str, share: float, message: str) -> None:
        """Tell how far the task in hand is. Told again under the same id, it is the same. Raise LeaseLost."""
        row = await self._row()
        delivery = await self._delivery(lease)
        task = await self._task(row, delivery)
        if task is None:
            raise LocalProtocolError(f"{self._name} has no task in hand by this delivery to report of")
        now, event_id = self._services.clock.now(), derived_id("report", self._agent, delivery.event.id, report_id)
        event = progress_of(task, event_id, delivery.event.id, (share, message), now)
        await self._queue.send([event], None, now, delivery=delivery)

    async def delivery(self, lease: Lease) -> Delivery:
        """Return the lent delivery. Raise LeaseLost."""
        await self._row()
        return await self._delivery(lease)

    async def commit(self, lease: Lease, acts: Sequence[AnyAct], ending: AnyEnding) -> None:
        """Commit the outcome of a delivery. Repeated after a lost answer, it is the same and changes nothing. Raise
        LeaseLost, also for other acts under an ended lease, VersionConflict, and LocalProtocolError for acts forbidden
        to this delivery or its agent."""
        row, said = await self._row(), _digest(acts, ending)
        try:
            handling = await self._handling(row, await self._delivery(lease), acts, ending)
            await validate(handling)
            await execute(handling, disposition_of(ending), said)
        except LeaseLost as lost:
            known = await self._leases.outcome(self._agent, lease.seq, lease.fence)
            if known is None:
                raise
            if known != said:
                raise LeaseLost(
                    f"delivery {lease.seq} was committed by fence {lease.fence} with other acts: those count, and "
                    "nothing of these happened; lease what has come since"
                ) from lost

    async def _handling(self, row: AgentRow, delivery: Delivery, acts: Sequence[AnyAct], ending: AnyEnding) -> Handling:
        """Return the handling of these acts, as it would be if they had been done here."""
        if acts and isinstance(ending, PutOff):
            raise LocalProtocolError("a delivery that is to be handled again has done nothing; leave its acts out")
        handling = Handling(delivery, self._services, Charges())
        handling.task = await self._task(row, delivery)
        handling.record(*admit(acts, await self._delivery_facts(row, handling, acts)))
        disposition = disposition_of(ending)
        if isinstance(disposition, InDoubt):
            if not handling.is_in_doubt:
                raise LocalProtocolError("nothing has begun here that must not run twice, so nothing is in doubt")
            await ask_people(handling, disposition.reason)
        handling.close()
        return handling

    async def _delivery_facts(self, row: AgentRow, handling: Handling, acts: Sequence[AnyAct]) -> DeliveryFacts:
        store, delivery, rights = self._services.store, handling.delivery, self._caller.agent
        known = await store.registry.all_events(self._caller.person.tenant_id)
        declared = (act.definition for act in acts if isinstance(act, Declaring))
        for changed in filter(None, (with_made(row.registration, one) for one in declared)):
            if fault := registration_fault(self._caller, changed, known):
                raise LocalProtocolError(fault)
        asked = {act.type for act in acts if isinstance(act, Delegating)}
        questions = {str(act.about.get("response_event")) for act in acts if isinstance(act, Asking)}
        is_ending = handling.task is not None and any(isinstance(act, EndingTask) for act in acts)
        return DeliveryFacts(
            agent=self._agent,
            cause=delivery.event,
            now=self._services.clock.now(),
            redriven=delivery.redriven,
            task=handling.task,
            waiting=await store.plans.task_expectations(self._agent, delivery.owner) if is_ending else (),
            makes=rights.makes if rights else None,
            plans=await self._plans_of_the_tree(handling, acts),
            requests={name: found for name in asked if (found := await handling.request_type(name))},
            producers={name: producers_of(name, known) for name in questions},
        )

    async def _plans_of_the_tree(self, handling: Handling, acts: Sequence[AnyAct]) -> list[str]:
        """Return those of the named plans that belong to the tree that the delivery is for."""
        root, tenant_id = handling.working_lineage.root_plan_id, self._caller.person.tenant_id
        named = {act.plan_id for act in acts if isinstance(act, Remembering)} if root else set[str]()
        found = [await self._services.store.plans.plan(plan_id) for plan_id in sorted(named)]
        return [one.plan_id for one in found if one and (one.lineage.tenant_id, one.root_plan_id) == (tenant_id, root)]

    async def _task(self, row: AgentRow, delivery: Delivery) -> TaskRecord | None:
        """Return the present task: the stored one, or that of a new request."""
        if row.registration.kind is not AgentKind.WORKER:
            return None
        event = delivery.event
        stored = await self._services.store.plans.task(self._agent, delivery.owner)
        if stored is not None or delivery.owner != event.id or event.topic is not EventTopic.ACTION_REQUESTS:
            return stored
        return task_of(event, self._agent, completion_of(event.type), self._services.clock.now())

    async def _delivery(self, lease: Lease) -> Delivery:
        delivery = await self._find_leased(lease)
        if delivery is None:
            raise LeaseLost(
                f"{self._name} holds delivery {lease.seq} by fence {lease.fence} no more: its lease ran out and "
                "another claim took it, or it is done"
            )
        return delivery

    async def _find_leased(self, lease: Lease) -> Delivery | None:
        found = await self._leases.find_leased(lease.seq, lease.fence)
        wanted = self._agent, self._caller.person.tenant_id
        return found if found and (found.agent, found.event.tenant_id) == wanted else None

    async def _row(self) -> AgentRow:
        """Return the agent as it is registered."""
        if fault := agent_fault(self._caller, self._name):
            raise Forbidden(fault)
        _must_be_elsewhere(self._services, self._agent)
        row = await self._services.store.registry.agent(self._agent, self._services.clock.now())
        if row is None or row.tenant_id != self._caller.person.tenant_id:
            raise NotFound(f"{self._name} is not registered here: register it first")
        if row.registration.kind is AgentKind.PLANNER:
            raise ConfigError(f"{self._name} is a planner: planners run beside the store, in its process")
        return row


def _digest(acts: Sequence[AnyAct], ending: AnyEnding) -> str:
    said = {"acts": [_dump(act) for act in acts], "ending": _dump(ending)}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _dump(said: AnyAct | AnyEnding) -> JsonObject:
    return said.model_dump(mode="json", by_alias=True)


def _must_be_elsewhere(services: Services, agent: str) -> None:
    if agent in services.presence.names:
        raise Forbidden(f"{plain_name(agent)} runs in the process of the store: give an agent elsewhere another name")
