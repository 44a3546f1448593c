"""Room for events from outside: one bound for deliveries to agents, and one for each mailbox of another store."""

from soorma_ai.errors import Overloaded
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.names import agent_meant
from soorma_ai.kernel.domain.registry import TAKEN
from soorma_ai.kernel.domain.stores import mailbox_of
from soorma_ai.kernel.ports import Queue
from soorma_ai.kernel.runtime.handling.handling import Services


async def must_have_room(services: Services, event: EventEnvelope) -> None:
    """Raise Overloaded when too much waits for agents, or for the store of this request's taker. A stored event has
    room already."""
    store, most = services.store, services.max_backlog
    if await store.queue.backlog(most) < most or await store.events.event(event.id) is not None:
        return
    mail = await store.queue.count_mail()
    if await _count_waiting(store.queue, most, mail) >= most:
        raise Overloaded(
            f"{most} deliveries wait already, so {event.type!r} was not taken: try again later, "
            "start the agents that they wait for, or allow more with SOORMA_MAX_BACKLOG"
        )
    for mailbox in await _mailboxes_of(services, event):
        if mail.get(mailbox, 0) >= most:
            raise Overloaded(
                f"{most} events wait for {mailbox} already, so {event.type!r} was not taken: try again when that store "
                "is back, deregister its agents if it is gone for good, or allow more with SOORMA_MAX_BACKLOG"
            )


async def count_waiting(queue: Queue, at_most: int) -> int:
    """Return the number of open deliveries to agents, up to `at_most`."""
    return await _count_waiting(queue, at_most, await queue.count_mail())


async def _count_waiting(queue: Queue, at_most: int, mail: dict[str, int]) -> int:
    elsewhere = sum(mail.values())
    return await queue.backlog(at_most + elsewhere) - elsewhere


async def _mailboxes_of(services: Services, event: EventEnvelope) -> set[str]:
    """Return the mailboxes of the stores with agents for this request."""
    registry, now = services.store.registry, services.clock.now()
    taking = {
        one.agent
        for one in await registry.all_events(event.tenant_id)
        if one.role in TAKEN and (one.definition.topic, one.definition.event_name) == (event.topic, event.type)
    }
    if event.target is not None:
        taking = {agent_meant(event.target, event.source, taking)}
    rows = [await registry.agent(agent, now) for agent in taking if agent is not None]
    return {mailbox_of(row.registration.store) for row in rows if row is not None and row.registration.store}
