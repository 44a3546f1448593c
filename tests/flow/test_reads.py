"""Reads of a planner's step: once in a handling, after any number of steps, with the same outcome in every process."""

from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from kit import open_platform, planner, pursue, stock, the_wait
from msgspec.structs import replace
from test_hand_and_rows import must_keep_hands

from soorma_ai import Limits, Platform
from soorma_ai.kernel.domain.history import StepKind
from soorma_ai.kernel.runtime.handling.process.histories import Histories
from soorma_ai.kernel.sql.plan_states import StateInHand
from soorma_ai.kernel.sql.tables import plans as tables
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish, wait

OF_A_STEP = {"state"}
OTHERS = {
    "steps",
    "find_met",
    "expectations",
    "plan_values",
    "read_spent",
    "journal",
    "decisions",
    "find_shown",
    "steps_at",
}
ASKED = [publish("inventory.reserve.requested", order_id=f"A{number}") for number in range(6)]


def count_reads(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count, by its name, each read of the store of plans."""
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


async def test_each_step_reads_its_stored_plan_once(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    must_keep_hands()
    reads = count_reads(platform, monkeypatch)
    plan = await pursue(platform, "order.received", {}, planner([*ASKED, complete({})]), stock())
    await plan.result(timeout=5)
    # The first step looks up the plan, and the spending of its tree.
    assert reads == {"state": 7, "read_spent": 1}


async def test_a_plan_in_hand_of_any_length_is_not_read_again(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    must_keep_hands()
    many = [publish("inventory.reserve.requested", order_id=str(number)) for number in range(70)]
    limits = Limits(max_actions=None, max_llm_calls=None, max_tokens=None)
    read = list[str]()
    real = tables.state_since

    def state_since(db: Any, in_hand: StateInHand | None, plan_id: str, event_id: str = "") -> Any:
        found = real(db, in_hand, plan_id, event_id)
        if found is None or in_hand is None or found[0].place != in_hand.place:
            read.append(event_id)
        return found

    monkeypatch.setattr(tables, "state_since", state_since)
    plan = await pursue(platform, "order.received", {}, planner([*many, complete({})], limits=limits), stock())
    await plan.result(timeout=30)
    assert len(read) == 1, "whether the plan is there at its goal"


async def go_on(platform: Platform, plan_id: str) -> None:
    question = await the_wait(platform)
    await platform.answer(question.wait_id, {}, decision="respond")
    await (await platform.follow(plan_id)).result(timeout=5)


async def test_a_plan_going_on_in_another_process_has_the_same_prompts(tmp_path: Path) -> None:
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


async def test_every_requested_step_of_a_history_is_read_at_any_size_of_the_cache(platform: Platform) -> None:
    plan = await pursue(platform, "order.received", {}, planner([*ASKED, complete({})]), stock())
    await plan.result(timeout=5)
    store = platform.services.store.plans
    found = await store.state(plan.plan_id)
    assert found is not None
    found = replace(found, recent=())
    for most in (0, 5, 100):
        histories = Histories(most)
        for first in (0, 4, 0):
            earlier, told = await histories.read(store, found, first)
            assert [step.ordinal for step in told] == list(range(first, found.plan.steps))
            assert earlier.last == max(first - 1, 0), "the facts of all earlier steps"


async def test_a_recorded_step_keeps_its_lines_unless_another_step_is_stored(platform: Platform) -> None:
    plan = await pursue(platform, "order.received", {}, planner([*ASKED, complete({})]), stock())
    await plan.result(timeout=5)
    store = platform.services.store.plans
    found, steps = await store.state(plan.plan_id), await store.steps(plan.plan_id)
    assert found is not None
    last = next(place for place, step in enumerate(steps) if step.kind is StepKind.REPLIED)
    before, after = (replace(found, recent=tuple(steps[:end])) for end in (last, last + 1))
    for recorded, is_kept in ((steps[last], True), (replace(steps[last], data={"lost": 1}), False)):
        histories = Histories()
        _, told = await histories.read(store, before, 0, [recorded])
        assert [one.ordinal for one in told] == list(range(last + 1))
        assert told[-1].lines.whole.text, "as in the prompt of a decision"
        _, again = await histories.read(store, after, 0)
        assert (again[-1] is told[-1]) is is_kept
        assert [one is other for one, other in zip(told[:-1], again, strict=False)] == [True] * last
