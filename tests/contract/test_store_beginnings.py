"""A plan between the arrival of its goal and its first row."""

import pytest
from store_kit import NOW, claim_all, do, end, event, plan, planner

from soorma_ai.errors import NotFound, VersionConflict
from soorma_ai.kernel.domain.effects import SavePlan
from soorma_ai.kernel.domain.plans import plan_id_of
from soorma_ai.kernel.ports import Store

PLAN_ID = plan_id_of("goal-1", "planner")


async def test_an_arrived_goal_has_a_planner_and_is_pending_until_it_is_handled(store: Store) -> None:
    await store.registry.register([planner()], NOW)
    assert await store.plans.goal_of(PLAN_ID) is None
    await store.queue.arrive([event("goal-1", "goal.given")], NOW)
    found = await store.plans.goal_of(PLAN_ID)
    assert found is not None
    assert (found[0], found[1].id) == ("planner", "goal-1")
    assert await store.queue.count_pending("planner", PLAN_ID) == 1
    (delivery,) = await claim_all(store, "planner")
    assert await store.queue.count_pending("planner", PLAN_ID) == 1
    await end(store, delivery)
    assert await store.queue.count_pending("planner", PLAN_ID) == 0


async def test_a_plan_cancelled_during_its_begin_is_saved_only_with_the_cancellation(store: Store) -> None:
    await store.registry.register([planner()], NOW)
    await store.queue.arrive([event("goal-1", "goal.given")], NOW)
    assert await store.plans.cancellation(PLAN_ID) is None
    assert await store.plans.cancel(PLAN_ID, "not needed", NOW)
    assert await store.plans.cancellation(PLAN_ID) == "not needed"
    with pytest.raises(VersionConflict):
        await do(store, SavePlan(plan(PLAN_ID), None))
    await do(store, SavePlan(plan(PLAN_ID, cancel_requested="not needed"), None))
    with pytest.raises(NotFound):
        await store.plans.cancel("no-such-plan", "why", NOW)


async def test_a_cancellation_of_a_plan_with_its_goal_on_the_way_is_there_at_its_begin(store: Store) -> None:
    """The cancellation belongs to its tenant, though no row of the plan was there yet."""
    await store.registry.register([planner()], NOW)
    goal = event("goal-1", "goal.given", tenant="acme").model_copy(update={"target": "planner"})
    await store.queue.send([goal], None, NOW)
    assert await store.plans.cancel(PLAN_ID, "not needed", NOW)
    await store.queue.arrive([goal], NOW)
    assert await store.within("acme").plans.cancellation(PLAN_ID) == "not needed"
