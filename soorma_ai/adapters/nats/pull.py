"""Messages of a durable consumer, handed out at once, in batches of the present ones."""

import asyncio
import json
from collections import deque

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from soorma_ai.adapters.nats.connection import NatsConnection
from soorma_ai.errors import BusUnavailable

BATCH = 256
MOST_BYTES = 16 * 2**20
REQUEST_ENDS_AFTER = 20.0
HEARTBEAT = 1.0
SILENCE = 3 * HEARTBEAT

_SECOND = 10**9
# By their numbers or, where many share one, by their words.
_SAYS_NOTHING = ("100", "Batch Completed")
_REQUEST_IS_OVER = ("408", "Message Size Exceeds MaxBytes")


class PullSubscription:
    """Requests a batch, and after its arrival the next one. The server's own word about a request is told from others'
    messages by the missing address for an acknowledgement."""

    def __init__(self, connection: NatsConnection, stream: str, durable: str) -> None:
        self._connection = connection
        self._next = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{durable}"
        self._inbox = ""
        self._subscription: Subscription | None = None
        self._came: deque[Msg] = deque()
        self._news = asyncio.Event()
        self._open = 0
        self._fault: str | None = None

    async def begin(self) -> None:
        """Listen, on this connection."""
        with self._connection.in_our_words("be listened to"):
            self._inbox = self._connection.client.new_inbox()
            self._subscription = await self._connection.listening.subscribe(
                self._inbox, cb=self._take, pending_bytes_limit=0
            )
        self._open, self._fault = 0, None

    async def end(self) -> None:
        """Listen no more, so that nothing is sent here that others could take."""
        if self._subscription is not None:
            await self._subscription.unsubscribe()
            self._subscription = None

    def give_up(self) -> None:
        """Tell waiting callers of the end."""
        self._fault = "the connection is lost"
        self._news.set()

    async def next(self) -> list[Msg]:
        """Wait for messages. Raise BusUnavailable when the consumer is gone or the server silent."""
        while not self._came:
            if self._open <= 0:
                await self._ask()
            await self._hear()
        found = self.take_all()
        if self._open <= 0:
            await self._ask()
        return found

    def take_all(self) -> list[Msg]:
        """Return the messages not handed out."""
        found = list(self._came)
        self._came.clear()
        return found

    async def _hear(self) -> None:
        try:
            async with asyncio.timeout(SILENCE):
                await self._news.wait()
        except TimeoutError as error:
            raise BusUnavailable(f"NATS at {self._connection.url} is silent") from error
        self._news.clear()
        if self._fault is not None:
            raise BusUnavailable(f"NATS at {self._connection.url} ended a request: {self._fault}")

    async def _ask(self) -> None:
        self._connection.must_be_up()
        wanted = {
            "batch": BATCH,
            "max_bytes": max(MOST_BYTES, 2 * self._connection.client.max_payload),
            "expires": int(REQUEST_ENDS_AFTER * _SECOND),
            "idle_heartbeat": int(HEARTBEAT * _SECOND),
        }
        with self._connection.in_our_words("be asked for messages"):
            await self._connection.client.publish(self._next, json.dumps(wanted).encode(), self._inbox)
        self._open = BATCH

    async def _take(self, message: Msg) -> None:
        if message.reply:
            self._open -= 1
            self._came.append(message)
        else:
            headers = message.headers or {}
            status, said = headers.get("Status", ""), headers.get("Description", "").strip()
            if status in _REQUEST_IS_OVER or said in _REQUEST_IS_OVER:
                self._open = 0
            elif status not in _SAYS_NOTHING and said not in _SAYS_NOTHING:
                self._fault = f"{status} {said}"
        self._news.set()
