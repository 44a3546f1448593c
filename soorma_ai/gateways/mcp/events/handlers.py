"""Requests of MCP Events: the list of types, polls and streams."""

from typing import Any

from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY

from soorma_ai.errors import NotFound
from soorma_ai.features.event_subscriptions.ports import SUBSCRIPTIONS
from soorma_ai.gateways.goals import known_events, shown_events
from soorma_ai.gateways.mcp.caller import Context, as_mcp, caller_of
from soorma_ai.gateways.mcp.events.log import (
    ARGUMENTS,
    Batch,
    Selection,
    Start,
    Topics,
    cursor_of,
    occurrence_of,
    read_events,
    recent,
    select,
    start_of,
    types_of,
)
from soorma_ai.gateways.mcp.events.messages import (
    EXTENSION,
    MOST_EVENTS,
    NOT_FOUND,
    EventType,
    Frame,
    FrameParams,
    ListEventsParams,
    ListEventsResult,
    PollEventsParams,
    PollEventsResult,
    ReadEventsParams,
    StreamEventsResult,
)
from soorma_ai.kernel.domain.values import clip
from soorma_ai.kernel.runtime.client.client import Client
from soorma_ai.kernel.runtime.handling.process.signals import until

NEXT_POLL_MS = 5_000
HEARTBEAT_SECONDS = 15.0
LOOK_SECONDS = 1.0


class EventRequests:
    """Handlers of the requests. Each reads the log with the rights of its caller; a client keeps its own cursor."""

    def serve(self, server: Server[dict[str, Any]]) -> None:
        """Add the extension to a server."""
        server.extensions[EXTENSION] = {}
        server.middleware.append(_with_capability)
        server.add_request_handler("events/list", ListEventsParams, self.list_types)
        server.add_request_handler("events/poll", PollEventsParams, self.poll)
        server.add_request_handler("events/stream", ReadEventsParams, self.stream)

    async def list_types(self, context: Context, params: ListEventsParams) -> ListEventsResult:
        """List the types of events that present agents of the caller's tenant make, and their facts."""
        _, client = caller_of(context)
        with as_mcp():
            types = types_of(await shown_events(client.services, client.person.tenant_id))
            has_store = client.services.store.find(SUBSCRIPTIONS) is not None
            return ListEventsResult(events=[_type(name, one, has_webhooks=has_store) for name, one in types.items()])

    async def poll(self, context: Context, params: PollEventsParams) -> PollEventsResult:
        """Return the events behind the cursor; without one only a cursor."""
        _, client = caller_of(context)
        with as_mcp():
            selection = await selection_of(client, params.name, params.arguments)
            start = await start_of(client, params.cursor)
            found = await _read(client, selection, start.place, min(params.max_events, MOST_EVENTS))
            batch = recent(found, params.max_age_ms, client.services.clock.now())
            return PollEventsResult(
                events=[occurrence_of(row) for row in batch.events],
                cursor=cursor_of(batch.place),
                truncated=start.truncated or len(batch.events) < len(found.events),
                has_more=not batch.is_end,
                next_poll_ms=NEXT_POLL_MS,
            )

    async def stream(self, context: Context, params: ReadEventsParams) -> StreamEventsResult:
        """Send the events behind the cursor as they arrive, until the client leaves."""
        _, client = caller_of(context)
        with as_mcp():
            selection = await selection_of(client, params.name, params.arguments)
            start = await begin_of(client, selection, params.cursor)  # a fault comes before the stream
            await _Stream(context, client, selection, start.place, params.max_age_ms).run(start)
        return StreamEventsResult()


def _type(name: str, known: Topics, *, has_webhooks: bool) -> EventType:
    definition = known.definition
    return EventType(
        name=name,
        description=definition.description or definition.when_to_use or None,
        delivery=["poll", "push", "webhook"] if has_webhooks else ["poll", "push"],
        input_schema=ARGUMENTS,
        payload_schema={"type": "object", **definition.payload_schema},
    )


async def selection_of(client: Client, name: str, arguments: dict[str, Any]) -> Selection:
    """Return the selection of a request. A type of a gone agent is known still."""
    types = types_of(await known_events(client.services, client.person.tenant_id))
    selection = select(types, name, arguments)
    if selection is None:
        raise MCPError(NOT_FOUND, f"there is no event {clip(repr(name), 80)}; events/list has them", {"kind": "event"})
    return selection


async def begin_of(client: Client, selection: Selection, cursor: str | None) -> Start:
    """Return the begin of a reading. Raise MCPError for a plan invisible to the caller."""
    start = await start_of(client, cursor)
    await _read(client, selection, start.place, 1)
    return start


async def _read(client: Client, selection: Selection, place: int, most: int) -> Batch:
    try:
        return await read_events(client, selection, place, most)
    except NotFound as error:
        raise MCPError(NOT_FOUND, str(error), {"kind": "plan"}) from error


class _Stream:
    """Stream of one client. Each frame has the cursor behind its event."""

    def __init__(
        self, context: Context, client: Client, selection: Selection, place: int, max_age_ms: int | None
    ) -> None:
        self._context = context
        self._client = client
        self._selection = selection
        self._place = place
        self._max_age_ms = max_age_ms
        self._meta: dict[str, Any] = {SUBSCRIPTION_ID_META_KEY: context.request_id}

    async def run(self, start: Start) -> None:
        signals, clock = self._client.services.signals, self._client.services.clock
        woken = signals.watch()
        try:
            await self._send("active", cursor=cursor_of(self._place), truncated=start.truncated)
            last = clock.monotonic()
            while True:
                batch = await _read(self._client, self._selection, self._place, MOST_EVENTS)
                for row in recent(batch, self._max_age_ms, clock.now()).events:
                    told = occurrence_of(row, cursor=cursor_of(row.seq))
                    await self._send("event", **told.model_dump())
                    last = clock.monotonic()
                self._place = batch.place
                if clock.monotonic() - last >= HEARTBEAT_SECONDS:
                    await self._send("heartbeat", cursor=cursor_of(self._place))
                    last = clock.monotonic()
                if batch.is_end:
                    await until(woken, clock, LOOK_SECONDS)
        finally:
            signals.unwatch(woken)

    async def _send(self, kind: str, **fields: Any) -> None:
        params = FrameParams(_meta=self._meta, **fields)
        frame: Any = Frame(method=f"notifications/events/{kind}", params=params)  # not in the library's union
        await self._context.session.send_notification(frame, related_request_id=self._context.request_id)


async def _with_capability(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Add the capability `events` to the answer of `server/discover`, beside the extension: the library drops
    capabilities that it does not know, and clients look for it there."""
    result = await call_next(ctx)
    if ctx.method == "server/discover" and isinstance(result, dict):
        result["capabilities"]["events"] = {}
    return result
