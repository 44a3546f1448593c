"""A worker that raises, a killed one, and an absent one: the asker gets an error or a timeout, and the plan decides how
to go on."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from kit import (
    as_time_passes,
    kill_platform,
    open_platform,
    order,
    planner,
    running_platform,
    stock,
    the_wait,
    until,
    wait_for_requests,
)

from soorma_ai import Platform, PlatformContext, ResultContext, TaskContext, Worker
from soorma_ai.agents.agent import Agent
from soorma_ai.errors import ConfigError
from soorma_ai.kernel.rules.arrival.poison import LONGEST_PAUSE
from soorma_ai.kernel.rules.delivery.disposition import MAX_ATTEMPTS
from soorma_ai.kernel.runtime.handling.handler_task import LEASE
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish

CARRY, ERRAND = "carry.requested", "errand.requested"
PATIENCE = 60.0


def carrier(began: asyncio.Event | None = None) -> Worker:
    """A worker: raises, or, with `began`, works until its process ends."""
    worker = Worker("carrier")

    @worker.on_task(CARRY)
    async def carry(task: TaskContext, context: PlatformContext) -> None:
        if began is None:
            raise RuntimeError("dropped it")
        began.set()
        await asyncio.Event().wait()

    return worker


def clerk(patience: float = PATIENCE) -> Worker:
    """A worker: passes its task to the carrier, and completes with the outcome."""
    worker = Worker("clerk")

    @worker.on_task(ERRAND)
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        await task.delegate(CARRY, {}, "carried", timeout=patience)

    @worker.on_result("carried")
    async def over(result: ResultContext, context: PlatformContext) -> None:
        assert not result.success
        await (await result.restore_task()).complete({"clerk_was_told": result.data["error"]["code"]})

    return worker


def deciding_planner(first: Any, **options: Any) -> Any:
    """A planner: makes the first step, and decides about its outcome."""

    def decide(question: Any) -> Any:
        happened = question.messages[-1].content
        return first if "\nNow: The goal came." in happened else complete({"plan_was_told": happened})

    return planner(decide, **options)


def askers(whom: str, patience: float = PATIENCE) -> tuple[Agent, ...]:
    """The agents that stay: a plan that asks the carrier itself, or a worker between them; and another agent to ask."""
    if whom == "a plan":
        return deciding_planner(publish(CARRY), reply_timeout=timedelta(seconds=patience)), stock()
    return deciding_planner(publish(ERRAND)), clerk(patience), stock()


async def is_over(platform: Platform) -> Any:
    return [plan for plan in await platform.plans() if plan.status.is_final]


async def goes_on(platform: Platform, told: str) -> None:
    (plan,) = await until(platform, lambda: is_over(platform))
    assert (plan.status, told in str(plan.result)) == ("completed", True), plan.result


# A poison candidate rests for so many seconds at most, from the end of its lease.
SUSPECTS_REST = (LONGEST_PAUSE + LEASE).total_seconds()

requesters = pytest.mark.parametrize("requester", ["a plan", "a worker"])


@requesters
async def test_the_failure_of_a_worker_reaches_its_asker_and_the_plan_goes_on(
    platform: Platform, requester: str
) -> None:
    await order(platform, *askers(requester), carrier())
    await goes_on(platform, "handler_error")


@requesters
async def test_a_request_that_kills_its_worker_fails_once_its_attempts_are_spent(
    path: Path, clock: VirtualClock, requester: str
) -> None:
    kills = 0
    for life in range(3 * MAX_ATTEMPTS):
        platform, began = open_platform(path, clock), asyncio.Event()
        await platform.__aenter__()
        await platform.start(*askers(requester, 3 * MAX_ATTEMPTS * SUSPECTS_REST), carrier(began))
        if life == 0:
            await platform.submit("order.received", {})
        await clock.advance(SUSPECTS_REST)
        if not await begins_or_ends(platform, began):
            await goes_on(platform, "spent")
            await platform.__aexit__(None, None, None)
            break
        kills += 1
        await kill_platform(platform)
    assert kills == MAX_ATTEMPTS


async def begins_or_ends(platform: Platform, began: asyncio.Event) -> bool:
    """Tell whether the carrier works again; if not, the plan is over."""
    dying = asyncio.ensure_future(began.wait())
    ending = asyncio.ensure_future(until(platform, lambda: is_over(platform)))
    await asyncio.wait([dying, ending], return_when=asyncio.FIRST_COMPLETED)
    for task in (dying, ending):
        task.cancel()
    return began.is_set()


@requesters
async def test_a_request_to_a_killed_worker_times_out_and_the_plan_goes_on(
    path: Path, clock: VirtualClock, requester: str
) -> None:
    platform, began = open_platform(path, clock), asyncio.Event()
    await platform.__aenter__()
    await order(platform, *askers(requester), carrier(began))
    assert await begins_or_ends(platform, began)
    await kill_platform(platform)
    async with running_platform(path, clock, *askers(requester)) as platform:
        await time_passes(platform, clock, requester)


@requesters
async def test_a_request_to_an_absent_worker_times_out_and_the_plan_goes_on(
    platform: Platform, clock: VirtualClock, requester: str
) -> None:
    """It is offered: its last heartbeat is recent."""
    await platform.services.store.registry.register([carrier().registration()], clock.now())
    await order(platform, *askers(requester))
    await wait_for_requests(platform, CARRY)
    await time_passes(platform, clock, requester)


async def time_passes(platform: Platform, clock: VirtualClock, requester: str) -> None:
    assert await is_over(platform) == []
    await as_time_passes(clock, lambda: is_over(platform))
    await goes_on(platform, TOLD_IN_TIME[requester])


TOLD_IN_TIME = {"a plan": f"No answer to {CARRY} came in time.", "a worker": "deadline_exceeded"}


async def test_the_timeout_of_a_held_request_begins_at_its_approval(platform: Platform, clock: VirtualClock) -> None:
    gone = Worker("carrier")

    @gone.on_task(CARRY, approval="always")
    async def carry(task: TaskContext, context: PlatformContext) -> None:
        await asyncio.Event().wait()

    await platform.services.store.registry.register([gone.registration()], clock.now())
    await order(platform, *askers("a plan"))
    held = await the_wait(platform)
    await clock.advance(3 * PATIENCE)
    assert await is_over(platform) == []
    await platform.answer(held.wait_id, {"approved": True})
    await wait_for_requests(platform, CARRY)
    await time_passes(platform, clock, "a plan")


@pytest.mark.parametrize("given", [timedelta(0), timedelta.max, "30"])
def test_an_invalid_reply_timeout_is_refused_at_its_declaration(given: Any) -> None:
    with pytest.raises(ConfigError, match="reply_timeout="):
        planner([], reply_timeout=given)
