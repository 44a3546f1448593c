"""A worker that raises, one that is killed, and one that is never there: whoever asked it is told, or its time is
over, and the plan goes on to decide what to do about it."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from kit import as_time_passes, killed, open_platform, order, planner, requested, running, stock, the_wait, until

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
    """Raises, or, with `began`, is at it until its process ends."""
    worker = Worker("carrier")

    @worker.on_task(CARRY)
    async def carry(task: TaskContext, context: PlatformContext) -> None:
        if began is None:
            raise RuntimeError("dropped it")
        began.set()
        await asyncio.Event().wait()

    return worker


def clerk(patience: float = PATIENCE) -> Worker:
    """Asks the carrier for what it is asked, and tells what became of it."""
    worker = Worker("clerk")

    @worker.on_task(ERRAND)
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        await task.delegate(CARRY, {}, "carried", timeout=patience)

    @worker.on_result("carried")
    async def over(result: ResultContext, context: PlatformContext) -> None:
        assert not result.success
        await (await result.restore_task()).complete({"clerk_was_told": result.data["error"]["code"]})

    return worker


def deciding(first: Any, **options: Any) -> Any:
    """The first step, and what to do about whatever comes of it."""

    def decide(question: Any) -> Any:
        happened = question.messages[-1].content
        return first if "\nNow: The goal came." in happened else complete({"plan_was_told": happened})

    return planner(decide, **options)


def asking(whom: str, patience: float = PATIENCE) -> tuple[Agent, ...]:
    """Those who stay: a plan that asks the carrier itself, or a worker between them; and who else can be asked."""
    if whom == "a plan":
        return deciding(publish(CARRY), reply_timeout=timedelta(seconds=patience)), stock()
    return deciding(publish(ERRAND)), clerk(patience), stock()


async def is_over(platform: Platform) -> Any:
    return [plan for plan in await platform.plans() if plan.status.is_final]


async def goes_on(platform: Platform, told: str) -> None:
    (plan,) = await until(platform, lambda: is_over(platform))
    assert (plan.status, told in str(plan.result)) == ("completed", True), plan.result


# What ends processes rests for so many seconds at most, from the end of its lease.
SUSPECTS_REST = (LONGEST_PAUSE + LEASE).total_seconds()

requesters = pytest.mark.parametrize("requester", ["a plan", "a worker"])


@requesters
async def test_whoever_asked_a_worker_that_failed_is_told_and_the_plan_goes_on(
    platform: Platform, requester: str
) -> None:
    await order(platform, *asking(requester), carrier())
    await goes_on(platform, "handler_error")


@requesters
async def test_whoever_asked_for_what_kills_is_told_when_its_attempts_are_spent(
    path: Path, clock: VirtualClock, requester: str
) -> None:
    kills = 0
    for life in range(3 * MAX_ATTEMPTS):
        platform, began = open_platform(path, clock), asyncio.Event()
        await platform.__aenter__()
        await platform.start(*asking(requester, 3 * MAX_ATTEMPTS * SUSPECTS_REST), carrier(began))
        if life == 0:
            await platform.submit("order.received", {})
        await clock.advance(SUSPECTS_REST)
        if not await begins_or_ends(platform, began):
            await goes_on(platform, "spent")
            await platform.__aexit__(None, None, None)
            break
        kills += 1
        await killed(platform)
    assert kills == MAX_ATTEMPTS


async def begins_or_ends(platform: Platform, began: asyncio.Event) -> bool:
    """Whether the carrier is at it again; if not, the plan is over."""
    dying = asyncio.ensure_future(began.wait())
    ending = asyncio.ensure_future(until(platform, lambda: is_over(platform)))
    await asyncio.wait([dying, ending], return_when=asyncio.FIRST_COMPLETED)
    for task in (dying, ending):
        task.cancel()
    return began.is_set()


@requesters
async def test_the_time_of_who_was_killed_and_does_not_come_back_is_over_and_the_plan_goes_on(
    path: Path, clock: VirtualClock, requester: str
) -> None:
    platform, began = open_platform(path, clock), asyncio.Event()
    await platform.__aenter__()
    await order(platform, *asking(requester), carrier(began))
    assert await begins_or_ends(platform, began)
    await killed(platform)
    async with running(path, clock, *asking(requester)) as platform:
        await time_passes(platform, clock, requester)


@requesters
async def test_the_time_of_who_was_never_there_is_over_and_the_plan_goes_on(
    platform: Platform, clock: VirtualClock, requester: str
) -> None:
    """It is offered, as it was there not long ago."""
    await platform.services.store.registry.register([carrier().registration()], clock.now())
    await order(platform, *asking(requester))
    await requested(platform, CARRY)
    await time_passes(platform, clock, requester)


async def time_passes(platform: Platform, clock: VirtualClock, requester: str) -> None:
    assert await is_over(platform) == []
    await as_time_passes(clock, lambda: is_over(platform))
    await goes_on(platform, TOLD_IN_TIME[requester])


TOLD_IN_TIME = {"a plan": f"No answer to {CARRY} came in time.", "a worker": "deadline_exceeded"}


async def test_a_request_that_a_person_let_go_has_its_time_from_then_on(
    platform: Platform, clock: VirtualClock
) -> None:
    gone = Worker("carrier")

    @gone.on_task(CARRY, approval="always")
    async def carry(task: TaskContext, context: PlatformContext) -> None:
        await asyncio.Event().wait()

    await platform.services.store.registry.register([gone.registration()], clock.now())
    await order(platform, *asking("a plan"))
    held = await the_wait(platform)
    await clock.advance(3 * PATIENCE)
    assert await is_over(platform) == []
    await platform.answer(held.wait_id, {"approved": True})
    await requested(platform, CARRY)
    await time_passes(platform, clock, "a plan")


@pytest.mark.parametrize("given", [timedelta(0), timedelta.max, "30"])
def test_no_time_that_can_be_waited_is_told_when_it_is_declared(given: Any) -> None:
    with pytest.raises(ConfigError, match="reply_timeout="):
        planner([], reply_timeout=given)
