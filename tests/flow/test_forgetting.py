"""Erasure of a user with plans under way: they end, their waiters get an error, and nothing is left behind."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from kit import as_time_passes, happens, open_platform, planner
from phased import BRIEF, Writer, library
from places import bytes_of, counts_of

from soorma_ai import NotFound, Platform
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete

SECRET = "xylophone"
KEPT = ("event", "inbox", "outbox", "plan", "plan_value", "journal", "shown", "budget", "timer", "expectation")


class SlowModel:
    """A model that answers once `may_answer` is set."""

    def __init__(self, answer: Any) -> None:
        self.is_asked, self.may_answer = asyncio.Event(), asyncio.Event()
        self._answer = answer

    async def __call__(self, question: object) -> Any:
        self.is_asked.set()
        await self.may_answer.wait()
        return self._answer


@pytest.mark.parametrize("is_journey", [False, True], ids=["a plan", "a journey"])
async def test_a_models_answer_after_the_erasure_is_not_stored(path: Path, *, is_journey: bool) -> None:
    model = SlowModel(complete({"questions": [SECRET]}))
    agent = Writer(model) if is_journey else planner(model)
    async with open_platform(path) as platform:
        await platform.start(agent, library())
        ann = platform.as_user(tenant_id="default", user_id="ann")
        await ann.submit(*(("writer.wanted", {"brief": BRIEF}) if is_journey else ("order.received", {"said": SECRET})))
        await happens(model.is_asked)
        await platform.forget("ann")
        model.may_answer.set()
    left = counts_of(path)
    assert {table: left[table] for table in KEPT} == dict.fromkeys(KEPT, 0)
    assert SECRET.encode() not in bytes_of(path)


WAITING: list[Callable[[Any], Awaitable[Any]]] = [
    lambda plan: plan.result(),
    lambda plan: plan.next_wait(),
    lambda plan: _all(plan.events()),
]


async def _all(events: Any) -> Any:
    return [event async for event in events]


@pytest.mark.parametrize("waiting", WAITING, ids=["the end", "a question", "the events"])
async def test_a_wait_for_a_plan_of_an_erased_user_ends_with_not_found(
    platform: Platform, clock: VirtualClock, waiting: Any
) -> None:
    model = SlowModel(complete({}))
    await platform.start(planner(model), library())
    plan = await platform.as_user(tenant_id="default", user_id="ann").submit("order.received", {})
    await happens(model.is_asked)
    waits = asyncio.ensure_future(waiting(plan))
    await platform.forget("ann")
    await as_time_passes(clock, lambda: _is_done(waits))
    model.may_answer.set()
    with pytest.raises(NotFound, match="is gone"):
        await waits


async def _is_done(waits: asyncio.Future[Any]) -> bool:
    return waits.done()
