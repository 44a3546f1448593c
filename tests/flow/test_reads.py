"""What a planner's step reads: once in a handling, however many steps came before, and what any process would read."""

from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from kit import open_platform, planner, pursue, stock, the_wait

from soorma_ai import Limits, Platform
from soorma_ai.kernel.runtime.handling.process.histories import Histories
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish, wait

OF_A_STEP = {"plan_of_event", "in_hand", "steps", "find_marked"}
OTHERS = {"find_met", "expectations", "plan_values", "read_spent", "journal", "decisions", "find_shown", "steps_at"}
ASKED = [publish("inventory.reserve.requested", order_id=f"A{number}") for number in range(6)]


def count_reads(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count, by its name, each read of what is stored about plans."""
    counted: Counter[str] = Counter()
    plans = platform.services.store.plans

    def counting(name: str, real: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def read(*given: Any, **named: Any) -> Any:
            counted[name] += 1
            return await real(*given, **named)

        return read

    for name in OF_A_STEP | OTHERS:
        monkeypatch.setattr(plans, name, counting(name, getattr(plans, name)))
    return counted


async def test_each_step_reads_what_is_stored_once(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = count_reads(platform, monkeypatch)
    plan = await pursue(platform, "order.received", {}, planner([*ASKED, complete({})]), stock())
    await plan.result(timeout=5)
    # The first step is that of a plan which is just begun, and of which no steps are stored.
    assert reads == {"plan_of_event": 6, "in_hand": 7, "steps": 6, "find_marked": 7}


async def test_a_step_reads_only_the_steps_that_are_new(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    many = [publish("inventory.reserve.requested", order_id=str(number)) for number in range(70)]
    limits = Limits(max_actions=None, max_llm_calls=None, max_tokens=None)
    plans, read = platform.services.store.plans, list[int]()
    real = plans.steps

    async def steps(plan_id: str, first: int = 0) -> Any:
        found = await real(plan_id, first)
        read.append(len(found))
        return found

    monkeypatch.setattr(plans, "steps", steps)
    plan = await pursue(platform, "order.received", {}, planner([*many, complete({})], limits=limits), stock())
    await plan.result(timeout=30)
    assert len(read) == 70 and max(read) <= 2, "the goal and its request, then an answer and the request after it"


async def go_on(platform: Platform, plan_id: str) -> None:
    question = await the_wait(platform)
    await platform.answer(question.wait_id, {}, decision="respond")
    await (await platform.follow(plan_id)).result(timeout=5)


async def test_a_plan_that_goes_on_in_another_process_is_told_the_same(tmp_path: Path) -> None:
    script = [*ASKED[:3], wait("human.word", "Go on?"), *ASKED[3:], complete({})]

    async def tell(name: str, *, again: bool) -> list[str]:
        before, after = (planner(part, external_events=["human.word"]) for part in (script, script[4:]))
        async with open_platform(tmp_path / name, VirtualClock()) as platform:
            plan = await pursue(platform, "order.received", {}, before, stock())
            await the_wait(platform)
            if not again:
                await go_on(platform, plan.plan_id)
        if again:
            async with open_platform(tmp_path / name, VirtualClock()) as platform:
                await platform.start(after, stock())
                await go_on(platform, plan.plan_id)
        asked = [*before.reasoner.questions, *after.reasoner.questions]  # type: ignore[union-attr]
        return [message.content for one in asked for message in one.messages]

    assert await tell("one.db", again=False) == await tell("two.db", again=True)


async def test_however_much_of_a_history_is_kept_all_that_is_asked_for_is_read(platform: Platform) -> None:
    plan = await pursue(platform, "order.received", {}, planner([*ASKED, complete({})]), stock())
    await plan.result(timeout=5)
    store = platform.services.store.plans
    found = await store.plan(plan.plan_id)
    assert found is not None
    for most in (0, 5, 100):
        histories = Histories(most)
        for first in (0, 4, 0):
            earlier, told = await histories.read(store, found, first)
            assert [step.ordinal for step in told] == list(range(first, found.steps))
            assert earlier.last == max(first - 1, 0), "the facts of all that is before"
