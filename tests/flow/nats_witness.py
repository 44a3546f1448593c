"""A process that receives the facts of a foreign client over NATS, and kills itself at their arrival; or, later, prints
the rows left. With a bug, it acknowledges before the row is there."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.client import JetStreamContext

from soorma_ai import Agent, EventEnvelope, EventTopic, Platform, PlatformContext, assembly
from soorma_ai.adapters.nats import bus
from soorma_ai.adapters.nats.configuration import consumer_name
from soorma_ai.adapters.nats.subjects import subject_of
from soorma_ai.adapters.sqlite.store import SqliteStore
from soorma_ai.kernel.domain.expectations import Arrival
from soorma_ai.kernel.ports import Brought
from soorma_ai.kernel.sql.parts import SqlQueue
from soorma_ai.kernel.sql.storage import FeatureSet

FOLDER, URL, IS_FIRST, HAS_BUG = Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "first", sys.argv[4] == "bug"
TOLD = 5


class MortalQueue(SqlQueue):
    async def arrive(self, events: Sequence[EventEnvelope], now: datetime) -> Arrival:
        if any(event.type == "order.placed" for event in events):
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().arrive(events, now)


class MortalStore(SqliteStore):
    def __init__(self, path: Path | None, features: FeatureSet) -> None:
        super().__init__(path, features)
        self.queue = MortalQueue(self.database)


class AcksFirst(bus.NatsBus):
    async def _receive_batch(self, messages: Sequence[Msg], receive: bus.Receive) -> None:
        for message in messages:
            await message.ack()
        await self._connection.flush()
        await receive([Brought(event, False) for message in messages if (event := self._read(message)) is not None])


async def tell(streams: JetStreamContext, namespace: str, store_id: str, now: datetime) -> None:
    for number in range(TOLD):
        told = EventEnvelope(
            id=str(number), source="shop", type="order.placed", topic=EventTopic.BUSINESS_FACTS, time=now
        )
        await streams.publish(subject_of(namespace, store_id, told), told.to_json().encode())


async def all_is_acknowledged(streams: JetStreamContext, namespace: str, store_id: str) -> None:
    while True:
        found = await streams.consumer_info(namespace, consumer_name(store_id))
        if not found.num_pending and not found.num_ack_pending:
            return
        await asyncio.sleep(0.05)


async def main() -> None:
    ear, (server, _, namespace) = Agent("ear"), URL.rpartition("/")

    @ear.on_event("order.placed", EventTopic.BUSINESS_FACTS)
    async def hear(event: EventEnvelope, context: PlatformContext) -> None: ...

    raw = Client()
    await raw.connect(server)
    streams = JetStreamContext(raw)
    async with Platform(f"sqlite:///{FOLDER / 'store.db'}", URL) as platform:
        store_id = await platform.services.store.name("there is one")
        if IS_FIRST:
            await tell(streams, namespace, store_id, platform.services.clock.now())
        await platform.start(ear)
        await all_is_acknowledged(streams, namespace, store_id)
        stored = [row.event for row in await platform.services.store.events.events()]
    await raw.close()
    print(json.dumps(sum(event.type == "order.placed" for event in stored)))


if IS_FIRST:
    assembly.SqliteStore = MortalStore
if HAS_BUG:
    bus.NatsBus = AcksFirst
asyncio.run(main())
