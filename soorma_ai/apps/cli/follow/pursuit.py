"""One plan, followed and printed from its goal to its end."""

import asyncio
from collections.abc import Hashable
from contextlib import suppress
from datetime import datetime

from soorma_ai.apps.cli.follow.responders import Responder
from soorma_ai.apps.cli.view.live import Voice
from soorma_ai.errors import NotFound
from soorma_ai.features.tracking.live import news
from soorma_ai.features.tracking.service import reader_of
from soorma_ai.features.tracking.trace import Trace
from soorma_ai.kernel.domain.expectations import ExpectationKind, Wait
from soorma_ai.kernel.domain.plans import plan_id_of
from soorma_ai.kernel.runtime.client.client import Client
from soorma_ai.kernel.runtime.handling.process.signals import until

POLL_SECONDS = 1.0
PAUSE_PER_LOOK = 4
MOST_READS = 3
MOST_PLANS = 10_000


async def pursue(client: Client, plan_id: str, responder: Responder, voice: Voice, woken: asyncio.Event) -> None:
    """Return at the end of the plan, at a question without a responder here, or at a block that needs an operator.
    `woken` is set after each possible change."""
    telling = _PlanNarration(voice)
    clock = client.services.clock
    while True:
        looked_at = clock.monotonic()
        trace, waits = await _look(client, plan_id, woken)
        if trace is not None:
            telling.tell(trace)
            is_answered_here = await responder.attend(waits)
            if trace.status.is_final:
                return
            blocked = frozenset(one.plan_id for one in trace.blocked if one.resumed_at is None)
            is_waited_for = bool(waits) and is_answered_here and not blocked
            if (waits or blocked) and not is_waited_for and await _only_people_can_move(client, plan_id, blocked):
                return
        # Looking takes the longer the longer the plan is, and the agents run in this process: leave them most of it.
        await clock.sleep(PAUSE_PER_LOOK * (clock.monotonic() - looked_at))
        await until(woken, clock, POLL_SECONDS)


async def _look(client: Client, plan_id: str, woken: asyncio.Event) -> tuple[Trace | None, list[Wait]]:
    """Return the trace, None while no planner has taken the goal, and the open questions: of one moment, so far as
    commits leave the time to read all of it between two of them."""
    trace: Trace | None = None
    waits: list[Wait] = []
    for _ in range(MOST_READS):
        woken.clear()
        waits = await waits_of(client, plan_id)
        with suppress(NotFound):
            trace = await reader_of(client).trace(plan_id)
        if not woken.is_set():
            break
    return trace, waits


class _PlanNarration:
    """Prints each event of one plan once. Times count from the first known start: a plan starts again where its first
    handling does."""

    def __init__(self, voice: Voice) -> None:
        self._voice = voice
        self._told: set[Hashable] = set()
        self._start: datetime | None = None

    def tell(self, trace: Trace) -> None:
        self._start = self._start or trace.started_at
        for one in news(trace, self._told):
            self._told.add(one.mark)
            self._voice.tell(one, self._start)


async def waits_of(client: Client, root_plan_id: str) -> list[Wait]:
    """Return the open questions of the plan and its children, the most urgent first."""
    found = map(Wait.of, await client.services.store.plans.open_in_tree(root_plan_id))
    return sorted((wait for wait in found if wait), key=Wait.urgency)


async def _only_people_can_move(client: Client, root_plan_id: str, blocked: frozenset[str]) -> bool:
    """Return whether every plan of the tree waits for a person or for such a child, or needs an operator."""
    store, tenant_id = client.services.store, client.person.tenant_id
    tree = await store.plans.plans(tenant_id=tenant_id, status=None, root_plan_id=root_plan_id, limit=MOST_PLANS)
    living = [plan for plan in tree if not plan.status.is_final]
    awaited = await store.plans.open_in_tree(root_plan_id)
    if any(one.kind is ExpectationKind.REPLY for one in awaited):
        return False
    if {plan.plan_id for plan in living} != {one.plan_id for one in awaited} | blocked:
        return False
    goals = [one.id for one in awaited if one.kind is ExpectationKind.CHILD]
    return all(any(plan.plan_id == plan_id_of(goal, plan.agent) for plan in living) for goal in goals)
