"""Ids on a command line: a whole id or its beginning, looked up with a client."""

from collections.abc import Collection, Iterable
from contextlib import suppress

from soorma_ai.api.clients.calls import KernelCalls
from soorma_ai.errors import NotFound
from soorma_ai.kernel.domain.dead_letters import Letter
from soorma_ai.kernel.domain.expectations import ExpectationStatus
from soorma_ai.kernel.runtime.client.client import Client
from soorma_ai.kernel.runtime.views.plans import ACTIVE
from soorma_ai.surfaces.options import SHORTEST_PREFIX

MOST_PLANS = 1_000_000
MOST_QUESTIONS = 1_000
MOST_LETTERS = 1_000_000
LONGEST_NUMBER = 18
MOST_OVER_HTTP = 1_000
PAGE = 500


async def find_plan(client: KernelCalls, beginning: str) -> str:
    """Return the id of the one plan that begins so. Raise NotFound for none, and for several."""
    with suppress(NotFound):
        return (await client.follow(beginning)).plan_id
    ids = [plan.plan_id for plan in await client.plans(limit=MOST_PLANS)]
    return only_one("plan", _whose(client), beginning, ids)


async def find_wait(client: KernelCalls, beginning: str) -> str:
    """Return the id of the one open question that begins so, else of the one closed question, which a server finds by
    its whole id only. Raise NotFound."""
    with suppress(NotFound):
        return (await client.wait(beginning)).wait_id
    if not isinstance(client, Client):
        ids = [wait.wait_id for wait in await client.waits(limit=MOST_QUESTIONS)]
        return only_one("open question", _whose(client), beginning, ids)
    store, tenant_id = client.services.store, client.person.tenant_id
    asked = await store.plans.questions_beginning(tenant_id, beginning, MOST_QUESTIONS)
    open_now = [one.id for one in asked if one.status is ExpectationStatus.OPEN]
    what = "open question" if open_now else "question"
    return only_one(what, _whose(client), beginning, open_now or [one.id for one in asked])


async def goals_of(client: KernelCalls, plan_ids: Collection[str]) -> dict[str, str]:
    """Return the goals of plans that go on, by their ids."""
    if isinstance(client, Client):
        found = [await client.services.store.plans.plan(plan_id) for plan_id in plan_ids]
    else:
        found = await client.plans(status=ACTIVE, limit=MOST_OVER_HTTP) if plan_ids else []
    return {plan.plan_id: plan.goal_event for plan in found if plan and plan.plan_id in plan_ids}


async def types_of(client: KernelCalls, plan_id: str, event_ids: Iterable[str]) -> dict[str, str]:
    """Return the types of events that came for a plan, by their ids; a server tells those of its tree."""
    if isinstance(client, Client):
        found = [await client.services.store.events.event(event_id) for event_id in event_ids]
        return {event.id: event.type for event in found if event}
    wanted, types, after, is_end = set(event_ids), dict[str, str](), 0, False
    while not is_end and wanted - types.keys():
        page = await client.events(after=after, limit=PAGE, plan_id=plan_id)
        types |= {row.event.id: row.event.type for row in page.events if row.event.id in wanted}
        after, is_end = page.after, page.is_end
    return types


async def find_dead_letter(client: KernelCalls, named: str) -> Letter:
    """Return the letter of this number, whatever became of it, or the one dead letter whose event's id begins so.

    Raise NotFound for none, and for several.
    """
    found: dict[int, Letter] = {}
    if named.isascii() and named.isdigit() and len(named) <= LONGEST_NUMBER:
        with suppress(NotFound):
            one = await client.dead_letter(int(named))
            found[one.letter_id] = one
    if len(named) >= SHORTEST_PREFIX:
        dead = await client.dead_letters(limit=MOST_LETTERS)
        found |= {one.letter_id: one for one in dead if one.event.id.startswith(named)}
    if not found:
        raise NotFound(
            f"no dead letter{_whose(client)} has the number {named!r}, "
            f"nor an event whose id begins so with {SHORTEST_PREFIX} characters or more"
        )
    if len(found) > 1:
        ids = [str(letter_id) for letter_id in sorted(found)]
        some = ", ".join(ids[:3]) + (", …" if len(ids) > 3 else "")
        raise NotFound(f"{named!r} may mean {len(ids)} dead letters; give the number of one: {some}")
    return next(iter(found.values()))


def only_one(what: str, whose: str, beginning: str, ids: Iterable[str]) -> str:
    """Return the one id that begins so. Raise NotFound for none, and for several."""
    found = sorted({id for id in ids if id.startswith(beginning)})
    if not found:
        raise NotFound(f"no {what}{whose} begins with {beginning!r}")
    if len(found) > 1:
        some = ", ".join(found[:3]) + (", …" if len(found) > 3 else "")
        raise NotFound(f"{len(found)} {what}s begin with {beginning!r} ({some}); give more of the id")
    return found[0]


def _whose(client: KernelCalls) -> str:
    """Return the tenant in words; a server says nothing of it."""
    return f" of tenant {client.person.tenant_id!r}" if isinstance(client, Client) else ""
