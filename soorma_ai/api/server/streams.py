"""Server-sent events: new events of the log, or of a plan's tree, as they arrive."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

from starlette.types import Receive, Scope, Send

from soorma_ai.api.server.app_state import AppState
from soorma_ai.api.server.tail import chunk_of, tenant_key, tree_key, with_name
from soorma_ai.errors import NotFound
from soorma_ai.kernel.ports import Clock
from soorma_ai.kernel.rules.authority import only_user
from soorma_ai.kernel.runtime.client.client import Client
from soorma_ai.kernel.runtime.handling.process.signals import until

HEARTBEAT_SECONDS = 15.0
STALLED_SECONDS = 60.0
CHECKED_EVERY = 30.0
BEAT = b":\n\n"
STREAM_HEADERS = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
)
# Each may be long, and is held while a slow reader takes it.
_PAGE = 4


async def follow_log(
    client: Client, surroundings: AppState, after: int | None, *, named: bool = False
) -> AsyncIterator[bytes]:
    """Yield the events visible to this person, from behind a place of the log on, by default from its present end; and
    something at least every few seconds. With `named`, each has its type as its name."""
    person, clock = client.person, client.services.clock
    user, tail = only_user(person), surroundings.tail
    with tail.follow(tenant_key(person.tenant_id), client.services) as woken:
        end = await _end_of(client)
        place = end if after is None else min(after, end)
        yield _hello(place)
        last = clock.monotonic()
        while not surroundings.is_ending and not tail.is_broken:
            kept = tail.behind(place, _PAGE)
            if kept is None:
                page = await client.events(after=place, limit=_PAGE)
                chunks = [(row.event.type, chunk_of(row)) for row in page.events]
                is_end = page.is_end
                place = page.after
            else:
                ours = (r for r in kept if r.tenant_id == person.tenant_id and user in (None, r.user_id))
                chunks = [(r.event_type, r.chunk) for r in ours]
                place = kept[-1].seq if kept else place
                is_end = place >= tail.end
            for event_type, chunk in chunks:
                yield with_name(chunk, event_type) if named else chunk
            if chunks:
                last = clock.monotonic()
            elif clock.monotonic() - last >= HEARTBEAT_SECONDS:
                yield BEAT
                last = clock.monotonic()
            if is_end and not surroundings.is_ending:
                await until(woken, clock, last + HEARTBEAT_SECONDS - clock.monotonic())


async def follow_plan(
    client: Client, surroundings: AppState, plan_id: str, after: int, *, named: bool = False
) -> AsyncIterator[bytes]:
    """Yield the events of a plan's tree behind a place of the log; then, after its end, one named `end`. A removed plan
    has no more events; a client's next request gets a 404. With `named`, each has its type as its name."""
    clock, plans = client.services.clock, client.services.store.plans
    plan = await plans.plan(plan_id)
    root = plan.root_plan_id if plan else plan_id
    with surroundings.tail.follow(tree_key(root), client.services) as woken:
        place = after
        yield _hello(place)
        last = clock.monotonic()
        while not surroundings.is_ending and not surroundings.tail.is_broken:
            standing = await plans.plan_status(plan_id)
            try:
                page = await client.events(after=place, limit=_PAGE, plan_id=plan_id)
            except NotFound:
                return
            place = page.after
            for row in page.events:
                yield with_name(chunk_of(row), row.event.type) if named else chunk_of(row)
                last = clock.monotonic()
            if page.is_end and standing is not None and standing[0].is_final:
                said = json.dumps({"plan_id": plan_id, "status": standing[0]})
                yield f"event: end\ndata: {said}\n\n".encode()
                return
            if clock.monotonic() - last >= HEARTBEAT_SECONDS:
                yield BEAT
                last = clock.monotonic()
            if page.is_end and not surroundings.is_ending:
                await until(woken, clock, last + HEARTBEAT_SECONDS - clock.monotonic())


def _hello(place: int) -> bytes:
    """Return the beginning of a stream. A lost client comes again after this time, in milliseconds, with the last id it
    got: this one, if there was no event yet."""
    return f"retry: 2000\nid: {place}\n\n".encode()


async def _end_of(client: Client) -> int:
    newest = await client.services.store.events.events(limit=1, newest=True)
    return newest[-1].seq if newest else 0


class EventStream:
    """Answer with a stream: as fast as its reader, and no longer than the caller's right to it."""

    def __init__(
        self,
        chunks: AsyncIterator[bytes],
        clock: Clock,
        may_go_on: Callable[[], Awaitable[bool]],
        on_end: Callable[[], None],
    ) -> None:
        self._chunks = chunks
        self._clock = clock
        self._may_go_on = may_go_on
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._answer(receive, send)
        finally:
            self._on_end()

    async def _answer(self, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": STREAM_HEADERS})
        sending = asyncio.ensure_future(self._send(send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        finally:
            sending.cancel()
            leaving.cancel()
            with suppress(asyncio.CancelledError):
                await sending

    async def _send(self, send: Send) -> None:
        checked = self._clock.monotonic()
        try:
            async for chunk in self._chunks:
                if self._clock.monotonic() - checked >= CHECKED_EVERY:
                    checked = self._clock.monotonic()
                    if not await self._may_go_on():
                        break
                async with asyncio.timeout(STALLED_SECONDS):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
        except TimeoutError:
            return  # who reads nothing is left, and may come again with the last id
        finally:
            aclose = getattr(self._chunks, "aclose", None)
            if aclose is not None:
                await aclose()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
