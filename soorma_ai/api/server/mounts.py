"""A call at a door, while it goes on: it ends with its caller, with their token, and with the server."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from starlette.types import Receive, Scope, Send

from soorma_ai.agents.mounts import Door, Visit
from soorma_ai.api.server.app_state import AppState
from soorma_ai.api.server.problems import problem
from soorma_ai.api.server.streams import CHECKED_EVERY, STALLED_SECONDS
from soorma_ai.kernel.ports import Clock
from soorma_ai.kernel.runtime.handling.logs import warn

_ENDING = problem(HTTPStatus.SERVICE_UNAVAILABLE, "overloaded", "the server is ending: ask again").model_copy(
    update={"retry_after": 1.0}
)
_BROKE = problem(HTTPStatus.INTERNAL_SERVER_ERROR, "internal", "the call broke; the log of the server says why")


async def _always() -> bool:
    return True


def _nothing() -> None: ...


class MountCall:
    """Answer to a call at a mount, with its body read; `end` is called at its end."""

    def __init__(
        self,
        door: Door,
        visit: Visit,
        body: bytes,
        surroundings: AppState,
        may_go_on: Callable[[], Awaitable[bool]] = _always,
        end: Callable[[], None] = _nothing,
    ) -> None:
        self._end = end
        self._door = door
        self._visit = visit
        self._body = body
        self._surroundings = surroundings
        self._may_go_on = may_go_on
        self._left = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = _MountResponse(send, self._visit.services.clock, self._may_go_on)
        serving = asyncio.ensure_future(self._door.serve(self._visit, scope, self._replay(), answer.send))
        leaving = asyncio.ensure_future(self._wait_for_leave(receive))
        ending = asyncio.ensure_future(self._surroundings.wait_for_end())
        try:
            await asyncio.wait((serving, leaving, ending), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._end()
            has_left = leaving.done()
            for one in (serving, leaving, ending):
                one.cancel()
            await self._close(serving, answer, has_left=has_left)

    async def _close(self, serving: asyncio.Future[None], answer: "_MountResponse", *, has_left: bool) -> None:
        """End an answer that its door has not ended."""
        with suppress(asyncio.CancelledError):
            try:
                await serving
            except ConnectionAbortedError:
                pass  # by us
            except Exception as error:
                warn("door_broke", bug=error)
        if answer.is_over or has_left:
            return
        if answer.has_begun:
            await answer.end()
            return
        told = _ENDING if self._surroundings.is_ending else _BROKE
        headers = [(name.encode(), value.encode()) for name, value in told.headers.items()]
        await answer.send({"type": "http.response.start", "status": told.status, "headers": headers})
        await answer.send({"type": "http.response.body", "body": told.to_json()})

    def _replay(self) -> Callable[[], Coroutine[Any, Any, MutableMapping[str, Any]]]:
        """Return a function for the body, once, and then for the caller's departure, at once."""
        is_given = False

        async def receive() -> MutableMapping[str, Any]:
            nonlocal is_given
            if not is_given:
                is_given = True
                return {"type": "http.request", "body": self._body, "more_body": False}
            await self._left.wait()
            return {"type": "http.disconnect"}

        return receive

    async def _wait_for_leave(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._left.set()


class _MountResponse:
    """Sent part of an answer. A reader idle for a minute is dropped, and a token no longer valid gets no more."""

    def __init__(self, send: Send, clock: Clock, may_go_on: Callable[[], Awaitable[bool]]) -> None:
        self._send = send
        self._clock = clock
        self._may_go_on = may_go_on
        self._checked = clock.monotonic()
        self.has_begun = False
        self.is_over = False

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if self.is_over:
            return
        if self.has_begun and not await self._is_still_in():
            await self.end()
            raise ConnectionAbortedError("the token is no longer good")
        self.has_begun = True
        self.is_over = message["type"] == "http.response.body" and not message.get("more_body", False)
        try:
            async with asyncio.timeout(STALLED_SECONDS):
                await self._send(message)
        except TimeoutError:
            self.is_over = True
            raise ConnectionAbortedError("the caller reads nothing") from None

    async def end(self) -> None:
        self.is_over = True
        with suppress(TimeoutError):
            async with asyncio.timeout(STALLED_SECONDS):
                await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _is_still_in(self) -> bool:
        if self._clock.monotonic() - self._checked < CHECKED_EVERY:
            return True
        self._checked = self._clock.monotonic()
        return await self._may_go_on()
