"""A budget is reserved on disk before it is spent, and each answer is recorded once."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace
from store_kit import (
    LEASE,
    NOW,
    FreeHands,
    claim_all,
    do,
    entry,
    event,
    expectation,
    hold_delivery,
    plan,
    reply,
    reserve,
    settle,
)

from soorma_ai.errors import LimitExceeded, VersionConflict
from soorma_ai.kernel.domain.effects import Ack, Expect, SavePlan, Spend
from soorma_ai.kernel.domain.limits import Charge, Limits, Reserved, Spent
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.ports import Settlement, Store, Work

CALL = Charge("plan-1", llm_calls=1, tokens=100, cost_usd=0.5)
NO_LIMITS = Limits(max_llm_calls=None, max_tokens=None, max_cost_usd=None)


async def test_a_reservation_is_spent_until_it_is_settled_with_its_actuals(store: Store) -> None:
    assert await store.plans.read_spent("plan-1") == Spent()
    for _ in range(3):
        await reserve(store, CALL, NO_LIMITS)
    assert await store.plans.read_spent("plan-1") == Spent(reserved=Reserved(3, 300, 1.5)), "nothing is spent yet"
    await settle(store, Settlement(CALL, replace(CALL, tokens=30, cost_usd=0.25), entry()))
    await settle(store, Settlement(CALL, replace(CALL, llm_calls=0, tokens=0, cost_usd=0)))
    assert await store.plans.read_spent("plan-1") == Spent(0, 1, 30, 0.25, reserved=Reserved(1, 100, 0.5))
    assert await store.plans.journal("planner", "event-1") == await store.plans.decisions("plan-1") == [entry()]


async def test_the_cost_with_an_unpriced_call_is_unknown_and_that_of_the_others_is_the_least(store: Store) -> None:
    unpriced = replace(CALL, cost_usd=0.0, unpriced_calls=1)
    await reserve(store, unpriced, NO_LIMITS)
    await settle(store, Settlement(unpriced, unpriced))
    assert await store.plans.read_spent("plan-1") == Spent(0, 1, 100, None)
    await reserve(store, CALL, NO_LIMITS)
    await settle(store, Settlement(CALL, CALL))
    assert await store.plans.read_spent("plan-1") == Spent(0, 2, 200, None, at_least_usd=0.5)


async def test_sums_of_dollars_leave_no_reservation_behind(store: Store) -> None:
    for dollars in (0.1, 0.2, 0.3):
        await reserve(store, replace(CALL, cost_usd=dollars), NO_LIMITS)
    for dollars in (0.3, 0.1, 0.2):
        await settle(store, Settlement(replace(CALL, cost_usd=dollars), replace(CALL, cost_usd=dollars)))
    assert (await store.plans.read_spent("plan-1")).reserved == Reserved()


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
    await reserve(store, CALL, NO_LIMITS)
    with pytest.raises(LimitExceeded, match=r"of .* used") as refused:
        await reserve(store, CALL, limits)
    assert refused.value.limit == name
    assert await store.plans.read_spent("plan-1") == Spent(reserved=Reserved(1, 100, 0.5))


async def test_a_call_just_within_its_limits_is_reserved(store: Store) -> None:
    exact = Limits(max_llm_calls=2, max_tokens=200, max_cost_usd=1.0)
    await reserve(store, CALL, exact)
    await reserve(store, CALL, exact)
    assert (await store.plans.read_spent("plan-1")).reserved.llm_calls == 2


async def test_calls_reserved_at_once_do_not_pass_the_limit(store: Store) -> None:
    limits = Limits(max_llm_calls=5)
    results = await asyncio.gather(*(reserve(store, CALL, limits) for _ in range(20)), return_exceptions=True)
    assert results.count(None) == 5
    assert (await store.plans.read_spent("plan-1")).reserved.llm_calls == 5
    await reserve(store, replace(CALL, root_plan_id="plan-2"), limits)
    assert (await store.plans.read_spent("plan-2")).reserved.llm_calls == 1, "each root plan has its own budget"


async def test_one_call_is_recorded_once_and_settled_once(store: Store) -> None:
    await reserve(store, CALL, NO_LIMITS)
    await settle(store, Settlement(CALL, CALL, entry(raw="first")))
    with pytest.raises(VersionConflict, match="in the journal already"):
        await settle(store, Settlement(CALL, replace(CALL, tokens=0), entry(raw="second")))
    assert [row.raw for row in await store.plans.journal("planner", "event-1")] == ["first"]
    assert (await store.plans.read_spent("plan-1")).tokens == 100


async def test_the_journal_of_a_cause_is_read_by_ordinal_and_that_of_a_plan_as_it_came(store: Store) -> None:
    rows = [entry(1, cause="b"), entry(0, cause="b"), entry(0, cause="a"), entry(0, cause="c", plan_id="plan-2")]
    for row in rows:
        await settle(store, Settlement(CALL, CALL, row))
    assert await store.plans.journal("planner", "b") == [rows[1], rows[0]]
    assert await store.plans.journal("other", "b") == []
    assert await store.plans.decisions("plan-1") == rows[:3]
    assert await store.plans.decisions("plan-1", 1, 1) == rows[1:2]
    assert await store.plans.decisions("plan-1", 3, 1) == []
    assert await store.plans.count_decisions("plan-1") == 3


async def save_waiting_plan(store: Store, **changes: Any) -> None:
    """Save a plan that waits for the reply to q-1, with CALL as its next call."""
    begun = plan(next_call=CALL, **changes)
    await do(store, SavePlan(begun, None), Expect(expectation("q-1")), Expect(expectation("q-2")))


async def test_a_lease_of_a_plans_delivery_reserves_its_next_call(store: Store) -> None:
    hands = FreeHands(planner=9)
    await save_waiting_plan(store)
    store.deliver(hands, LEASE)
    assert await store.plans.read_spent("plan-1") == Spent(), "a sleeping plan reserves nothing"
    await store.queue.send([reply("r-1", "q-1"), event("other", "work.asked")], None, NOW)
    assert [delivery.hold for delivery in hands.held] == [CALL]
    assert await store.plans.read_spent("plan-1") == Spent(reserved=Reserved(1, 100, 0.5))
    used = Settlement(CALL, replace(CALL, tokens=60), entry())
    await store.queue.commit(Work(hands.held[0], Ack(), (), (used,)), NOW)
    assert await store.plans.read_spent("plan-1") == Spent(0, 1, 60, 0.5)
    assert await store.plans.decisions("plan-1") == [entry()]


async def test_a_later_claim_and_the_next_in_line_reserve_the_next_call_too(store: Store) -> None:
    await save_waiting_plan(store)
    await store.queue.arrive([reply("r-1", "q-1"), reply("r-2", "q-2")], NOW)
    (first,) = await claim_all(store, "planner")
    assert first.hold == CALL
    nothing = replace(CALL, llm_calls=0, tokens=0, cost_usd=0)
    await store.queue.commit(Work(first, Ack(), (), (Settlement(CALL, nothing),)), NOW)
    assert await store.plans.read_spent("plan-1") == Spent()
    (second,) = await claim_all(store, "planner")
    assert (second.event.id, second.hold) == ("r-2", CALL)


@pytest.mark.parametrize(
    "limits", [Limits(max_tokens=99), Limits(max_tokens=199), Limits(max_llm_calls=1), Limits(max_cost_usd=0.9)]
)
async def test_a_hold_without_ample_room_is_none_and_no_error(store: Store, limits: Limits) -> None:
    await save_waiting_plan(store, limits=limits)
    await store.queue.arrive([reply("r-1", "q-1")], NOW)
    (delivery,) = await claim_all(store, "planner")
    assert delivery.hold is None
    assert await store.plans.read_spent("plan-1") == Spent()


async def test_a_released_delivery_reserves_nothing_and_a_lost_ones_reservation_stays(store: Store) -> None:
    await save_waiting_plan(store)
    await store.queue.arrive([reply("r-1", "q-1")], NOW)
    (delivery,) = await claim_all(store, "planner")
    await store.queue.release([delivery])
    await store.queue.release([delivery])
    assert await store.plans.read_spent("plan-1") == Spent()
    (gone,) = await claim_all(store, "planner")
    (again,) = await claim_all(store, "planner", now=NOW + LEASE)
    assert (gone.hold, again.attempt, again.hold) == (CALL, 2, None)
    assert await store.plans.read_spent("plan-1") == Spent(reserved=Reserved(1, 100, 0.5))


async def test_an_ended_plan_reserves_nothing(store: Store) -> None:
    await save_waiting_plan(store, status=PlanStatus.COMPLETED)
    await store.queue.arrive([reply("r-1", "q-1")], NOW)
    assert [delivery.hold for delivery in await claim_all(store, "planner")] == [None]


async def test_a_commit_settles_its_calls_and_spends_its_actions_together(store: Store) -> None:
    for _ in range(2):
        await reserve(store, CALL, NO_LIMITS)
    used = [Settlement(CALL, replace(CALL, tokens=tokens), entry(number)) for number, tokens in enumerate((30, 50))]
    spends = (Spend("plan-1", 2, 5), Spend("events:r-1", 7, None), Spend("plan-1", 1, 3))
    await store.queue.commit(Work(await hold_delivery(store), Ack(), spends, tuple(used)), NOW)
    assert await store.plans.read_spent("plan-1") == Spent(3, 2, 80, 1.0)
    assert await store.plans.read_spent("events:r-1") == Spent(7)
    assert len(await store.plans.decisions("plan-1")) == 2


@pytest.mark.parametrize(
    ("spends", "taken"),
    [
        ((Spend("plan-1", 2, 5), Spend("plan-1", 1, 2)), "2 actions by now, of 2"),
        ((Spend("plan-1", 2, 1), Spend("plan-1", 1, 9)), "0 actions by now, of 1"),
        ((Spend("plan-1", 2, 5), Spend("events:r-1", 3, 2)), "0 actions by now, of 2"),
    ],
)
async def test_each_limit_of_actions_counts_the_actions_spent_by_then(
    store: Store, spends: tuple[Spend, ...], taken: str
) -> None:
    await reserve(store, CALL, NO_LIMITS)
    used = Settlement(CALL, replace(CALL, tokens=60), entry())
    with pytest.raises(VersionConflict, match=taken):
        await store.queue.commit(Work(await hold_delivery(store), Ack(), spends, (used,)), NOW)
    assert await store.plans.read_spent("plan-1") == Spent(reserved=Reserved(1, 100, 0.5))


async def test_an_undone_commit_settles_nothing(store: Store) -> None:
    await reserve(store, CALL, NO_LIMITS)
    delivery = await hold_delivery(store)
    used = Settlement(CALL, replace(CALL, tokens=60), entry())
    with pytest.raises(VersionConflict):
        await store.queue.commit(Work(delivery, Ack(), (SavePlan(plan(version=4), 3),), (used,)), NOW)
    assert await store.plans.read_spent("plan-1") == Spent(reserved=Reserved(1, 100, 0.5))
    assert await store.plans.decisions("plan-1") == []
