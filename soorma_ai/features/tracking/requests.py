"""Progress of clients' requests, which belong to no plan."""

from collections import defaultdict
from collections.abc import Sequence

from msgspec.structs import replace

from soorma_ai.context_parts.progress import Action, Report
from soorma_ai.features.tracking import progress
from soorma_ai.features.tracking.ports import PLAN_LISTS
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.ports import EventHandling
from soorma_ai.kernel.rules.authority import only_user
from soorma_ai.kernel.runtime.client.open_requests import find_gate, find_request
from soorma_ai.kernel.runtime.handling.handling import Services

PAGE = 500
# Events of the log, from its end back, that are read for reports of workers.
MOST_LOOKED_AT = 2_000


async def list_requests(services: Services, person: Person, limit: int) -> list[Action]:
    """Return the open requests of a person, or of the tenant for its operators, the newest first."""
    rows = await services.store.part(PLAN_LISTS).open_requests(person.tenant_id, only_user(person), limit)
    return await describe_requests(services, person, rows)


async def describe_requests(services: Services, person: Person, rows: Sequence[Expectation]) -> list[Action]:
    """Return the progress of requests, without removed ones."""
    store, tenant_id, ids = services.store, person.tenant_id, [one.id for one in rows]
    handed = defaultdict[str, list[EventHandling]](list)
    for one in await store.events.receivers_of(ids):
        handed[one.event_id].append(one)
    waiting = await store.events.untaken(tenant_id, services.clock.now(), limit=PAGE, user_id=only_user(person))
    untaken = {one.request_id: one for one in waiting}
    has_begun = any(one.has_begun for known in handed.values() for one in known)
    reports = await _reports(services, tenant_id, rows) if has_begun else {}
    found: list[Action] = []
    for one in rows:
        event, gate = await find_request(store, one.id), await find_gate(store, one.id)
        if event is None:
            continue
        reply = await store.events.event(one.met_by) if one.met_by else None
        action = progress.action(event, one, reply, handed[one.id], reports.get(one.id), untaken.get(one.id))
        found.append(replace(action, wait_id=gate.id if gate else None))
    return found


async def _reports(services: Services, tenant_id: str, rows: Sequence[Expectation]) -> dict[str, Report]:
    """Return the last reports about requests, from the newest events of the tenant."""
    wanted, reports, before, looked_at = {one.id for one in rows}, dict[str, Report](), 0, 0
    begin = min(one.opened_at for one in rows)
    while looked_at < MOST_LOOKED_AT and wanted - reports.keys():
        page = await services.store.events.page(tenant_id, before, PAGE, newest=True)
        events = [row.event for row in page.events]
        known = progress.reports_of(events)
        reports = {id: known[id] for id in wanted & known.keys()} | reports
        before, looked_at = page.after, looked_at + len(events)
        if page.is_end or (events and events[-1].time < begin):
            break
    return reports
