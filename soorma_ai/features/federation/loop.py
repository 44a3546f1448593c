"""Work with other stores on the same bus: its own agents are announced, theirs are registered, and events in a mailbox
are sent until the receipt comes."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct

from soorma_ai.errors import BusUnavailable, ConfigError, LeaseLost, LimitExceeded, LocalProtocolError, TransientError
from soorma_ai.features.federation.announcements import KnownAgent, announce, hear
from soorma_ai.features.federation.exchange import homes_of
from soorma_ai.features.federation.mailbox import copy_of_reply, copy_of_request, hops_fault, refusal_of_copy
from soorma_ai.features.federation.neighbourhood import Neighbourhood
from soorma_ai.features.federation.ports import MAIL
from soorma_ai.features.federation.receipts import UNCONFIRMED, is_over, pause_before_next, write_receipts
from soorma_ai.kernel.domain.dead_letters import CANNOT_ARRIVE, cannot_arrive
from soorma_ai.kernel.domain.effects import Ack, DeadLetter, Disposition, Effect, Publish, RetryAfter
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.stores import AnnouncedAgent, Announcement, store_of_mailbox
from soorma_ai.kernel.ports import Delivery, Neighbours, StoredEvent, Work
from soorma_ai.kernel.rules.waits.replies import refuse
from soorma_ai.kernel.runtime.handling.handler_task import LEASE
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.handling.logs import warn
from soorma_ai.kernel.runtime.handling.process.signals import HEARTBEAT, until
from soorma_ai.kernel.runtime.loops.relay import offer_untaken

BATCH = 64
PAUSE_AFTER_FAULT = 0.5
# However often others ask who lives here.
ANNOUNCED_AGAIN_AFTER = 1.0
# Seconds between two looks at the mailboxes.
SHORTEST_REST, LONGEST_REST = 0.25, 10.0


async def keep_announcing(services: Services, others: Neighbourhood, neighbours: Neighbours) -> None:
    """Announce the live agents: at once, with a request for the same, at every heart-beat, at a change, and at a
    request."""
    await neighbours.listen(lambda said: hear_announcement(services, others, neighbours.store_id, said))
    asks = True
    while True:
        try:
            await _announce(services, neighbours, asks=asks)
            asks = False
        except TransientError:
            # The bus and the store have told the log themselves; who lives is said again soon.
            await services.clock.sleep(PAUSE_AFTER_FAULT)
            continue
        await services.clock.sleep(ANNOUNCED_AGAIN_AFTER)
        await until(services.signals.registered, services.clock, HEARTBEAT.total_seconds())


async def say_goodbye(services: Services, neighbours: Neighbours) -> None:
    """Tell others which agents of this process have left."""
    with suppress(TransientError):
        names, now = set(services.presence.names), services.clock.now()
        rows = [row for row in await services.store.registry.agents(now) if row.agent in names and not row.live]
        for said in announce(neighbours.store_id, (), [row.registration for row in rows]):
            await neighbours.announce(said)


async def hear_announcement(services: Services, others: Neighbourhood, store_id: str, said: Announcement) -> None:
    """Register the agents of another store that live, as far as they may be; an own announcement comes back, too."""
    if said.store == store_id:
        return
    if others.hear(said.store, services.clock.now()):
        services.signals.mail.set()
    registry, now = services.store.registry, services.clock.now()
    known = await _registrations(services, said)
    is_known = all(one.registration.agent in known for one in said.living)
    # All agents are read for a new one alone, so that it costs little to hear what is known.
    count = 0 if is_known else sum(row.registration.store == said.store for row in await registry.agents(now))
    heard = hear(said, known, count)
    for name, reason in heard.refused:
        warn("agent_refused", agent=name, store=said.store, reason=reason)
    for one in heard.registered:
        await _register(services, one)
    for silent in {one.silent for one in heard.alive}:
        names = [one.registration.agent for one in heard.alive if one.silent == silent]
        await registry.heartbeat(names, now - silent)
    if heard.left:
        await registry.leave(heard.left)
    if heard.registered:
        await offer_untaken(services)
    if said.asks:
        services.signals.registered.set()


async def empty_mailboxes(services: Services, others: Neighbourhood, neighbours: Neighbours) -> None:
    """Send events in mailboxes, again and again, until their receipts come. A copy that comes twice is known there."""
    while True:
        sent, rest = 0, LONGEST_REST
        try:
            for mailbox in await services.store.part(MAIL).mailboxes():
                sent += await _empty(services, others, neighbours, mailbox)
                rest = min(rest, await _rest(services, mailbox))
        except TransientError:
            await services.clock.sleep(PAUSE_AFTER_FAULT)
            continue
        if not sent:
            await until(services.signals.mail, services.clock, rest)


async def send_receipts(services: Services, others: Neighbourhood, neighbours: Neighbours) -> None:
    """Send receipts. A lost one is sent when its event comes again."""
    while True:
        owed = others.take_receipts(BATCH)
        receipts = write_receipts(owed, services.clock.now(), services.clock.new_id()) if owed else []
        try:
            for store_id, said in receipts:
                await neighbours.tell(store_id, said)
        except TransientError:
            await services.clock.sleep(PAUSE_AFTER_FAULT)
        if not owed:
            await until(others.to_confirm, services.clock, None)


async def _rest(services: Services, mailbox: str) -> float:
    """Return the seconds until more of a mailbox is due."""
    now = services.clock.now()
    due = await services.store.queue.next_due([mailbox], now)
    return LONGEST_REST if due is None else max(SHORTEST_REST, (due - now).total_seconds())


async def _announce(services: Services, neighbours: Neighbours, *, asks: bool) -> None:
    now = services.clock.now()
    living = [row for row in await services.store.registry.agents(now) if row.live]
    known = [(row.registration, now - row.heartbeat_at) for row in living]
    for said in announce(neighbours.store_id, known, asks=asks):
        await neighbours.announce(said)


async def _registrations(services: Services, said: Announcement) -> dict[str, KnownAgent]:
    registry, now = services.store.registry, services.clock.now()
    names = (*(one.registration.agent for one in said.living), *said.left)
    rows = [await registry.agent(name, now) for name in dict.fromkeys(names)]
    return {row.agent: KnownAgent(row.registration, row.live) for row in rows if row is not None}


async def _register(services: Services, one: AnnouncedAgent) -> None:
    registration = one.registration
    try:
        await services.store.registry.register([registration], services.clock.now() - one.silent)
    except ConfigError as error:
        warn("agent_refused", agent=registration.agent, store=registration.store, reason=error)


class _MailboxCopy(Struct, frozen=True):
    delivery: Delivery
    copy: EventEnvelope


async def _empty(services: Services, others: Neighbourhood, neighbours: Neighbours, mailbox: str) -> int:
    """Send some of a mailbox's events; return the number of claims."""
    store_id, now, queue = store_of_mailbox(mailbox) or "", services.clock.now(), services.store.queue
    room = min(BATCH, others.room(store_id, now))
    claimed = await services.store.part(MAIL).claim_mail(mailbox, now, LEASE, BATCH, room)
    if not claimed and room and (suspect := await queue.claim_poison_candidate([mailbox], now, LEASE)) is not None:
        claimed = [suspect]
    if again := sum(one.attempt > 1 for one in claimed):
        others.note_posts(store_id, again, now)
    try:
        letters = await _copies(services, claimed)
        await _carry(services, neighbours, store_id, await _those_that_may(services, letters))
    except BaseException:
        # What was carried by then is done, and is not ours to give back.
        with suppress(TransientError):
            await asyncio.shield(queue.release(claimed))
        raise
    return len(claimed)


