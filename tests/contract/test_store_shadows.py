"""Calls of shadows are within the budget of their day, once for each decision, and go with their user."""

from typing import Any

import pytest
from msgspec.structs import replace
from store_kit import NOW, entry, later, save_running_plan

from soorma_ai.errors import LimitExceeded
from soorma_ai.features.trials.ports import TRIALS
from soorma_ai.features.trials.records import ModelTrial, TrialAnswer, TrialCall
from soorma_ai.features.trials.shadow.ports import SHADOWS
from soorma_ai.features.trials.shadow.records import Outcome, Sample, ShadowCall, ShadowDay
from soorma_ai.features.upkeep.ports import UPKEEP, AgeConditions
from soorma_ai.kernel.ports import Store
from soorma_ai.kernel.ports.shadows import Change, Shadow

SHADOW = Shadow(Change("m"), 1.0, 1.0)
TRIAL = ModelTrial("plan-1", "planner", "goal.given", "m", 1, 1, 1)


def sample(ordinal: int = 0, **changes: Any) -> Sample:
    made = Sample("default", "ann", "planner", entry(), SHADOW)
    key = replace(made.entry.key, ordinal=ordinal)
    return replace(made, entry=replace(made.entry, key=key), **changes)


def opened(ordinal: int, usd: float, seconds: float = 0) -> ShadowCall:
    call = TrialCall(f"call-{ordinal}", "default", "ann", "plan-1", f"q-{ordinal}", "m", 1, later(seconds), usd)
    return ShadowCall(sample(ordinal), call)


async def test_calls_stay_within_the_budget_of_their_day(store: Store) -> None:
    await save_running_plan(store)
    shadows, first = store.part(SHADOWS), opened(0, 0.75)
    assert await shadows.open_shadow(first)
    with pytest.raises(LimitExceeded, match="max_usd_a_day"):
        await shadows.open_shadow(opened(1, 0.5))
    assert await store.part(TRIALS).trial_calls("default", "q-1", "m") == []
    await shadows.close_shadow(first, replace(first.call, usd=0.25, answer=TrialAnswer()))
    assert await shadows.open_shadow(opened(1, 0.5))
    assert await shadows.open_shadow(opened(2, 0.75, 24 * 3600))
    found = await shadows.shadow_report("default", "planner", 9)
    assert (found.unanswered, [one.usd for one in found.days]) == (3, [0.75, 0.75])
    assert found.days[1] == ShadowDay(NOW.date().isoformat(), 0.75)


async def test_a_decision_is_asked_once_and_has_one_outcome(store: Store) -> None:
    await save_running_plan(store)
    shadows = store.part(SHADOWS)
    assert await shadows.open_shadow(opened(0, 0.25))
    assert not await shadows.open_shadow(opened(0, 0.25))
    await shadows.keep_outcome(Outcome(sample(), TRIAL, later(1)))
    await shadows.keep_outcome(Outcome(sample(1), replace(TRIAL, tried=2), later(2)))
    found = await shadows.shadow_report("default", "planner", 9)
    assert found.trials == (replace(TRIAL, tried=2), TRIAL)
    assert (found.unanswered, found.days[0].usd) == (0, 0.25)
    assert (await shadows.shadow_report("other", "planner", 9)).trials == ()


async def test_nothing_is_kept_of_a_removed_plan(store: Store) -> None:
    shadows = store.part(SHADOWS)
    assert not await shadows.open_shadow(opened(0, 0.25))
    await shadows.keep_outcome(Outcome(sample(), TRIAL, NOW))
    found = await shadows.shadow_report("default", "planner", 9)
    assert (found.trials, found.unanswered, found.days) == ((), 0, ())


async def test_outcomes_go_with_their_user(store: Store) -> None:
    await save_running_plan(store)
    shadows = store.part(SHADOWS)
    for ordinal, user in enumerate(("ann", "bob")):
        await shadows.keep_outcome(Outcome(sample(ordinal, user_id=user), replace(TRIAL, tried=ordinal + 1), NOW))
    await store.part(UPKEEP).begin_forgetting("default", "ann", NOW)
    while not (await store.part(UPKEEP).forget(100)).is_done:
        pass
    found = await shadows.shadow_report("default", "planner", 9)
    assert found.trials == (replace(TRIAL, tried=2),)


async def test_old_outcomes_and_budgets_are_pruned(store: Store) -> None:
    await save_running_plan(store)
    shadows, then = store.part(SHADOWS), later(24 * 3600)
    for ordinal, day in enumerate((0, 2)):
        assert await shadows.open_shadow(opened(ordinal, 0.5, day * 24 * 3600))
    after = None
    while True:
        after = (await store.part(UPKEEP).prune(AgeConditions("default", then, [], then), 10, after=after)).after
        if after is None:
            break
    found = await shadows.shadow_report("default", "planner", 9)
    assert (found.unanswered, len(found.days)) == (1, 1)
