"""Mailboxes of other stores: an event is sent, and sent again, until its store confirms it."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from store_kit import LEASE, NOW, agent, end, event, later

from soorma_ai.errors import LeaseLost
from soorma_ai.features.federation.ports import MAIL
from soorma_ai.kernel.domain.effects import Ack, RetryAfter, Unschedule
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.registry import EventDefinition, EventRole
from soorma_ai.kernel.domain.stores import REQUEST_UNKNOWN, mailbox_of
from soorma_ai.kernel.ports import Store, Work
from soorma_ai.kernel.rules.arrival.silence import timer_of_silence

PAYS = ((EventRole.TAKES, EventDefinition(event_name="pay")),)


async def put_mail(store: Store, *event_ids: str) -> str:
    """Put requests into the mailbox of another store; return its name."""
    far = replace(agent("far", "pay", events=PAYS), store="there")
    await store.registry.register([far], NOW)
    await store.queue.arrive([event(one, "pay", EventTopic.ACTION_REQUESTS) for one in event_ids], NOW)
    return mailbox_of("there")


async def test_mail_sent_before_is_claimed_apart_from_fresh_mail(store: Store) -> None:
    box = await put_mail(store, "e-1", "e-2", "e-3")
    (first,) = await store.part(MAIL).claim_mail(box, NOW, LEASE, 1, 5)
    await end(store, first, RetryAfter(timedelta(seconds=2), "unconfirmed"))
    fresh = await store.part(MAIL).claim_mail(box, later(5), LEASE, 9, 0)
    assert [(one.event.id, one.attempt) for one in fresh] == [("e-2", 1), ("e-3", 1)]
    assert await store.part(MAIL).claim_mail(box, later(1), LEASE, 9, 9) == []
    again = await store.part(MAIL).claim_mail(box, later(5), LEASE, 9, 9)
    assert [(one.event.id, one.attempt) for one in again] == [("e-1", 2)]


async def test_mail_for_other_stores_is_counted_by_mailbox(store: Store) -> None:
    assert await store.queue.count_mail() == {}
    box = await put_mail(store, "e-1", "e-2", "e-3")
    (first,) = await store.part(MAIL).claim_mail(box, NOW, LEASE, 1, 5)
    assert await store.queue.count_mail() == {box: 3}
    await end(store, first, Ack())
    assert await store.queue.count_mail() == {box: 2}


async def test_a_delivery_is_claimed_by_the_id_of_its_event_from_any_holder(store: Store) -> None:
    box = await put_mail(store, "e-1", "e-2")
    (held,) = await store.part(MAIL).claim_mail(box, NOW, LEASE, 1, 0)
    assert await store.part(MAIL).claim_named(mailbox_of("another"), "default", ["e-1"], NOW, LEASE) == []
    assert await store.part(MAIL).claim_named(box, "acme", ["e-1"], NOW, LEASE) == []
    named = await store.part(MAIL).claim_named(box, "default", ["e-1", "e-2", "e-9"], NOW, LEASE)
    assert sorted(one.event.id for one in named) == ["e-1", "e-2"]
    with pytest.raises(LeaseLost):
        await end(store, held, Ack())
    for one in named:
        await end(store, one, Ack())
    assert await store.part(MAIL).mailboxes() == []
    assert await store.part(MAIL).claim_named(box, "default", ["e-1", "e-2"], NOW, LEASE) == []


async def test_the_notice_of_silence_comes_once_and_not_for_confirmed_mail(store: Store) -> None:
    box = await put_mail(store, "e-1", "e-2")
    (first, _) = await store.part(MAIL).claim_mail(box, NOW, LEASE, 9, 0)
    quiet = Unschedule(timer_of_silence("there", first.event.id))
    await store.queue.commit(Work(first, Ack(), (quiet,)), NOW)
    await store.queue.arrive([first.event], NOW)
    assert await store.queue.fire(later(299), 9) == 0
    assert await store.queue.fire(later(300), 9) == 1
    assert await store.queue.fire(later(900), 9) == 0
    told = [one.event for one in await store.events.events(limit=9) if one.event.type == REQUEST_UNKNOWN]
    assert [one.data["request_id"] for one in told] == ["e-2"]
