"""The log of events, as one person of a tenant may read it."""

from dataclasses import dataclass

from soorma_ai.domain.events import EventEnvelope, EventTopic, topic_of
from soorma_ai.domain.people import Person
from soorma_ai.ports import StoredEvent
from soorma_ai.runtime.handling.handling import Services
from soorma_ai.runtime.views import plans as reading

MOST_LOOKED_AT = 2_000
_BATCH = 200
_SEE_ALL = frozenset({"operator", "auditor"})


@dataclass(frozen=True)
class EventPage:
    """Events in order of arrival. `seen` is the place up to which was looked; there is more behind it if `has_more`,
    even where nothing before it fitted."""

    rows: tuple[StoredEvent, ...]
    seen: int
    has_more: bool


def sees_event(person: Person, event: EventEnvelope) -> bool:
    """Tell whether a person sees an event: one of their own, or any of their tenant by a role that sees it."""
    if event.tenant_id != person.tenant_id:
        return False
    return person.roles is None or event.user_id == person.user_id or not person.roles.isdisjoint(_SEE_ALL)


class Log:
    def __init__(self, services: Services, person: Person) -> None:
        self._services = services
        self._person = person

    async def events(
        self,
        *,
        after: int = 0,
        limit: int = 100,
        plan_id: str | None = None,
        event_type: str | None = None,
        topic: EventTopic | str | None = None,
    ) -> EventPage:
        """Return up to `limit` events behind a place: of all, or of a plan's tree. Raise NotFound.

        At most so many rows are read for it, whoever else fills the log.
        """
        where, root = None if topic is None else topic_of(topic), await self._root(plan_id)
        found: list[StoredEvent] = []
        seen, looked_at = after, 0
        while looked_at < MOST_LOOKED_AT:
            batch = await self._services.store.events.events(
                after=seen, tenant_id=self._person.tenant_id, root_plan_id=root, limit=_BATCH
            )
            for row in batch:
                if len(found) == limit:
                    return EventPage(tuple(found), seen, has_more=True)
                seen = row.seq
                fits = event_type in (None, row.event.type) and where in (None, row.event.topic)
                if fits and self.sees(row.event):
                    found.append(row)
            if len(batch) < _BATCH:
                return EventPage(tuple(found), seen, has_more=False)
            looked_at += len(batch)
        return EventPage(tuple(found), seen, has_more=True)

    def sees(self, event: EventEnvelope) -> bool:
        return sees_event(self._person, event)

    async def _root(self, plan_id: str | None) -> str | None:
        if plan_id is None:
            return None
        return (await reading.own_plan(self._services, self._person.tenant_id, plan_id)).root_plan_id