async def _copies(services: Services, claimed: Sequence[Delivery]) -> list[_MailboxCopy]:
    plans, homes = services.store.plans, await homes_of(services, claimed)
    letters: list[_MailboxCopy] = []
    for one in claimed:
        event = one.event
        if home := homes.get(event.correlation_id):
            letters.append(_MailboxCopy(one, copy_of_reply(event, home)))
        else:
            plan = await plans.plan(event.plan_id) if event.plan_id is not None else None
            letters.append(_MailboxCopy(one, copy_of_request(event, plan.depth if plan else None)))
    return letters


async def _those_that_may(services: Services, letters: Sequence[_MailboxCopy]) -> list[_MailboxCopy]:
    """Return letters ready to leave; a requester gets the reason against its letter. A letter past its time ends: by
    then the notice of silence was published for a request, and a reply becomes a dead letter."""
    leaving: list[_MailboxCopy] = []
    now = services.clock.now()
    for one in letters:
        is_reply = one.copy.answers is not None
        if is_over(one.delivery.event, one.delivery.attempt - 1, now, is_reply=is_reply):
            await _end(services, [one.delivery], DeadLetter(UNCONFIRMED) if is_reply else Ack())
        elif not is_reply and (fault := hops_fault(one.copy)):
            refused = LimitExceeded("max_store_hops", fault)
            await _refuse(services, one.delivery, refused.code, str(refused), Ack())
        else:
            leaving.append(one)
    return leaving


