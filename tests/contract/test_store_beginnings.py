"""A plan between the arrival of its goal and its first row; several receivers; parking."""

from dataclasses import replace

import pytest
from store_kit import NOW, agent, claimed, do, end, event, expectation, later, plan, planner, running, unsent_ids

from soorma_ai.domain.effects import Expect, SavePlan
from soorma_ai.domain.expectations import ExpectationKind, ExpectationStatus
from soorma_ai.domain.plans import plan_id_of
from soorma_ai.domain.registry import EventDefinition, EventRole
from soorma_ai.errors import NotFound, VersionConflict
from soorma_ai.ports import Store

PLAN_ID = plan_id_of("goal-1", "planner")


async def test_a_goal_that_has_arrived_tells_whose_plan_it_will_be(store: Store) -> None:
    await store.registry.register([planner()], NOW)
    assert await store.plans.goal_of(PLAN_ID) is None
    await store.queue.arrive([event("goal-1", "goal.given")], NOW)
    found = await store.plans.goal_of(PLAN_ID)
    assert found is not None
    assert (found[0], found[1].id) == ("planner", "goal-1")


async def test_a_plan_that_was_cancelled_while_it_was_begun_is_begun_only_by_who_knows(store: Store) -> None:
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


async def test_what_is_not_done_of_an_owner_is_pending(store: Store) -> None:
    await store.registry.register([planner()], NOW)
    await store.queue.arrive([event("goal-1", "goal.given")], NOW)
    assert await store.queue.pending("planner", PLAN_ID) == 1
    (delivery,) = await claimed(store, "planner")
    assert await store.queue.pending("planner", PLAN_ID) == 1
    await end(store, delivery)
    assert await store.queue.pending("planner", PLAN_ID) == 0


@pytest.mark.parametrize("is_there", [True, False])
async def test_parking_looks_once_more_for_somebody_to_ask(store: Store, is_there: bool) -> None:
    takes = (EventRole.TAKES, EventDefinition(event_name="work.asked"))
    await store.registry.register([planner(), agent("worker", "work.asked", events=(takes,))], NOW)
    if not is_there:
        await store.registry.leave(["worker"])
    await running(store)
    waiting = replace(expectation("offer-1", ExpectationKind.OFFER), agent="planner", event_type="")
    await do(store, Expect(waiting), now=later(1))
    found = await store.plans.expectation("offer-1")
    assert found is not None
    assert found.status is (ExpectationStatus.MET if is_there else ExpectationStatus.OPEN)
    assert len([sent for sent in await unsent_ids(store) if sent == found.met_by]) == int(is_there)
