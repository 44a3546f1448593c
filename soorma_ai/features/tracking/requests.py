"""Progress of clients' requests, which belong to no plan."""

from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.context_parts.progress import Action, Report
from soorma_ai.errors import NotFound
from soorma_ai.features.tracking import progress
from soorma_ai.features.tracking.ports import PLAN_LISTS
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.ports import EventHandling
from soorma_ai.kernel.rules.authority import Right, only_user
from soorma_ai.kernel.runtime.client.open_requests import find_gate, find_request, own_request
from soorma_ai.kernel.runtime.handling.handling import Services

PAGE = 500
# Events of the log, from its end back, that are read for reports of workers.
MOST_LOOKED_AT = 2_000


class RequestPage(Struct, frozen=True):
    """Open requests, the newest first. `before` is the place of the next page; None at the end."""

    actions: list[Action]
    before: str | None


class RequestDetails(Struct, frozen=True):
    """A request with its progress, its expected reply, its event and the event of its reply."""

    action: Action
    expected: Expectation
    event: EventEnvelope
    reply: EventEnvelope | None


async def list_requests(services: Services, person: Person, limit: int, before: str | None = None) -> RequestPage:
    """Return the open requests of a person, or of the tenant for its operators, the newest first."""
    lists = services.store.part(PLAN_LISTS)
    rows = await lists.open_requests(person.tenant_id, only_user(person), limit + 1, before)
    shown = rows[:limit]
    actions = await describe_requests(services, person, shown)
    return RequestPage(actions, shown[-1].id if len(rows) > limit else None)


async def find_details(services: Services, person: Person, request_id: str, right: Right) -> RequestDetails:
    """Return a request, open or ended. Raise NotFound, Forbidden."""
    row = await own_request(services.store, person, request_id, right)
    found, event = await describe_requests(services, person, [row]), await find_request(services.store, row.id)
    if not found or event is None:
        raise NotFound(f"request {request_id} is gone: it was pruned, or its user was forgotten")
    reply = await services.store.events.event(row.met_by) if row.met_by else None
    return RequestDetails(found[0], row, event, reply)


def state_of(action: Action) -> str:
    """Return the status of a request; `held` while it waits for an approval."""
    return "held" if action.wait_id else str(action.status)


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
