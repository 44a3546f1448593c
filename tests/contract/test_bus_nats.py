"""The bus on NATS: it keeps taken events over the death of its server and its receivers, is shared, and is not harmed
by foreign messages."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from bus_kit import Broker, Receiver, rows, send
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.client import JetStreamContext
from nats_server import NatsServer
from store_kit import event

from soorma_ai.adapters.nats.bus import NatsBus
from soorma_ai.adapters.nats.configuration import consumer_name, stream_config
from soorma_ai.adapters.nats.subjects import subject_of
from soorma_ai.errors import BusUnavailable, ConfigError, LocalProtocolError, StoreUnavailable
from soorma_ai.kernel.runtime.handling.handler_task import ShieldedTask
from soorma_ai.settings import nats_url


@pytest.fixture
async def broker(nats_server: NatsServer) -> AsyncIterator[Broker]:
    made = Broker(nats_server, nats_server.namespace_url())
    yield made
    await made.close()


@pytest.fixture
async def raw(broker: Broker) -> AsyncIterator[Client]:
    """A foreign client."""
    client = Client()
    await client.connect(broker.server.url)
    yield client
    await client.close()


def namespace_of(broker: Broker) -> str:
    found = nats_url(broker.url)
    assert found is not None
    return found.namespace


# Receivers


async def test_buses_of_one_store_share_its_events(broker: Broker) -> None:
    first, second = await broker.opened(), await broker.opened()
    news = asyncio.Event()
    here, there = Receiver(news=news), Receiver(news=news)
    await first.subscribe(here)
    await second.subscribe(there)
    ids = [f"e-{number}" for number in range(100)]
    for one in ids:
        await send(first, event(one))
    await here.until(lambda: len(here.came) + len(there.came) >= 100)
    assert here.counted + there.counted == dict.fromkeys(ids, 1)
    assert here.came and there.came
    await first.close()
    await second.close()


async def test_a_store_gets_only_its_own_events_in_a_shared_namespace(broker: Broker) -> None:
    elsewhere = await Broker(broker.server, broker.server.namespace_url()).opened()
    one, two = await broker.opened("one"), await broker.opened("two")
    at_one, at_two, outside = Receiver(), Receiver(), Receiver()
    for bus, receiver in ((one, at_one), (two, at_two), (elsewhere, outside)):
        await bus.subscribe(receiver)
    await send(one, event("1"))
    await send(two, event("2"))
    await at_one.has("1")
    await at_two.has("2")
    assert (set(at_one.counted), set(at_two.counted), outside.came) == ({"1"}, {"2"}, [])
    for bus in (one, two, elsewhere):
        await bus.close()


async def test_the_same_id_is_another_event_of_another_tenant_and_of_another_store(broker: Broker) -> None:
    one, two = await broker.opened("one"), await broker.opened("two")
    at_one, at_two = Receiver(), Receiver()
    await one.subscribe(at_one)
    await two.subscribe(at_two)
    of_acme, of_globex = event("1", tenant="acme"), event("1", tenant="globex")
    await send(one, of_acme)
    await send(one, of_globex)
    await send(two, of_acme)
    await at_one.until(lambda: len(at_one.came) == 2)
    await at_two.has("1")
    assert [at_one.came, at_two.came] == [[of_acme, of_globex], [of_acme]]
    await one.close()
    await two.close()


async def test_no_client_keeps_an_event_away_by_using_up_its_message_id(broker: Broker, raw: Client) -> None:
    """A client of another tenant chooses its own headers, and may know the id of a coming event."""
    bus, receiver = await broker.opened(), Receiver()
    await bus.subscribe(receiver)
    own, forged = event("1", tenant="acme", data={"secret": 7}), event("1", tenant="globex")
    for name in ("1", "one.acme.1"):
        await JetStreamContext(raw).publish(
            subject_of(namespace_of(broker), "one", forged), forged.to_json().encode(), headers={"Nats-Msg-Id": name}
        )
    await send(bus, own)
    await receiver.until(lambda: own in receiver.came)
    await bus.close()


async def test_a_store_back_from_a_stop_gets_its_missed_events(broker: Broker) -> None:
    before = await broker.opened()
    await send(before, *(event(f"e-{number}") for number in range(10)))
    await before.close()
    bus, receiver = await broker.opened(), Receiver()
    await bus.subscribe(receiver)
    await receiver.has(*(f"e-{number}" for number in range(10)))
    await bus.close()


# Losses of a server and of a process


async def test_taken_events_outlive_the_death_of_the_server(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    server = NatsServer(tmp_path / "nats")
    server.start()
    bus = await Broker(server, server.namespace_url()).opened()
    receiver = Receiver(lambda events: None if may_take.is_set() else StoreUnavailable("not yet"))
    may_take = asyncio.Event()
    await bus.subscribe(receiver)
    await send(bus, *(event(f"taken-{number}") for number in range(50)))
    server.kill()
    with pytest.raises(BusUnavailable, match=r"nats://127\.0\.0\.1"):
        while True:
            await bus.publish(rows(event("unsent")))
    may_take.set()
    server.start()
    await send(bus, event("sent later"))
    await receiver.has("sent later", *(f"taken-{number}" for number in range(50)))
    told = [message.partition(" ")[0] for message in caplog.messages if message.startswith("bus_")]
    assert told.count("bus_lost") == 1, "the loss is logged once, over all tries"
    await bus.close()
    server.stop()


async def test_events_in_hand_at_the_end_of_a_process_come_to_another_at_once(broker: Broker) -> None:
    ending, asked = await broker.opened(), asyncio.Event()

    async def never_ends(events: object) -> None:
        asked.set()
        await asyncio.Event().wait()

    await ending.subscribe(never_ends)
    await send(ending, event("1"))
    async with asyncio.timeout(10):
        await asked.wait()
    await ending.close()
    living, receiver = await broker.opened(), Receiver()
    await living.subscribe(receiver)
    await receiver.has("1")
    await living.close()


@pytest.mark.parametrize("what", ["consumer", "stream"])
async def test_a_removed_stream_or_consumer_is_made_again(broker: Broker, raw: Client, what: str) -> None:
    bus, receiver = await broker.opened(), Receiver()
    await bus.subscribe(receiver)
    streams, namespace = JetStreamContext(raw), namespace_of(broker)
    if what == "stream":
        await streams.delete_stream(namespace)
    else:
        await streams.delete_consumer(namespace, consumer_name("one"))
    await send(bus, event("0"))

    async def come() -> None:
        number = 0
        while not receiver.came:
            # As the sweep does with events that have not arrived.
            await send(bus, event(f"again-{(number := number + 1)}"))
            await asyncio.sleep(0.1)

    async with asyncio.timeout(20):
        await come()
    await bus.close()


async def test_a_bus_recovers_from_cancelled_tasks_of_its_library(broker: Broker) -> None:
    before = asyncio.all_tasks()
    bus, receiver = await broker.opened(), Receiver()
    await bus.subscribe(receiver)
    await send(bus, event("1"))
    await receiver.has("1")
    for task in asyncio.all_tasks() - before:
        # As a handler may; it can end no sheltered task.
        if not isinstance(task, ShieldedTask):
            task.cancel()
    await send(bus, event("2"))
    await receiver.has("2")
    await bus.close()


async def test_a_redriven_event_comes_at_once_and_an_event_sent_twice_comes_once(broker: Broker) -> None:
    bus, receiver = await broker.opened(), Receiver()
    await bus.subscribe(receiver)
    await send(bus, event("1"))
    await receiver.has("1")
    for _ in range(2):
        await bus.publish(rows(event("1"), redriven=1))
    await receiver.until(lambda: receiver.counted["1"] == 2)
    await send(bus, event("2"))
    await receiver.has("2")
    assert receiver.counted == {"1": 2, "2": 1}
    await bus.close()


async def test_the_error_of_a_batch_taken_in_part_names_the_taken_events(broker: Broker, raw: Client) -> None:
    """A stream with a bound, as an operator may set it."""
    streams = JetStreamContext(raw)
    await streams.add_stream(stream_config(namespace_of(broker)).evolve(max_bytes=4_000))
    bus, receiver = await broker.opened(), Receiver()
    given = rows(*(event(f"e-{number}", data={"text": "x" * 400}) for number in range(20)))
    with pytest.raises(BusUnavailable, match="maximum bytes exceeded") as told:
        await bus.publish(given)
    taken = {given[place].event.id for place in told.value.taken}
    assert 0 < len(taken) < 20
    await bus.subscribe(receiver)
    await receiver.has(*taken)
    assert set(receiver.counted) == taken
    await bus.close()


# Events it can never carry


async def test_a_too_large_event_is_refused_with_the_cure(broker: Broker) -> None:
    bus = await broker.opened()
    large = event("large", data={"text": "x" * 1_100_000})
    with pytest.raises(
        LocalProtocolError, match=r"'work\.asked' has 1,100,\d+ bytes, and NATS takes 1,048,576: let it"
    ):
        await bus.publish(rows(event("1"), large))
    long = event("long", type="t" * 4_000)
    with pytest.raises(LocalProtocolError, match=r"NATS takes 3,000: give it a shorter name"):
        await bus.publish(rows(long))
    receiver = Receiver()
    await bus.subscribe(receiver)
    await send(bus, event("2"))
    await receiver.has("2")
    await bus.close()


async def test_an_event_of_the_longest_names_is_carried(broker: Broker) -> None:
    bus, receiver = await broker.opened(), Receiver()
    await bus.subscribe(receiver)
    await send(bus, event("é" * 3_000, type="t" * 2_900))
    await receiver.has("é" * 3_000)
    await bus.close()


# Foreign messages


async def test_a_message_without_an_event_or_with_a_forged_tenant_is_refused_alone(
    broker: Broker, raw: Client, caplog: pytest.LogCaptureFixture
) -> None:
    bus, receiver = await broker.opened(), Receiver()
    await bus.subscribe(receiver)
    namespace, streams = namespace_of(broker), JetStreamContext(raw)
    forged = event("forged", tenant="victim")
    await streams.publish(subject_of(namespace, "one", event("x", tenant="attacker")), forged.to_json().encode())
    await streams.publish(f"{namespace}.one.default.nonsense", b"\xff\x00 no event")
    real = event("real")
    await streams.publish(
        subject_of(namespace, "one", real),
        real.to_json().encode(),
        headers={"Status": "409", "Description": "Consumer Deleted"},
    )
    await receiver.has("real")
    await send(bus, event("after"))
    await receiver.has("after")
    assert set(receiver.counted) == {"real", "after"}
    assert receiver.own == {"after"}, "events of another client are not taken for the store's own"
    assert sum(message.startswith("event_refused") for message in caplog.messages) == 2
    await bus.close()


# Unusable servers


async def test_a_stream_of_another_configuration_is_refused(broker: Broker, raw: Client) -> None:
    namespace = namespace_of(broker)
    await JetStreamContext(raw).add_stream(stream_config(namespace).evolve(max_age=60.0))
    with pytest.raises(
        ConfigError, match=r"max_age is 60\.0, wanted is 2592000\.0; give the bus URL another namespace"
    ):
        await broker.opened()


async def test_a_foreign_stream_of_the_same_subjects_is_refused(broker: Broker, raw: Client) -> None:
    namespace = namespace_of(broker)
    await JetStreamContext(raw).add_stream(name=f"other-{namespace}", subjects=[f"{namespace}.a.>"])
    with pytest.raises(ConfigError, match="overlap"):
        await broker.opened()


async def test_an_absent_server_is_named_by_its_url_without_its_password() -> None:
    bus = NatsBus(["nats://ann:secret@127.0.0.1:9"], "soorma", "nats://***@127.0.0.1:9", "one")
    with pytest.raises(BusUnavailable, match=r"nats://\*\*\*@127\.0\.0\.1:9 does not answer.*start it") as told:
        await bus.open()
    assert "secret" not in str(told.value)


async def test_a_server_without_access_or_without_jetstream_is_refused_with_the_cure(tmp_path: Path) -> None:
    settings = tmp_path / "nats.conf"
    settings.write_text(
        "accounts { A { users: [{user: ann, password: right}] }, B { jetstream: enabled, users: [{user: bob}] } }"
    )
    server = NatsServer(tmp_path / "nats", "-c", str(settings))
    server.start()
    try:
        address = server.url.removeprefix("nats://")
        for person, told in (("ann:wrong", "refuses us"), ("ann:right", "has no JetStream for us: start nats-server")):
            bus = NatsBus([f"nats://{person}@{address}"], "soorma", f"nats://***@{address}", "one")
            with pytest.raises(ConfigError, match=told) as error:
                await bus.open()
            assert person.partition(":")[2] not in str(error.value)
    finally:
        server.stop()


async def test_a_client_of_one_tenant_can_neither_read_nor_send_events_of_another(tmp_path: Path) -> None:
    settings = tmp_path / "nats.conf"
    settings.write_text(
        """
        authorization { users: [
            {user: platform, password: p},
            {user: acme, password: a, permissions: {
                publish: "soorma.*.acme.>", subscribe: ["soorma.*.acme.>", "_INBOX.>"]
            }}
        ] }
        """
    )
    server = NatsServer(tmp_path / "nats", "-c", str(settings))
    server.start()
    address = server.url.removeprefix("nats://")
    bus, receiver = NatsBus([f"nats://platform:p@{address}"], "soorma", server.url, "one"), Receiver()
    await bus.open()
    await bus.subscribe(receiver)
    complaints: list[str] = []
    read: list[str] = []

    async def complain(error: Exception) -> None:
        complaints.append(str(error))

    async def note(message: Msg) -> None:
        read.append(message.subject)

    acme = Client()
    await acme.connect(f"nats://acme:a@{address}", error_cb=complain)
    await acme.subscribe("soorma.>", cb=note)
    await acme.subscribe("soorma.*.acme.>", cb=note)
    await acme.flush()
    others, own = event("others", tenant="globex"), event("own", tenant="acme")
    await acme.publish(subject_of("soorma", "one", others), others.to_json().encode())
    await acme.publish("$JS.API.CONSUMER.MSG.NEXT.soorma.store-one", b"1", "_INBOX.mine")
    await acme.publish(subject_of("soorma", "one", own), others.to_json().encode())
    await acme.publish(subject_of("soorma", "one", own), own.to_json().encode())
    await acme.flush()
    await send(bus, event("secret", tenant="globex"))
    await receiver.has("own", "secret")
    await acme.flush()
    assert set(receiver.counted) == {"own", "secret"}
    assert {subject.split(".")[2] for subject in read} == {"acme"}
    assert len(complaints) == 3
    await acme.close()
    await bus.close()
    server.stop()