async def _carry(services: Services, neighbours: Neighbours, store_id: str, letters: Sequence[_MailboxCopy]) -> None:
    """Send letters. One that the bus can never carry holds up no other. Each post has a name of its own, since a bus
    drops a name that it knows, though it may have lost the event."""
    if not letters:
        return
    try:
        rows = [StoredEvent(one.delivery.seq, one.copy, one.delivery.attempt - 1) for one in letters]
        await neighbours.post(store_id, rows)
    except BusUnavailable as error:
        await _keep(services, [one.delivery for one in letters if one.delivery.seq in error.taken])
        raise
    except LocalProtocolError as error:
        if len(letters) > 1:
            middle = len(letters) // 2
            await _carry(services, neighbours, store_id, letters[:middle])
            await _carry(services, neighbours, store_id, letters[middle:])
        else:
            await _set_aside(services, neighbours, store_id, letters[0], error)
        return
    await _keep(services, [one.delivery for one in letters])


async def _keep(services: Services, deliveries: Sequence[Delivery]) -> None:
    """Let deliveries that were sent wait for their receipts."""
    pauses = (RetryAfter(pause_before_next(one.attempt), UNCONFIRMED) for one in deliveries)
    await asyncio.gather(*(_end(services, [one], pause) for one, pause in zip(deliveries, pauses, strict=True)))


async def _set_aside(
    services: Services, neighbours: Neighbours, store_id: str, letter: _MailboxCopy, error: LocalProtocolError
) -> None:
    """Tell the waiting one that nothing can come: here of a request, there of a reply."""
    event, reason = letter.delivery.event, cannot_arrive(error)
    warn("event_set_aside", event_type=event.type, event_id=event.id, reason=reason)
    if letter.copy.answers is None:
        await _refuse(services, letter.delivery, CANNOT_ARRIVE, reason, DeadLetter(reason))
        return
    short = refusal_of_copy(letter.copy, reason)
    if short == letter.copy:
        await _end(services, [letter.delivery], DeadLetter(reason))
    else:
        await _carry(services, neighbours, store_id, [_MailboxCopy(letter.delivery, short)])


async def _refuse(services: Services, delivery: Delivery, code: str, reason: str, disposition: Disposition) -> None:
    """End the delivery of a request, and tell its requester."""
    told = refuse(delivery.event, code, reason, services.clock.now())
    try:
        await _end(services, [delivery], disposition, (Publish(told),))
    except LocalProtocolError:
        # What was told before in other words stands.
        await _end(services, [delivery], disposition)


async def _end(
    services: Services,
    deliveries: Sequence[Delivery],
    disposition: Disposition | None = None,
    effects: tuple[Effect, ...] = (),
) -> None:
    now, how = services.clock.now(), disposition or Ack()
    ending = (services.store.queue.commit(Work(one, how, effects), now) for one in deliveries)
    for fault in await asyncio.gather(*ending, return_exceptions=True):
        # Whoever claimed it meanwhile carries it once more.
        if isinstance(fault, BaseException) and not isinstance(fault, LeaseLost):
            raise fault
