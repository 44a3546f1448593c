"""Events of a stream, each with its place in the log."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from soorma_ai.api.clients.messages import HttpRequest, get
from soorma_ai.api.clients.sender import Sender
from soorma_ai.errors import RemoteProtocolError
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.values import clip
from soorma_ai.kernel.ports import StoredEvent

END = "end"
_LONGEST_PLACE = 18


async def stream_events(caller: Sender, *parts: str, after: int | None = None) -> AsyncGenerator[StoredEvent]:
    """Yield the events of a stream from behind a place on, each once, until the server ends it."""

    def request_of(last_id: str | None) -> HttpRequest:
        request = get(*parts, after=after if last_id is None else None)
        return request if last_id is None else request.with_header("last-event-id", str(place_of(last_id)))

    seen = -1 if after is None else after
    async with aclosing(caller.stream(request_of)) as sent:
        async for one in sent:
            if one.name == END:
                return
            if one.name == "message" and (place := place_of(one.last_id)) > seen:
                seen = place
                yield StoredEvent(place, EventEnvelope.from_json(one.data))


def place_of(text: str) -> int:
    """Return a place of the log. Raise RemoteProtocolError for an invalid one."""
    if text.isascii() and text.isdigit() and len(text) <= _LONGEST_PLACE:
        return int(text)
    raise RemoteProtocolError(f"the server names {clip(text, 40)!r} as a place of its log, which is a number")
