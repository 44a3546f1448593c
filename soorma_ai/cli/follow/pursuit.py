"""One plan followed from its goal to its end, and printed as it goes on."""

import asyncio
from contextlib import suppress

from soorma_ai.cli.follow.responders import Responder
from soorma_ai.core.report.lines import LineKind, flatten
from soorma_ai.core.report.trace import Trace
from soorma_ai.domain.expectations import ExpectationKind, Wait
from soorma_ai.domain.plans import plan_id_of
from soorma_ai.errors import NotFound
from soorma_ai.runtime.client.client import Client
from soorma_ai.runtime.handling.process.signals import until
from soorma_ai.terminal.printing import Printer
from soorma_ai.terminal.story import explanation, headline
from soorma_ai.terminal.wording import offset

POLL_SECONDS = 1.0
PAUSE_PER_LOOK = 4
MOST_PLANS = 10_000
INDENT = 11


async def pursue(client: Client, plan_id: str, responder: Responder, printer: Printer, woken: asyncio.Event) -> None:
    """Return when the plan has ended, or when only people can move it and nobody here will. `woken` is set whenever
    something may have changed."""
    seen: set[tuple[object, ...]] = set()
    clock = client.services.clock
    while True:
        looked_at = clock.monotonic()
        waits = await waits_of(client, plan_id)
        trace: Trace | None = None
        with suppress(NotFound):  # while no planner has taken the goal
            trace = await client.trace(plan_id)
        if trace is not None:
            _print_new(trace, seen, printer)
            is_answered_here = await responder.attend(waits)
            if trace.status.is_final:
                return
            if waits and not is_answered_here and await _only_people_can_move(client, plan_id):
                return
        # Looking takes the longer the longer the plan is, and the agents run in this process: leave them most of it.
        await clock.sleep(PAUSE_PER_LOOK * (clock.monotonic() - looked_at))
        await until(woken, clock, POLL_SECONDS)


def _print_new(trace: Trace, seen: set[tuple[object, ...]], printer: Printer) -> None:
    """Print what was not `seen` yet, in order of time. Of turns only that of the goal: what began others is there."""
    for line in sorted(flatten(trace.lines), key=lambda line: line.time):
        # What is done twice at the same moment differs in its event.
        mark = (line.kind, line.time, line.who, line.what, line.event_id, line.plan_id)
        is_told = line.kind is LineKind.OPEN or (line.kind is LineKind.TURN and line.data is None)
        if is_told or mark in seen:
            continue
        seen.add(mark)
        printer.line(*headline(line), label=f"{offset(line.time):<{INDENT}}")
        if why := explanation(line):
            printer.line(*why, indent=INDENT)


async def waits_of(client: Client, root_plan_id: str) -> list[Wait]:
    """Return what the plan and its children ask people, the most urgent first."""
    found = map(Wait.of, await client.services.store.plans.open_in_tree(root_plan_id))
    return sorted((wait for wait in found if wait), key=Wait.urgency)


async def _only_people_can_move(client: Client, root_plan_id: str) -> bool:
    """Return whether every plan of the tree waits for a person, or for a child that does."""
    store, tenant_id = client.services.store, client.person.tenant_id
    tree = await store.plans.plans(tenant_id=tenant_id, status=None, root_plan_id=root_plan_id, limit=MOST_PLANS)
    living = [plan for plan in tree if not plan.status.is_final]
    awaited = await store.plans.open_in_tree(root_plan_id)
    if any(one.kind is ExpectationKind.REPLY for one in awaited):
        return False
    if {plan.plan_id for plan in living} != {one.plan_id for one in awaited}:
        return False
    goals = [one.id for one in awaited if one.kind is ExpectationKind.CHILD]
    return all(any(plan.plan_id == plan_id_of(goal, plan.agent) for plan in living) for goal in goals)
