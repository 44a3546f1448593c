"""Calls of a server: each is sent until it is answered, and streams go on where they were."""

from collections.abc import AsyncGenerator, Callable, Collection
from http import HTTPStatus
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.api.clients.messages import MOST_ITEMS, Field, HttpRequest, HttpResponse, Page, get
from soorma_ai.api.clients.problems import error_of, is_answer
from soorma_ai.api.clients.retry import may_repeat, pause_before
from soorma_ai.api.clients.sent_events import EventReader, SentEvent
from soorma_ai.api.clients.transport import HttpTransport, OpenResponse, Unreachable
from soorma_ai.errors import NotFound, RemoteProtocolError, ServerUnavailable, SoormaError, TransientError
from soorma_ai.kernel.domain.values import clip

LONGEST_POLL = 30.0
# Servers send something every 15 seconds.
SILENCE_SECONDS = 45.0
STEADY_SECONDS = 5.0
# Seconds by which the answer to a call that waits may be late.
GRACE = 0.5
_EARLY = 0.5

T = TypeVar("T")


class CallBounds(Struct, frozen=True):
    """Bounds of a call. `timeout`: seconds for its tries, beside the seconds of its wait. `tries`: most sends.
    `most_bytes`: bound of an answer."""

    timeout: float = 30.0
    tries: int = 8
    most_bytes: int = 32 * 2**20


