"""The log of events, as one person of a tenant may read it."""

from soorma_ai.domain.people import Person
from soorma_ai.ports import EventPage, StoredEvent
from soorma_ai.runtime.handling.handling import Services

MOST_LOOKED_AT = 2_000
_SEE_ALL = frozenset({"operator", "auditor"})


def only_user(person: Person) -> str | None:
    """Return the one user of the tenant whose events a person sees; None: everybody's."""
    return None if person.roles is None or not person.roles.isdisjoint(_SEE_ALL) else person.user_id


async def events_of(
    services: Services, tenant_id: str, after: int, limit: int, *, root_plan_id: str | None, user_id: str | None
) -> EventPage:
    """Return events of a tree, of a user, or of the tenant. Of a user so many others are looked at in one go."""
    found: list[StoredEvent] = []
    looked_at = limit if user_id is None else MOST_LOOKED_AT
    rows = await services.store.events.events(
        after=after, tenant_id=tenant_id, root_plan_id=root_plan_id, limit=looked_at
    )
    for row in rows:
        if len(found) == limit:
            return EventPage(tuple(found), after, is_end=False)
        after = row.seq
        if user_id in (None, row.event.user_id):
            found.append(row)
    return EventPage(tuple(found), after, is_end=len(rows) < looked_at)
