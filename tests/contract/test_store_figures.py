"""Figures of plans: counts by state, and costs of calls by the time of the call."""

from datetime import timedelta

from msgspec.structs import replace
from store_kit import NOW, do, entry, expectation, gate, later, plan, settle

from soorma_ai.features.tracking.ports import PLAN_FIGURES, CallCost
from soorma_ai.kernel.domain.effects import Expect, SavePlan
from soorma_ai.kernel.domain.events import Lineage
from soorma_ai.kernel.domain.history import JournalKey
from soorma_ai.kernel.domain.limits import Charge
from soorma_ai.kernel.domain.plans import Blocked, PlanRecord, PlanStatus
from soorma_ai.kernel.ports import Settlement, Store

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


async def save_plans(store: Store, *plans: PlanRecord) -> None:
    for one in plans:
        await do(store, SavePlan(one, None))


async def keep_answer(store: Store, plan_id: str, minutes: int, usd: float | None) -> None:
    """Keep an answer of a model so many minutes from now."""
    made = replace(entry(plan_id=plan_id), at=NOW + minutes * MINUTE, cost_usd=usd)
    made = replace(made, key=JournalKey("planner", f"{plan_id} {minutes} {usd}", 0))
    call = Charge(plan_id, 1, 10, usd or 0.0)
    await settle(store, Settlement(call, call, made))


def of_zoe(plan_id: str) -> PlanRecord:
    return replace(plan(plan_id), lineage=Lineage("default", "zoe", plan_id=plan_id, root_plan_id=plan_id))


async def test_any_number_of_active_plans_is_counted(store: Store) -> None:
    await save_plans(store, *(plan(f"p-{number}", created_at=later(number)) for number in range(60)))
    await save_plans(
        store, plan("paused", status=PlanStatus.PAUSED), plan("held", blocked=Blocked("held", "a key", NOW))
    )
    await save_plans(store, plan("theirs", tenant="acme"), plan("over", status=PlanStatus.COMPLETED), of_zoe("zoes"))
    asks, works = gate("asks", plan_id="p-1"), expectation("works", plan_id="p-2")
    await do(store, Expect(asks), Expect(works), Expect(gate("more", plan_id="p-1")))
    found = await store.part(PLAN_FIGURES).count_active("default", None, 1_000)
    assert (found.running, found.waiting, found.is_part) == (60, 3, False)
    assert found.oldest is not None and found.oldest.plan_id == "p-0"
    of_user = await store.part(PLAN_FIGURES).count_active("default", "zoe", 1_000)
    assert (of_user.running, of_user.waiting) == (1, 0)


async def test_beyond_a_bound_the_oldest_active_plan_is_not_known(store: Store) -> None:
    await save_plans(store, *(plan(f"p-{number}") for number in range(3)))
    found = await store.part(PLAN_FIGURES).count_active("default", None, 3)
    assert (found.running + found.waiting, found.is_part, found.oldest) == (3, True, None)
    none = await store.part(PLAN_FIGURES).count_active("nobody", None, 3)
    assert (none.running, none.waiting, none.is_part, none.oldest) == (0, 0, False, None)


async def test_root_plans_failed_since_a_moment_are_counted_by_their_end(store: Store) -> None:
    failed = plan("failed", status=PlanStatus.FAILED, created_at=NOW - 9 * DAY)
    earlier = plan("earlier", status=PlanStatus.FAILED, updated_at=NOW - 2 * DAY)
    child = plan("child", status=PlanStatus.FAILED, root_plan_id="failed")
    await save_plans(store, failed, earlier, child, plan("done", status=PlanStatus.COMPLETED), plan("runs"))
    figures = store.part(PLAN_FIGURES)
    assert await figures.count_failed("default", None, NOW - DAY, 100) == 1
    assert await figures.count_failed("default", None, NOW - 2 * DAY, 100) == 2
    assert await figures.count_failed("default", None, NOW - 2 * DAY, 1) == 1
    assert await figures.count_failed("default", "zoe", NOW - DAY, 100) == 0


async def test_a_cost_counts_at_the_time_of_its_call(store: Store) -> None:
    """Not at the beginning of its plan, nor at its end."""
    await save_plans(store, plan("p-1"), plan("p-2", root_plan_id="p-1"), of_zoe("p-3"), plan("p-4", tenant="acme"))
    for plan_id, minutes, usd in (
        ("p-1", -1, 8.0),
        ("p-1", 0, 0.5),
        ("p-2", 0, None),
        ("p-3", 300, 0.25),
        ("p-1", 300, 1.0),
        ("p-4", 300, 4.0),
    ):
        await keep_answer(store, plan_id, minutes, usd)
    found = await store.part(PLAN_FIGURES).costs_of_calls("default", None, NOW, 100)
    assert found.minutes == (CallCost(NOW, 2, 0.5, 1), CallCost(NOW + 300 * MINUTE, 2, 1.25, 0))
    assert found.is_whole
    of_user = await store.part(PLAN_FIGURES).costs_of_calls("default", "zoe", NOW, 100)
    assert of_user.minutes == (CallCost(NOW + 300 * MINUTE, 1, 0.25, 0),)


async def test_costs_are_whole_if_the_plans_read_reach_back_to_the_beginning(store: Store) -> None:
    await save_plans(store, plan("p-1", created_at=NOW - DAY), plan("p-2"), plan("p-3"))
    await keep_answer(store, "p-1", 1, 1.0)
    await keep_answer(store, "p-3", 1, 0.5)
    figures = store.part(PLAN_FIGURES)
    part = await figures.costs_of_calls("default", None, NOW, 2)
    assert ([one.cost_usd for one in part.minutes], part.is_whole) == ([0.5], False)
    assert (await figures.costs_of_calls("default", None, NOW, 3)).is_whole
    assert (await figures.costs_of_calls("nobody", None, NOW, 3)).is_whole
