"""Bus over NATS JetStream. It carries, and the store queues: an event is acknowledged when it is in the inbox."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from msgspec import Struct
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.js.api import Header
from nats.js.errors import APIError

from soorma_ai.adapters.nats.announcements import read, write
from soorma_ai.adapters.nats.configuration import consumer_config, consumer_name
from soorma_ai.adapters.nats.connection import NatsConnection, OutageLog
from soorma_ai.adapters.nats.provision import provide
from soorma_ai.adapters.nats.pull import PullSubscription
from soorma_ai.adapters.nats.subjects import (
    LONGEST_SUBJECT,
    REGISTRY,
    is_named_so,
    message_id,
    registry_subject,
    sender_of,
    subject_between,
    subject_of,
    token,
)
from soorma_ai.errors import BusUnavailable, ConfigError, LocalProtocolError, RemoteProtocolError, SoormaError
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.stores import Announcement
from soorma_ai.kernel.domain.values import clip
from soorma_ai.kernel.ports import Brought, StoredEvent
from soorma_ai.kernel.runtime.handling.handler_task import ShieldedTask
from soorma_ai.kernel.runtime.handling.logs import warn

Receive = Callable[[Sequence[Brought]], Awaitable[None]]
Hear = Callable[[Announcement], Awaitable[None]]

BROUGHT_AGAIN_AFTER = 1.0
PAUSE_AFTER_FAULT = 0.5
# Of announcements, which are said again.
MOST_UNHEARD = 16 * 2**20

_TOO_LARGE = 10054
# Of the block that headers stand in.
_FRAME = len("NATS/1.0\r\n: \r\n\r\n")


class OutgoingMessage(Struct, frozen=True):
    """An event as it is sent."""

    subject: str
    body: bytes
    headers: dict[str, str]

    @property
    def size(self) -> int:
        return len(self.body) + sum(len(name) + len(value) + _FRAME for name, value in self.headers.items())


class NatsBus:
    """Bus of the store of this id, over NATS JetStream. All its processes share one consumer, so each event comes to
    one of them; a lost acknowledgement brings it again, without an effect.

    `url` is the display form of the servers, without a password.
    """

    is_broker = True

    def __init__(self, servers: Sequence[str], namespace: str, url: str, store_id: str) -> None:
        self._connection = NatsConnection(servers, url, f"_INBOX.{token(store_id)}")
        self._namespace = namespace
        self.store_id = store_id
        self._consumer = consumer_config(namespace, store_id)
        self._pulling = PullSubscription(self._connection, namespace, consumer_name(store_id))
        self._sending = OutageLog("bus_sending", url)
        self._intake = OutageLog("bus_intake", url)
        self._unusable = OutageLog("bus_config", url)
        self._task: ShieldedTask[None] | None = None
        self._in_hand: list[Msg] = []
        self._hear: Hear | None = None
        self._hearing: Subscription | None = None
        self._is_closed = False

    async def open(self) -> None:
        """Connect, and make the missing stream and consumer. Raise ConfigError for an unusable one, with the reason,
        BusUnavailable for a temporary fault."""
        await self._connection.open()
        try:
            await provide(self._connection, self._namespace, self._consumer)
        except BaseException:
            await self._connection.close()
            raise

    async def publish(self, rows: Sequence[StoredEvent]) -> None:
        await self._publish(rows, [subject_of(self._namespace, self.store_id, row.event) for row in rows])

    async def post(self, store_id: str, rows: Sequence[StoredEvent]) -> None:
        to = [subject_between(self._namespace, store_id, row.event, self.store_id) for row in rows]
        await self._publish(rows, to)

    async def tell(self, store_id: str, said: EventEnvelope) -> None:
        self._connection.must_be_up()
        subject = subject_between(self._namespace, store_id, said, self.store_id)
        with self._connection.in_our_words(f"carry {said.type!r}"):
            await self._connection.client.publish(subject, said.to_json().encode())

    async def announce(self, said: Announcement) -> None:
        self._connection.must_be_up()
        subject = registry_subject(self._namespace, said.store, said.tenant_id)
        with self._connection.in_our_words("be told who lives"):
            for body in write(said, self._connection.client.max_payload):
                await self._connection.client.publish(subject, body)

    async def listen(self, hear: Hear) -> None:
        self._hear = hear
        with self._connection.in_our_words("be listened to"):
            if self._hearing is not None:
                await self._hearing.unsubscribe()
            self._hearing = await self._connection.listening.subscribe(
                f"{self._namespace}.{REGISTRY}.>", cb=self._receive_announcement, pending_bytes_limit=MOST_UNHEARD
            )

    async def _receive_announcement(self, message: Msg) -> None:
        """Hand over an announcement. One impossible to take now comes again."""
        try:
            said = read(self._namespace, message.subject, message.data)
            if self._hear is not None:
                await self._hear(said)
        except SoormaError as error:
            warn("announcement_refused", subject=clip(message.subject, 200), reason=clip(str(error), 300))

    async def _publish(self, rows: Sequence[StoredEvent], subjects: Sequence[str]) -> None:
        parcels = [self._parcel(row, subject) for row, subject in zip(rows, subjects, strict=True)]
        try:
            await self._send(rows, parcels)
        except BusUnavailable as error:
            if self._connection.client.is_connected:
                self._sending.begin(error)
            raise
        self._sending.end()

    async def subscribe(self, receive: Receive) -> None:
        await self._pulling.begin()
        self._connection.on_loss = self._pulling.give_up
        self._task = ShieldedTask(self._take_in(receive), "bus")

    async def close(self) -> None:
        self._is_closed = True
        if self._task is not None:
            self._task.stop()
            await asyncio.gather(self._task, return_exceptions=True)
            await self._give_back()
        await self._connection.flush()
        await self._connection.close()

    def _parcel(self, row: StoredEvent, subject: str) -> OutgoingMessage:
        """Raise LocalProtocolError for an event that no server takes of us."""
        name = clip(row.event.type, 80)
        body = row.event.to_json().encode()
        parcel = OutgoingMessage(subject, body, {Header.MSG_ID.value: message_id(subject, body, row.redriven)})
        most = self._connection.client.max_payload
        if parcel.size > most:
            raise LocalProtocolError(
                f"{name!r} has {parcel.size:,} bytes, and NATS takes {most:,}: let it name what is large by where it "
                "lies, or raise max_payload of the server"
            )
        if len(subject) > LONGEST_SUBJECT:
            raise LocalProtocolError(
                f"{name!r} has a subject of {len(subject):,} letters with its tenant, and NATS takes "
                f"{LONGEST_SUBJECT:,}: give it a shorter name"
            )
        return parcel

    async def _send(self, rows: Sequence[StoredEvent], parcels: Sequence[OutgoingMessage]) -> None:
        taken: list[int] = []
        try:
            async with self._connection.unless_lost():
                sending = (self._send_one(row, one, taken) for row, one in zip(rows, parcels, strict=True))
                results = await asyncio.gather(*sending, return_exceptions=True)
            for row, fault in zip(rows, results, strict=True):
                name = clip(row.event.type, 80)
                if isinstance(fault, APIError) and fault.err_code == _TOO_LARGE:
                    raise LocalProtocolError(f"{name!r} is larger than the stream takes")
                if isinstance(fault, BaseException):
                    with self._connection.in_our_words(f"take {name!r}"):
                        raise fault
        except BusUnavailable as error:
            error.taken = tuple(taken)
            raise

    async def _send_one(self, row: StoredEvent, parcel: OutgoingMessage, taken: list[int]) -> None:
        await self._connection.streams.publish(parcel.subject, parcel.body, headers=parcel.headers)
        taken.append(row.seq)

    async def _take_in(self, receive: Receive) -> None:
        while True:
            try:
                messages = await self._pulling.next()
                with self._connection.in_our_words("be answered"):
                    await self._receive_batch(messages, receive)
            except BusUnavailable as error:
                self._connection.outage.begin(error)
                await asyncio.sleep(PAUSE_AFTER_FAULT)
                await self._begin_again()
            except asyncio.CancelledError:
                if self._is_closed:
                    raise
                # A handler has cancelled what this was waiting for.
                warn("loop_cancelled", loop="bus")

    async def _begin_again(self) -> None:
        """Connect again, and repair a removed stream or consumer."""
        try:
            await self._connection.close()
            await self.open()
            await self._pulling.begin()
            if self._hear is not None:
                self._hearing = None  # it went with its connection
                await self.listen(self._hear)
        except BusUnavailable:
            return
        except ConfigError as error:
            self._unusable.begin(error)
            return
        self._unusable.end()
        self._connection.outage.end()

    async def _receive_batch(self, messages: Sequence[Msg], receive: Receive) -> None:
        taken = self._in_hand = []
        brought: list[Brought] = []
        for message in messages:
            event = self._read(message)
            if event is None:
                await message.term()
            else:
                taken.append(message)
                sender = sender_of(message.subject)
                is_own = sender is None and is_named_so(_name_of(message), message.subject, message.data)
                brought.append(Brought(event, is_own, sender))
        try:
            await receive(brought)
        except Exception as error:
            self._intake.begin(error)
            for message in taken:
                await message.nak(BROUGHT_AGAIN_AFTER)
        else:
            self._intake.end()
            for message in taken:
                await message.ack()
        self._in_hand = []

    async def _give_back(self) -> None:
        """Leave this process's messages to others at once."""
        with suppress(BusUnavailable), self._connection.in_our_words("take back"):
            await self._pulling.end()
            for message in (*self._in_hand, *self._pulling.take_all()):
                await message.nak()

    def _read(self, message: Msg) -> EventEnvelope | None:
        """Return the event; None for anything else. Permissions are given by subjects, so an event with other fields
        than its subject's is none either."""
        try:
            event = EventEnvelope.from_json(message.data)
            sender, here = sender_of(message.subject), self.store_id
            own = subject_of(self._namespace, here, event)
            wanted = own if sender is None else subject_between(self._namespace, here, event, sender)
            if wanted != message.subject:
                raise RemoteProtocolError(f"an event of {wanted} was published under another subject")
        except RemoteProtocolError as error:
            warn("event_refused", subject=clip(message.subject, 200), reason=clip(str(error), 300))
            return None
        return event


def _name_of(message: Msg) -> str:
    return (message.headers or {}).get(Header.MSG_ID.value, "")
