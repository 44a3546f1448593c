"""Ids on a command line: a whole id or its beginning, found by the calls of a client."""

from collections.abc import Collection, Iterable
from contextlib import suppress

from soorma_ai.api.clients.calls import KernelCalls
from soorma_ai.errors import LocalProtocolError, NotFound
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.runtime.views.plans import ACTIVE
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.wording import short_id

MOST_PLANS = 1_000_000
MOST_GOALS = 1_000
MOST_NAMED = 5
PAGE = 500


async def find_plan(client: KernelCalls, beginning: str) -> str:
    """Return the id of the one plan of this beginning. Raise NotFound for none, and for several."""
    with suppress(NotFound):
        return (await client.follow(beginning)).plan_id
    ids = [plan.plan_id for plan in await client.plans(limit=MOST_PLANS)]
    return only_one("plan", await tenant_in_words(client), beginning, ids)


async def find_wait(client: KernelCalls, beginning: str) -> str:
    """Return the id of the one open question of this beginning, else of the one closed question, else of the one open
    question of a plan of this beginning. Raise NotFound."""
    with suppress(NotFound):
        return (await client.wait(beginning)).wait_id
    ids = [wait.wait_id for wait in await client.find_waits(beginning)]
    if not ids:
        with suppress(NotFound):
            plan_id = await find_plan(client, beginning)
            return await _question_of(client, plan_id)
    return only_one("question", await tenant_in_words(client), beginning, ids)


async def _question_of(client: KernelCalls, plan_id: str) -> str:
    """Return the id of the one open question of a plan's tree. Raise LocalProtocolError for none, and for several."""
    waits = await client.waits(plan_id=plan_id)
    if len(waits) == 1:
        return waits[0].wait_id
    plan = f"{short_id(plan_id)} is a plan"
    if not waits:
        raise LocalProtocolError(
            f"{plan} without an open question: `soorma plans show {short_id(plan_id)}` has the details"
        )
    asked = ", ".join(f"{short_id(one.wait_id)} ({one_line(one.expected_event)})" for one in waits[:MOST_NAMED])
    more = f" and {len(waits) - MOST_NAMED} more" if len(waits) > MOST_NAMED else ""
    raise LocalProtocolError(f"{plan} with {len(waits)} open questions; give one of them: {asked}{more}")


async def find_event(client: KernelCalls, beginning: str) -> EventEnvelope:
    """Return the one event of this beginning. Raise NotFound for none, and for several."""
    found = {event.id: event for event in await client.find_events(beginning)}
    if beginning in found:
        return found[beginning]
    return found[only_one("event", await tenant_in_words(client), beginning, found)]


async def goals_of(client: KernelCalls, plan_ids: Collection[str]) -> dict[str, str]:
    """Return the goals of active plans, by their ids."""
    found = await client.plans(status=ACTIVE, limit=MOST_GOALS) if plan_ids else []
    goals = {plan.plan_id: plan.goal_event for plan in found if plan.plan_id in plan_ids}
    for plan_id in set(plan_ids) - goals.keys():
        with suppress(NotFound):
            goals[plan_id] = (await client.plan(plan_id)).goal_event
    return goals


async def types_of(client: KernelCalls, plan_id: str, event_ids: Iterable[str]) -> dict[str, str]:
    """Return the types of events for a plan, by their ids: of its tree, or from outside."""
    wanted, types, after, is_end = set(event_ids), dict[str, str](), 0, False
    while not is_end and wanted - types.keys():
        page = await client.events(after=after, limit=PAGE, plan_id=plan_id)
        types |= {row.event.id: row.event.type for row in page.events if row.event.id in wanted}
        after, is_end = page.after, page.is_end
    for event_id in wanted - types.keys():
        types |= {event.id: event.type for event in await client.find_events(event_id) if event.id == event_id}
    return types


def only_one(what: str, whose: str, beginning: str, ids: Iterable[str]) -> str:
    """Return the only id with this beginning. Raise NotFound for none, and for several."""
    found = sorted({id for id in ids if id.startswith(beginning)})
    if not found:
        raise NotFound(f"no {what}{whose} begins with {beginning!r}")
    if len(found) > 1:
        some = ", ".join(found[:3]) + (", …" if len(found) > 3 else "")
        raise NotFound(f"{len(found)} {what}s begin with {beginning!r} ({some}); give more of the id")
    return found[0]


async def tenant_in_words(client: KernelCalls) -> str:
    """Return the tenant in words."""
    return f" of tenant {(await client.whoami()).tenant_id!r}"