class Sender:
    def __init__(self, line: HttpTransport, url: str, bounds: CallBounds) -> None:
        self.line = line
        self._url = url
        self._bounds = bounds

    async def ask(
        self, request: HttpRequest, *, wait: float = 0.0, until: float | None = None, also: Collection[int] = ()
    ) -> HttpResponse:
        """Return the answer, or one with a status of `also`. Raise the server's error, and ServerUnavailable.

        `wait`: seconds for the server to keep the call. `until`: the moment of the caller's own end.
        """
        usual = self.line.monotonic() + wait + self._bounds.timeout
        end = usual if until is None else min(usual, until)
        attempt = 0
        while True:
            attempt, was_sent = attempt + 1, True
            try:
                response = await self._exchange(request, end)
                if is_answer(response) or response.status in also:
                    return response
                fault: SoormaError = error_of(response, request, self._url)
            except ServerUnavailable as unavailable:
                fault, was_sent = unavailable, not isinstance(unavailable, Unreachable)
            may = may_repeat(fault, is_safe=request.is_safe, was_sent=was_sent)
            pause = self._pause(attempt, fault, end) if may else None
            if pause is None:
                raise fault
            await self.line.pause(pause)

    async def read(self, request: HttpRequest, kind: type[T]) -> T:
        return (await self.ask(request)).read(kind)

    async def read_key(self, request: HttpRequest, key: str, kind: type[T]) -> T:
        """Return the part of an answer under a name."""
        return (await self.ask(request)).read_key(key, kind)

    async def find(self, request: HttpRequest, kind: type[T]) -> T | None:
        """Return the answer; None for a missing object."""
        try:
            return await self.read(request, kind)
        except NotFound:
            return None

    async def list(self, kind: type[Page[T]], limit: int | None, *parts: str, **query: Field) -> list[T]:
        """Return up to `limit` items of a list, or all of them, page by page."""
        found: list[T] = []
        after: str | None = None
        while limit is None or len(found) < limit:
            size = MOST_ITEMS if limit is None else min(MOST_ITEMS, limit - len(found))
            page = await self.read(get(*parts, **query, after=after, limit=size), kind)
            found += page.items
            if page.next is None or page.next == after or not page.items:
                break
            after = page.next
        return found

    async def poll(
        self, request_of: Callable[[float], HttpRequest], timeout: float | None, is_open: Callable[[HttpResponse], bool]
    ) -> HttpResponse | None:
        """Repeat a request, with some seconds of waiting each, until the wanted answer is there. Return None without it
        after `timeout` seconds; a timeout None waits for ever."""
        begun = self.line.monotonic()
        while True:
            asked_at = self.line.monotonic()
            left = LONGEST_POLL if timeout is None else max(0.0, begun + timeout - asked_at)
            wait = min(LONGEST_POLL, left)
            end = None if timeout is None else asked_at + left + min(GRACE, self._bounds.timeout)
            try:
                response = await self.ask(request_of(wait), wait=wait, until=end)
            except ServerUnavailable:
                if timeout is None or self.line.monotonic() < begun + timeout:
                    raise
                return None
            if not is_open(response):
                return response
            now = self.line.monotonic()
            if timeout is not None and now >= begun + timeout:
                return None
            if now - asked_at < min(wait, _EARLY):
                await self.line.pause(min(_EARLY, wait))  # a server that ends waits for nothing

    async def stream(
        self, request_of: Callable[[str | None], HttpRequest], last_id: str | None = None
    ) -> AsyncGenerator[SentEvent]:
        """Yield the items of a stream; after a loss, continue behind the last one. `request_of` makes the request by
        the id of the last event. It ends with 204; a reader at its own end leaves it.

        Raise the server's error, and ServerUnavailable after too many losses in a row without an event.
        """
        reader, attempt = EventReader(last_id or ""), 0
        while True:
            begun, fault = self.line.monotonic(), ServerUnavailable(f"{self._url} ended its stream: ask again")
            try:
                request = request_of(reader.last_id or None)
                async with self.line.open(request, SILENCE_SECONDS) as opened:
                    await self._check_stream(opened, request)
                    if opened.status == HTTPStatus.NO_CONTENT:
                        return
                    reader = EventReader(reader.last_id)
                    async for chunk in opened.chunks:
                        for event in reader.feed(chunk):
                            attempt = 0
                            yield event
            except TransientError as transient:
                if not may_repeat(transient, is_safe=True):
                    raise
                fault = transient
            now = self.line.monotonic()
            attempt = 1 if now - begun >= STEADY_SECONDS else attempt + 1
            pause = self._pause(attempt, fault, now + SILENCE_SECONDS)
            if pause is None:
                raise fault
            await self.line.pause(pause)

    def _pause(self, attempt: int, fault: SoormaError, end: float) -> float | None:
        asked = fault.retry_after if isinstance(fault, TransientError) else None
        left = end - self.line.monotonic()
        return pause_before(attempt, self._bounds.tries, asked=asked, left=left, drawn=self.line.draw())

    async def _exchange(self, request: HttpRequest, end: float) -> HttpResponse:
        left = end - self.line.monotonic()
        if left <= 0:
            raise Unreachable(f"{self._url} was not asked {request.name} any more: the time for it was over")
        async with self.line.open(request, left) as opened:
            return HttpResponse(opened.status, opened.headers, await self._body(opened, request, end))

    async def _body(self, opened: OpenResponse, request: HttpRequest, end: float) -> bytes:
        """Return the body. One too long, or too slow, is left at once."""
        packed = opened.headers.get("content-encoding", "identity")
        if packed != "identity":
            raise RemoteProtocolError(f"{self._url} answered {request.name} as {clip(packed, 40)!r}, unasked")
        chunks: list[bytes] = []
        size = 0
        async for chunk in opened.chunks:
            chunks.append(chunk)
            size += len(chunk)
            if size > self._bounds.most_bytes:
                most = self._bounds.most_bytes
                raise RemoteProtocolError(f"{self._url} answered {request.name} with over {most} bytes: ask for less")
            if self.line.monotonic() > end:
                raise ServerUnavailable(f"{self._url} did not end its answer to {request.name} in time: try again")
        return b"".join(chunks)

    async def _check_stream(self, opened: OpenResponse, request: HttpRequest) -> None:
        if opened.status == HTTPStatus.NO_CONTENT:
            return
        head = HttpResponse(opened.status, opened.headers, b"")
        if opened.status == HTTPStatus.OK and head.content_type == "text/event-stream":
            return
        end = self.line.monotonic() + self._bounds.timeout
        response = replace(head, body=await self._body(opened, request, end))
        if is_answer(response):
            found = head.content_type or "nothing"
            raise RemoteProtocolError(f"{self._url} answered {request.name} with {found}, which is no stream of events")
        raise error_of(response, request, self._url)
