"""Plans are forked at every decision, in every way, with kills between: nothing acts that no person has approved.

FORKED_PLANS=200 for the whole; `make forks` runs it.
"""

import json
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from kit import as_time_passes, is_idle, kill_platform, open_platform, planner, until
from test_trials import rows_of

from soorma_ai import Agent, InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.kernel.domain.history import StepKind
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.values import digest
from soorma_ai.kernel.ports import ModelQuestion, StoredEvent
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, give_up, publish, publish_all

PLANS = int(os.environ.get("FORKED_PLANS") or 2)
RESERVE, CHARGE = publish("stock.reserve", n=1), publish("payment.charge", n=1)
MOST_REQUESTS = 3
# Rows with the last sign of life of an agent, the last use of a text that all plans share, the last number of a table.
COUNTERS = ("agent", "meta", "prompt_part", "sqlite_sequence")
OF_A_FORK = {"plan.forked", "plan.wait.answered", "plan.cancel.requested"}

pytestmark = pytest.mark.timeout(120 + 6 * PLANS)


def decide(question: ModelQuestion) -> Any:
    """Decide by the words of the question alone, so that the same question has the same answer."""
    told = "\n".join(message.content for message in question.messages)
    if told.count("You published") >= MOST_REQUESTS or "A person rejected" in told:
        return complete({"words": digest(told)})
    again = publish("payment.charge", n=int(digest(told)[:4], 16) % 2 + 1)
    choices = [RESERVE, CHARGE, again, publish_all(RESERVE, again), publish_all(RESERVE, CHARGE, RESERVE, need=2)]
    choices += [complete({"words": "early"}), give_up("no way")] if "You published" in told else []
    return choices[int(digest(told)[4:10], 16) % len(choices)]


def agents(done: Counter[str]) -> tuple[Agent, ...]:
    tools = Tool("tools")

    @tools.on_invoke("stock.reserve", payload_schema={"type": "object"})
    async def reserve(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        done[request.idempotency_key] += 1
        return {"reserved": request.data}

    @tools.on_invoke("payment.charge", payload_schema={"type": "object"})
    async def charge(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        done[request.idempotency_key] += 1
        return {"charged": request.data}

    return tools, planner(decide)


async def answer_all(platform: Platform, clock: VirtualClock, chance: random.Random) -> None:
    """Approve or reject until each plan has ended."""

    async def have_ended() -> bool:
        for asked in await platform.waits():
            await platform.answer(asked.wait_id, {"approved": chance.random() < 0.6}, note="by chance")
        return not await platform.plans(status="active") and await is_idle(platform)

    await as_time_passes(clock, have_ended, 5.0)


async def live(path: Path, clock: VirtualClock, done: Counter[str]) -> Platform:
    platform = open_platform(path, clock)
    await platform.__aenter__()
    await platform.start(*agents(done))
    return platform


async def log_of(platform: Platform) -> list[StoredEvent]:
    return await platform.services.store.events.events(limit=1_000_000)


async def check_dry(platform: Platform, origins: dict[str, PlanRecord]) -> int:
    """Compare the ends of dry forks with those of their origins, but for those with late replies: their moment is not
    recorded. Return the number of forks."""
    forks = [one for one in await platform.plans(limit=10_000) if one.fork is not None]
    for one in forks:
        if one.fork is not None and one.fork.is_dry:
            origin = origins[one.fork.plan_id]
            steps = (await platform.plan(origin.plan_id)).steps
            if sum(step.kind is StepKind.PUBLISHED for step in steps) > sum(
                step.kind is StepKind.REPLIED for step in steps
            ):
                continue
            assert (one.status, one.result, one.reason) == (origin.status, origin.result, origin.reason)
    return len(forks)


async def test_forks_at_every_decision_act_nowhere(path: Path, clock: VirtualClock) -> None:
    chance, done, wanted = random.Random(7), Counter[str](), 0
    platform = await live(path, clock, done)
    for number in range(PLANS):
        await platform.submit("order.received", {"order": number})
    await until(platform, lambda: is_idle(platform))
    origins = {one.plan_id: one for one in await platform.plans(limit=10_000)}
    rows, before, effects = rows_of(path), await log_of(platform), dict(done)
    for plan_id in origins:
        for number in range(1, len((await platform.plan(plan_id)).decisions) + 1):
            for change in ({}, {"dry": True}):
                await platform.fork(plan_id, number, key=f"{plan_id} {number} {json.dumps(change)}", **change)
                wanted += 1
        if chance.random() < 0.5:
            await kill_platform(platform)
            platform = await live(path, clock, done)
    await answer_all(platform, clock, chance)
    assert await check_dry(platform, origins) == wanted
    assert done == effects
    assert {one.event.type for one in (await log_of(platform))[len(before) :]} <= OF_A_FORK
    after = rows_of(path)
    for table, found in rows.items():
        kept = {*map(repr, after[table])}
        lost = [row for row in found if repr(row) not in kept]
        assert table in COUNTERS or lost == [], table
    await platform.__aexit__(None, None, None)
