"""Every bus carries its taken events, whole, at least once, until they are acknowledged."""

from collections.abc import AsyncIterator

import pytest
from bus_kit import Broker, Receiver, rows, send
from nats_server import NatsServer
from store_kit import NOW, event, fact
from worst import TwiceBus

from soorma_ai.adapters.local_bus import LocalBus
from soorma_ai.errors import BusUnavailable, StoreUnavailable
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic
from soorma_ai.kernel.ports import Bus

WHOLE = EventEnvelope(
    id="a b\r\n1",
    source="shop",
    type="order placed.*>",
    topic=EventTopic.BUSINESS_FACTS,
    time=NOW,
    data={"text": "naïve\r\n", "more": [1.5, None, {"deep": True}]},
    subject="o-1",
    correlation_id="c",
    causation_id="d",
    response_event="e",
    response_topic=EventTopic.ACTION_RESULTS,
    tenant_id="tenant.of mine",
    user_id="ann",
    plan_id="p",
    root_plan_id="q",
    deadline=NOW,
    target="t",
    own=True,
)


@pytest.fixture(params=["local", "twice", "nats"])
async def bus(request: pytest.FixtureRequest) -> AsyncIterator[Bus]:
    if request.param == "nats":
        server: NatsServer = request.getfixturevalue("nats_server")
        made: Bus = await Broker(server, server.namespace_url()).opened()
    else:
        made = LocalBus() if request.param == "local" else TwiceBus()
    yield made
    await made.close()


async def test_a_published_event_arrives_unchanged(bus: Bus) -> None:
    receiver = Receiver()
    await bus.subscribe(receiver)
    await send(bus, WHOLE, event("2"))
    await receiver.has(WHOLE.id, "2")
    assert next(one for one in receiver.came if one.id == WHOLE.id) == WHOLE
    assert receiver.own == {WHOLE.id, "2"}


async def test_all_of_many_events_come(bus: Bus) -> None:
    receiver = Receiver()
    await bus.subscribe(receiver)
    events = [event(f"e-{number}") for number in range(600)]
    for start in range(0, 600, 200):
        await send(bus, *events[start : start + 200])
    await receiver.has(*(one.id for one in events))


async def test_an_unacknowledged_event_comes_again(bus: Bus) -> None:
    receiver = Receiver(lambda events: StoreUnavailable("away") if receiver.calls == 1 else None)
    await bus.subscribe(receiver)
    await send(bus, event("1"))
    await receiver.has("1")
    assert receiver.calls > 1


async def test_an_event_sent_again_is_the_same_event(bus: Bus) -> None:
    receiver = Receiver()
    await bus.subscribe(receiver)
    await send(bus, event("1"))
    await send(bus, event("1"), fact("2"))
    await receiver.has("1", "2")
    assert {one.id: one.type for one in receiver.came} == {"1": "work.asked", "2": "order.paid"}


async def test_a_closed_bus_takes_and_brings_nothing(bus: Bus) -> None:
    receiver = Receiver()
    await bus.subscribe(receiver)
    await send(bus, event("1"))
    await receiver.has("1")
    calls = receiver.calls
    await bus.close()
    with pytest.raises(BusUnavailable):
        await bus.publish(rows(event("2")))
    assert receiver.calls == calls
