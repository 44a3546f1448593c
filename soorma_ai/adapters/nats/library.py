"""The used part of the client library, with types; it leaves some of them open."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.js.api import ConsumerConfig, ConsumerInfo, PubAck, StreamConfig, StreamInfo


class Streams(Protocol):
    """JetStream, as nats.js.client.JetStreamContext has it."""

    async def publish(
        self,
        subject: str,
        payload: bytes = b"",
        timeout: float | None = None,
        stream: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> PubAck: ...

    async def stream_info(self, name: str) -> StreamInfo: ...

    async def add_stream(self, config: StreamConfig | None = None) -> StreamInfo: ...

    async def consumer_info(self, stream: str, consumer: str) -> ConsumerInfo: ...

    async def add_consumer(self, stream: str, config: ConsumerConfig | None = None) -> ConsumerInfo: ...


class Subscriber(Protocol):
    """Subscribing, as nats.aio.client.Client has it."""

    async def subscribe(
        self, subject: str, *, cb: Callable[[Msg], Awaitable[None]] | None = None, pending_bytes_limit: int = 0
    ) -> Subscription: ...
