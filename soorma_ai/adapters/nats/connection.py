"""The connection to NATS, which comes back by itself."""

import asyncio
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress

from nats.aio.client import Client
from nats.errors import AuthorizationError, Error, NoRespondersError
from nats.js.client import JetStreamContext

from soorma_ai.adapters.nats.configuration import check_server
from soorma_ai.adapters.nats.library import Listening, Streams
from soorma_ai.adapters.nats.outage import Outage
from soorma_ai.errors import BusUnavailable, ConfigError

CONNECTS_WITHIN = 5.0
RECONNECTS_EVERY = 1
CLOSES_WITHIN = 2.0


class Connection:
    """`url` is what is shown of the servers, without a password. `on_back` is called after each reconnection."""

    def __init__(self, servers: Sequence[str], url: str) -> None:
        self.client = Client()
        self.url = url
        self.outage = Outage("bus", url)
        self.on_back: Callable[[], None] = lambda: None
        self._servers = list(servers)
        self._last_fault: Exception | None = None
        self._is_up = False
        self._is_closed = False
        self.streams: Streams = JetStreamContext(self.client)
        self.listening: Listening = self.client

    async def open(self) -> None:
        """Raise ConfigError for a server that lets us not in or is too old, BusUnavailable for one that is away."""
        try:
            async with asyncio.timeout(CONNECTS_WITHIN):
                await self.client.connect(
                    servers=self._servers,
                    name="soorma_ai",
                    error_cb=self._note_fault,
                    disconnected_cb=self._lost,
                    reconnected_cb=self._back,
                    connect_timeout=2,
                    reconnect_time_wait=RECONNECTS_EVERY,
                    max_reconnect_attempts=-1,
                    ping_interval=10,
                )
        except (Error, OSError) as error:
            await self.close()
            fault = self._last_fault or error
            if _is_refused(fault):
                raise ConfigError(
                    f"NATS at {self.url} refuses us: {fault}; give user and password, or a token, in the URL"
                ) from error
            raise BusUnavailable(
                f"NATS at {self.url} does not answer: {fault or 'no server there'}; start it, or give another bus URL"
            ) from error
        self._is_up = True
        version = self.client.connected_server_version
        check_server((version.major, version.minor), self.url)

    async def close(self) -> None:
        self._is_closed = True
        with suppress(Error, OSError):
            async with asyncio.timeout(CLOSES_WITHIN):
                await self.client.close()

    async def flush(self) -> None:
        """Return when the server has what was sent, or is away."""
        with suppress(Error, OSError):
            await self.client.flush(timeout=int(CLOSES_WITHIN))

    async def renew(self) -> None:
        """Connect anew when the server is silent."""
        with suppress(Error, OSError):
            await self.client.force_reconnect()

    @property
    def is_up(self) -> bool:
        """Tell whether what is sent is answered: only then does a server know, after a reconnection, what we hear."""
        return self._is_up and self.client.is_connected

    def must_be_up(self) -> None:
        if not self.is_up:
            raise BusUnavailable(f"NATS at {self.url} is away: {self._last_fault or 'the connection is lost'}")

    @contextmanager
    def in_our_words(self, what: str) -> Generator[None]:
        """Raise BusUnavailable for whatever the library raises, which may all be gone the next time."""
        try:
            yield
        except NoRespondersError as error:
            raise BusUnavailable(f"NATS at {self.url} could not {what}: nobody answers for JetStream") from error
        except (Error, OSError) as error:
            raise BusUnavailable(f"NATS at {self.url} could not {what}: {error or type(error).__name__}") from error

    async def _note_fault(self, error: Exception) -> None:
        self._last_fault = error

    async def _lost(self) -> None:
        self._is_up = False
        if not self._is_closed:
            self.outage.begin(self._last_fault or "the connection is lost")

    async def _back(self) -> None:
        self._is_up, self._last_fault = True, None
        self.outage.end()
        self.on_back()


def _is_refused(error: Exception) -> bool:
    return isinstance(error, AuthorizationError) or "authorization" in str(error).lower()
