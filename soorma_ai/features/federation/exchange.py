"""Intake from other stores: requests, replies and receipts."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct, field

from soorma_ai.errors import LeaseLost, LocalProtocolError, ProtocolError
from soorma_ai.features.federation.mailbox import id_here, is_refusal, record_refusal, take_reply, take_request
from soorma_ai.features.federation.neighbourhood import Neighbourhood
from soorma_ai.features.federation.ports import MAIL
from soorma_ai.features.federation.receipts import NOT_TAKEN, is_receipt, read_receipt
from soorma_ai.kernel.domain.effects import Ack, DeadLetter, Publish, Unschedule
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.stores import Confirmation, Home, mailbox_of
from soorma_ai.kernel.domain.values import clip
from soorma_ai.kernel.ports import Brought, Delivery, Work
from soorma_ai.kernel.rules.arrival.silence import timer_of_silence
from soorma_ai.kernel.rules.waits.replies import refuse
from soorma_ai.kernel.runtime.handling.handler_task import LEASE
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.handling.logs import warn
from soorma_ai.kernel.runtime.loops.relay import arrive

_REFUSED_BEFORE = "it was refused before"


class _ConfirmedEvents(Struct, frozen=True):
    """Confirmed events, by store and tenant, each with the reason for a refusal, if there is one."""

    told: defaultdict[tuple[str, str], dict[str, str | None]] = field(
        default_factory=lambda: defaultdict[tuple[str, str], dict[str, str | None]](dict)
    )

    def add(self, store: str, tenant_id: str, event_id: str, refused: str | None = None) -> None:
        self.told[store, tenant_id][event_id] = refused


async def take_copies(services: Services, others: Neighbourhood, brought: Sequence[Brought]) -> None:
    """Take in events of other stores. A receipt for each is owed as soon as its outcome is stored."""
    confirmed: list[Confirmation] = []
    replies: list[EventEnvelope] = []
    ended = _ConfirmedEvents()
    for one in brought:
        copy, sender, refused = one.event, one.sender or "", None
        if others.hear(sender, services.clock.now()):
            services.signals.mail.set()
        try:
            if is_receipt(copy):
                _read(copy, sender, ended)
            elif copy.answers is None:
                refused = await _take_request(services, copy, sender)
            else:
                replies += await _take_reply(services, copy, sender)
                # A reply shows that the request was taken.
                ended.add(sender, copy.tenant_id, copy.answers)
        except ProtocolError as error:
            refused = str(error)
        if refused is not None:
            warn("event_refused", sender=sender, event_type=clip(copy.type, 80), reason=clip(refused, 300))
        if not is_receipt(copy):
            confirmed.append(Confirmation(sender, copy.tenant_id, copy.id, refused))
    if replies:
        await arrive(services, replies)
    for one in confirmed:
        others.owe(one)
    for of_tenant, told in ended.told.items():
        await _end(services, others, of_tenant, told)


async def homes_of(services: Services, deliveries: Sequence[Delivery]) -> dict[str | None, Home]:
    """Return, by their reply keys, the requests of other stores that some of these deliveries answer."""
    keys = [one.event.correlation_id for one in deliveries if one.event.correlation_id is not None]
    found = await services.store.plans.expectations_by_id(keys) if keys else ()
    return {one.id: one.home for one in found if one.home is not None}


async def _take_request(services: Services, copy: EventEnvelope, sender: str) -> str | None:
    """Take a request; return why it is not taken, now or when it came first, which is stored."""
    queue, now = services.store.queue, services.clock.now()
    try:
        effects, fault = take_request(copy, sender, now), None
    except ProtocolError as error:
        effects, fault = record_refusal(copy, sender, now), str(error)
    if await queue.send_once(effects, now):
        return fault
    recorded = await services.store.plans.expectation(id_here(copy, sender))
    return (fault or _REFUSED_BEFORE) if recorded is not None and is_refusal(recorded) else None


async def _take_reply(services: Services, copy: EventEnvelope, sender: str) -> Iterable[EventEnvelope]:
    """Return the reply in the form of this store; nothing for a forgotten request. Raise RemoteProtocolError."""
    store, now = services.store, services.clock.now()
    source = await store.registry.agent(copy.source, now)
    lives_in = source.registration.store if source else None
    reply = take_reply(copy, sender, lives_in, await store.events.event(copy.answers or ""))
    return () if reply is None else (reply,)


def _read(receipt: EventEnvelope, sender: str, ended: _ConfirmedEvents) -> None:
    said = read_receipt(receipt)
    for event_id in said.taken:
        ended.add(sender, receipt.tenant_id, event_id)
    for event_id, reason in said.refused.items():
        ended.add(sender, receipt.tenant_id, event_id, reason)


async def _end(
    services: Services, others: Neighbourhood, of_tenant: tuple[str, str], told: Mapping[str, str | None]
) -> None:
    """End the deliveries that a store has told of, in its own mailbox alone. `of_tenant`: the store and the tenant."""
    store, tenant_id = of_tenant
    queue, now = services.store.queue, services.clock.now()
    found = await services.store.part(MAIL).claim_named(mailbox_of(store), tenant_id, list(told), now, LEASE)
    others.note_receipt(store, len(found))
    going_home = await homes_of(services, found)
    for one in found:
        work = _ending(one, store, told[one.event.id], is_reply=one.event.correlation_id in going_home, now=now)
        try:
            await queue.commit(work, now)
        except LeaseLost:
            continue  # told by another process at the same time
        except LocalProtocolError:
            # The asker was told before in other words, which stand.
            await queue.commit(Work(one, Ack(), work.effects[:1]), now)
    if found:
        services.signals.mail.set()


def _ending(delivery: Delivery, store: str, refused: str | None, *, is_reply: bool, now: datetime) -> Work:
    event = delivery.event
    quiet = Unschedule(timer_of_silence(store, event.id))
    if refused is None:
        return Work(delivery, Ack(), (quiet,))
    reason = f"store {store} did not take it: {refused}"
    if is_reply:
        return Work(delivery, DeadLetter(f"{NOT_TAKEN}: {reason}"), (quiet,))
    return Work(delivery, Ack(), (quiet, Publish(refuse(event, NOT_TAKEN, reason, now))))
