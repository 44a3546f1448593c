"""The connection to NATS. When anything is wrong with it, it is made anew, which is the one way back."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress

from nats.aio.client import Client
from nats.errors import AuthorizationError, Error, NoRespondersError
from nats.js.client import JetStreamContext

from soorma_ai.adapters.nats.configuration import check_server
from soorma_ai.adapters.nats.library import Streams, Subscriber
from soorma_ai.errors import BusUnavailable, ConfigError
from soorma_ai.kernel.runtime.handling.logs import note, warn

CONNECTS_WITHIN = 5.0
CLOSES_WITHIN = 2.0
ASKS_AGAIN = 3


class NatsConnection:
    """Connection to NATS. `url` is the display form of the servers, without a password. `on_loss` is called after the
    loss of the server. Answers come under subjects that begin with `inbox`."""

    def __init__(self, servers: Sequence[str], url: str, inbox: str = "_INBOX") -> None:
        self.url = url
        self.outage = OutageLog("bus", url)
        self.on_loss: Callable[[], None] = lambda: None
        self._servers = list(servers)
        self._inbox = inbox
        self._limits: set[asyncio.Timeout] = set()
        self._last_fault: Exception | None = None
        self._is_ours_to_close = False
        self._take(Client())

    def _take(self, client: Client) -> None:
        self.client = client
        self.streams: Streams = JetStreamContext(client)
        self.listening: Subscriber = client

    async def open(self) -> None:
        """Raise ConfigError for a server that lets us not in or is too old, BusUnavailable for one that is away."""
        fault = await self._connect()
        for _ in range(ASKS_AGAIN):
            # One that lets us not in says so and closes, and what it said may be lost by that.
            if isinstance(fault, ConnectionError) and not isinstance(fault, ConnectionRefusedError):
                fault = await self._connect()
        if fault is not None and _is_refused(fault):
            raise ConfigError(
                f"NATS at {self.url} refuses us: {fault}; give user and password, or a token, in the URL"
            ) from fault
        if fault is not None:
            what = str(fault) or "no server there"
            raise BusUnavailable(
                f"NATS at {self.url} does not answer: {what}; start it, or give another bus URL"
            ) from fault
        version = self.client.connected_server_version
        check_server((version.major, version.minor), self.url)

    async def _connect(self) -> Exception | None:
        """Return why there is no connection."""
        self._take(Client())
        self._is_ours_to_close, self._last_fault = False, None
        try:
            async with asyncio.timeout(CONNECTS_WITHIN):
                await self.client.connect(
                    servers=self._servers,
                    name="soorma_ai",
                    error_cb=self._note_fault,
                    disconnected_cb=self._note_loss,
                    allow_reconnect=False,
                    max_reconnect_attempts=1,
                    reconnect_time_wait=0,
                    connect_timeout=2,
                    ping_interval=10,
                    inbox_prefix=self._inbox,
                )
        except (Error, OSError) as error:
            await self.close()
            return self._last_fault or error
        return None

    async def close(self) -> None:
        self._is_ours_to_close = True
        with suppress(Error, OSError):
            async with asyncio.timeout(CLOSES_WITHIN):
                await self.client.close()

    async def flush(self) -> None:
        """Return when the server has received everything, or is away."""
        with suppress(Error, OSError):
            await self.client.flush(timeout=int(CLOSES_WITHIN))

    def must_be_up(self) -> None:
        if not self.client.is_connected:
            raise BusUnavailable(f"NATS at {self.url} is away: {self._last_fault or 'the connection is lost'}")

    @asynccontextmanager
    async def unless_lost(self) -> AsyncGenerator[None]:
        """Raise BusUnavailable as soon as the connection is lost, with which answers are that are on their way."""
        self.must_be_up()
        limit = asyncio.timeout(None)
        try:
            async with limit:
                self._limits.add(limit)
                yield
        except TimeoutError as error:
            raise BusUnavailable(f"the connection to NATS at {self.url} was lost before it answered") from error
        finally:
            self._limits.discard(limit)

    @contextmanager
    def in_our_words(self, what: str) -> Generator[None]:
        """Raise BusUnavailable for every exception of the library; each may be temporary."""
        try:
            yield
        except NoRespondersError as error:
            raise BusUnavailable(f"NATS at {self.url} could not {what}: nobody answers for JetStream") from error
        except (Error, OSError) as error:
            raise BusUnavailable(f"NATS at {self.url} could not {what}: {error or type(error).__name__}") from error

    async def _note_fault(self, error: Exception) -> None:
        self._last_fault = error

    async def _note_loss(self) -> None:
        if self._is_ours_to_close:
            return
        self.outage.begin(self._last_fault or "the connection is lost")
        for limit in self._limits:
            limit.reschedule(0)
        self.on_loss()


def _is_refused(error: Exception) -> bool:
    return isinstance(error, AuthorizationError) or "authorization" in str(error).lower()


class OutageLog:
    """`subject` names the log lines: `bus_lost` and `bus_back` for `bus`."""

    def __init__(self, subject: str, url: str) -> None:
        self._subject = subject
        self._url = url
        self._is_on = False

    def begin(self, reason: object) -> None:
        if not self._is_on:
            self._is_on = True
            warn(f"{self._subject}_lost", url=self._url, reason=reason)

    def end(self) -> None:
        if self._is_on:
            self._is_on = False
            note(f"{self._subject}_back", url=self._url)
