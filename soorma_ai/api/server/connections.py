"""HTTP connections with time limits for their clients.

uvicorn limits the time between two requests only. Here a client also has to send the headers of a request within
`header_seconds`, the rest of a body that was answered early within the same time, and has to take an answer: one that
takes nothing for `stalled_seconds` is cut off. The time limit of a body stands where bodies are read.
"""

import asyncio
from http import HTTPStatus
from typing import Any

import h11
import uvicorn
from msgspec import Struct
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from soorma_ai.api.server.connection_bounds import OpenConnections, address_of
from soorma_ai.api.server.problems import Problem, problem
from soorma_ai.api.server.proxies import TrustedProxies, crowded

HEADER_SECONDS = 10.0
IDLE_SECONDS = 15
STALLED_SECONDS = 60.0
_LATE = problem(HTTPStatus.REQUEST_TIMEOUT, "request_timeout", "the headers of the request did not come in time")
_FULL = crowded("too many connections are open: try again later")


class ConnectionBounds(Struct, frozen=True):
    """Limits of the connections of a server: `most` in all, `most_each` of one address that is no trusted proxy."""

    most: int
    most_each: int
    header_seconds: float = HEADER_SECONDS
    idle_seconds: int = IDLE_SECONDS
    stalled_seconds: float = STALLED_SECONDS
    proxies: TrustedProxies = TrustedProxies()


class BoundedConfig(uvicorn.Config):
    """A configuration of uvicorn with the limits of its connections."""

    def __init__(self, app: Any, bounds: ConnectionBounds, **options: Any) -> None:
        proxies = bounds.proxies.named
        super().__init__(
            app,
            http=BoundedConnection,
            timeout_keep_alive=bounds.idle_seconds,
            proxy_headers=bool(proxies),
            forwarded_allow_ips=list(proxies),
            **options,
        )
        self.bounds = bounds
        self.crowd = OpenConnections(bounds.most, bounds.most_each)


class BoundedConnection(H11Protocol):
    """One connection of `OpenConnections`."""

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        assert isinstance(config, BoundedConfig)
        self._bounds = config.bounds
        self._crowd = config.crowd
        self.address = ""
        self._is_refused = False
        self._due: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        host = self.client[0] if self.client else ""
        self.address = "" if host in self._bounds.proxies else address_of(host)
        if self._crowd.enter(self):
            self._look()
        else:
            self._is_refused = True
            self._close(_FULL)

    def connection_lost(self, exc: Exception | None) -> None:
        self._crowd.leave(self)
        self._cancel_due()
        self._cancel_stalled()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._is_refused:
            super().data_received(data)
            self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._look()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._expect_flush()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._cancel_stalled()
        if self.transport.is_closing():
            self._expect_flush()

    def drop(self) -> None:
        """Close at once, with any unsent rest."""
        self.transport.abort()

    def _look(self) -> None:
        """Note whether the client has to send something, and since when it is overdue."""
        is_closing = self.transport.is_closing()
        begins, is_in_body = self.conn.their_state is h11.IDLE, self.conn.their_state is h11.SEND_BODY
        self._crowd.note(self, is_waiting=is_closing or begins or is_in_body)
        if is_closing:
            self._cancel_due()
            self._expect_flush()
        elif (begins and self.timeout_keep_alive_task is None) or (is_in_body and self.conn.our_state is h11.DONE):
            if self._due is None:
                self._due = self.loop.call_later(self._bounds.header_seconds, self._close_overdue)
        else:
            self._cancel_due()

    def _close_overdue(self) -> None:
        """Close the connection of a late client. One that has sent a part of a request gets a 408."""
        self._due = None
        has_begun = self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0])
        self._close(_LATE if has_begun else None)

    def _close(self, told: Problem | None) -> None:
        if told is not None:
            body = told.to_json()
            headers = "".join(f"{name}: {value}\r\n" for name, value in told.headers.items())
            end = f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
            self.transport.write(f"HTTP/1.1 {told.status} {told.title}\r\n{headers}{end}".encode() + body)
        self.transport.close()
        self._look()

    def _expect_flush(self) -> None:
        """Watch that the client takes the rest of an answer."""
        if self._stalled is None:
            unsent = self.transport.get_write_buffer_size()
            self._stalled = self.loop.call_later(self._bounds.stalled_seconds, self._check_flush, unsent)

    def _check_flush(self, unsent: int) -> None:
        """Cut off a client with too much unsent data and no read for a while."""
        self._stalled = None
        if self.transport.get_write_buffer_size() >= unsent:
            self.drop()
        else:
            self._expect_flush()

    def _cancel_due(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _cancel_stalled(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None
