"""Events of the log by their type, from behind a cursor on."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from msgspec import Struct

from soorma_ai.errors import LocalProtocolError
from soorma_ai.gateways.mcp.events.messages import Occurrence
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.registry import EventDefinition, EventRole, RegisteredEvent
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.ports import StoredEvent
from soorma_ai.kernel.runtime.client.client import Client

ARGUMENTS: JsonObject = {
    "type": "object",
    "properties": {"plan_id": {"type": "string", "description": "Only events of this plan's tree."}},
    "additionalProperties": False,
}
_PAGE = 100
_MOST_PAGES = 20
_BEGINNING = "e"
_LONGEST_CURSOR = 16


class Topics(Struct, frozen=True):
    """Definition of a type of events, and all of its topics."""

    definition: EventDefinition
    topics: frozenset[EventTopic]


class Selection(Struct, frozen=True):
    """Selection of events: a type on some topics, of all plans or of one plan's tree."""

    name: str
    topics: frozenset[EventTopic]
    plan_id: str | None = None


class Start(Struct, frozen=True):
    """Begin of a reading. `truncated`: events behind the given cursor are gone."""

    place: int
    truncated: bool = False


class Batch(Struct, frozen=True):
    """Selected events in order of arrival, and the place behind them. `is_end`: there was no more."""

    events: tuple[StoredEvent, ...]
    place: int
    is_end: bool


def types_of(known: Iterable[RegisteredEvent]) -> dict[str, Topics]:
    """Return the types of events by name: all that agents make, and all facts that they take or await."""
    found: dict[str, Topics] = {}
    for one in known:
        topic, name = one.definition.topic, one.definition.event_name
        if one.role is not EventRole.MAKES and topic is not EventTopic.BUSINESS_FACTS:
            continue
        before = found.get(name)
        found[name] = Topics(before.definition, before.topics | {topic}) if before else _topics(one.definition)
    return dict(sorted(found.items()))


def _topics(definition: EventDefinition) -> Topics:
    return Topics(definition, frozenset((definition.topic,)))


def select(types: Mapping[str, Topics], name: str, arguments: Mapping[str, object]) -> Selection | None:
    """Return the selection of a subscription; None for an unknown type. Raise LocalProtocolError for its arguments."""
    plan_id = arguments.get("plan_id")
    if arguments.keys() - {"plan_id"} or not isinstance(plan_id, str | None):
        raise LocalProtocolError("arguments: give plan_id as text, or nothing")
    known = types.get(name)
    return Selection(name, known.topics, plan_id) if known else None


def cursor_of(place: int) -> str:
    return f"{_BEGINNING}{place:x}"


def place_of(cursor: str) -> int:
    """Return the place of a cursor. Raise LocalProtocolError for another text."""
    digits = cursor.removeprefix(_BEGINNING)
    is_hex = cursor.startswith(_BEGINNING) and bool(digits) and set(digits) <= set("0123456789abcdef")
    if not is_hex or len(cursor) > _LONGEST_CURSOR:
        raise LocalProtocolError("cursor: give one of an earlier answer, or null to begin now")
    return int(digits, 16)


async def start_of(client: Client, cursor: str | None) -> Start:
    """Return the begin of a reading: behind the cursor, or now. Raise LocalProtocolError."""
    log = client.services.store.events
    newest = await log.events(limit=1, newest=True)
    end = newest[-1].seq if newest else 0
    if cursor is None:
        return Start(end)
    place = place_of(cursor)
    if place > end:  # of a log before its restoration from a backup
        return Start(end, truncated=True)
    oldest = await log.events(limit=1)
    return Start(place, truncated=bool(oldest) and place < oldest[0].seq - 1)


async def read_events(client: Client, selection: Selection, place: int, most: int) -> Batch:
    """Return up to `most` selected events behind a place of the log. It may be none before the end. Raise NotFound for
    a plan invisible to the caller."""
    found: list[StoredEvent] = []
    for _ in range(_MOST_PAGES):
        page = await client.events(after=place, limit=_PAGE, plan_id=selection.plan_id)
        for row in page.events:
            if row.event.type != selection.name or row.event.topic not in selection.topics:
                continue
            found.append(row)
            if len(found) == most:
                return Batch(tuple(found), row.seq, is_end=False)
        place = page.after
        if page.is_end:
            return Batch(tuple(found), place, is_end=True)
    return Batch(tuple(found), place, is_end=False)


def recent(batch: Batch, max_age_ms: int | None, now: datetime) -> Batch:
    """Return the batch without events older than this."""
    if max_age_ms is None:
        return batch
    age = timedelta(milliseconds=min(max_age_ms, 10**15))
    kept = tuple(row for row in batch.events if now - row.event.time <= age)
    return Batch(kept, batch.place, batch.is_end)


def occurrence_of(row: StoredEvent, *, cursor: str | None = None) -> Occurrence:
    event = row.event
    return Occurrence(
        event_id=event.id, name=event.type, timestamp=event.time.isoformat(), data=event.data, cursor=cursor
    )
