"""What is spent is on disk before it is spent, and what was answered is written down once."""

import asyncio
from dataclasses import replace

import pytest
from store_kit import entry

from soorma_ai.domain.limits import Charge, Limits, Spent
from soorma_ai.errors import LimitExceeded, VersionConflict
from soorma_ai.ports import Settlement, Store

CALL = Charge("plan-1", llm_calls=1, tokens=100, cost_usd=0.5)
NO_LIMITS = Limits(max_llm_calls=None, max_tokens=None, max_cost_usd=None)


async def test_a_reservation_is_spent_until_it_is_settled_with_its_actuals(store: Store) -> None:
    assert await store.plans.spent("plan-1") == Spent()
    for _ in range(3):
        await store.plans.reserve(CALL, NO_LIMITS)
    assert await store.plans.spent("plan-1") == Spent(0, 3, 300, 1.5)
    await store.plans.settle(Settlement(CALL, replace(CALL, tokens=30, cost_usd=0.25), entry()))
    await store.plans.settle(Settlement(CALL, replace(CALL, llm_calls=0, tokens=0, cost_usd=0)))
    assert await store.plans.spent("plan-1") == Spent(0, 2, 130, 0.75)
    assert await store.plans.journal("planner", "event-1") == await store.plans.decisions("plan-1") == [entry()]


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        (Limits(max_llm_calls=1), "max_llm_calls"),
        (Limits(max_tokens=199), "max_tokens"),
        (Limits(max_cost_usd=0.9), "max_cost_usd"),
        (Limits(max_llm_calls=1, max_tokens=1, max_cost_usd=0), "max_llm_calls"),
        (Limits(max_tokens=1, max_cost_usd=0), "max_tokens"),
    ],
)
async def test_a_call_over_a_limit_is_refused_and_not_reserved(store: Store, limits: Limits, name: str) -> None:
    await store.plans.reserve(CALL, NO_LIMITS)
    with pytest.raises(LimitExceeded, match=r"of .* used") as refused:
        await store.plans.reserve(CALL, limits)
    assert refused.value.limit == name
    assert await store.plans.spent("plan-1") == Spent(0, 1, 100, 0.5)


async def test_a_call_that_just_fits_is_reserved(store: Store) -> None:
    exact = Limits(max_llm_calls=2, max_tokens=200, max_cost_usd=1.0)
    await store.plans.reserve(CALL, exact)
    await store.plans.reserve(CALL, exact)
    assert (await store.plans.spent("plan-1")).llm_calls == 2


async def test_calls_reserved_at_once_do_not_pass_the_limit(store: Store) -> None:
    limits = Limits(max_llm_calls=5)
    results = await asyncio.gather(*(store.plans.reserve(CALL, limits) for _ in range(20)), return_exceptions=True)
    assert results.count(None) == 5
    assert (await store.plans.spent("plan-1")).llm_calls == 5
    await store.plans.reserve(replace(CALL, root_plan_id="plan-2"), limits)
    assert (await store.plans.spent("plan-2")).llm_calls == 1, "each root plan has its own budget"


async def test_one_call_is_written_down_once_and_settled_once(store: Store) -> None:
    await store.plans.reserve(CALL, NO_LIMITS)
    await store.plans.settle(Settlement(CALL, CALL, entry(raw="first")))
    with pytest.raises(VersionConflict, match="in the journal already"):
        await store.plans.settle(Settlement(CALL, replace(CALL, tokens=0), entry(raw="second")))
    assert [row.raw for row in await store.plans.journal("planner", "event-1")] == ["first"]
    assert (await store.plans.spent("plan-1")).tokens == 100


async def test_the_journal_of_a_cause_is_read_by_ordinal_and_that_of_a_plan_as_it_came(store: Store) -> None:
    rows = [entry(1, cause="b"), entry(0, cause="b"), entry(0, cause="a"), entry(0, cause="c", plan_id="plan-2")]
    for row in rows:
        await store.plans.settle(Settlement(CALL, CALL, row))
    assert await store.plans.journal("planner", "b") == [rows[1], rows[0]]
    assert await store.plans.journal("other", "b") == []
    assert await store.plans.decisions("plan-1") == rows[:3]
