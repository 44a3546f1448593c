"""What a plan remembers by keys, and expectations that more than one event meets."""

import pytest
from store_kit import (
    NOW,
    PAID_KEY,
    agent,
    awaiting_payment,
    claimed,
    do,
    event,
    expectation,
    later,
    plan,
    reply,
    running,
    unsent_ids,
    wait,
)

from soorma_ai.domain.effects import Close, DropValue, Expect, SavePlan, SaveValue
from soorma_ai.domain.events import EventTopic
from soorma_ai.domain.expectations import ExpectationKind, ExpectationStatus
from soorma_ai.domain.plans import PlanValue, ValueKind
from soorma_ai.domain.registry import EventDefinition, EventRole
from soorma_ai.errors import VersionConflict
from soorma_ai.ports import Store


async def test_a_value_is_read_as_it_was_saved_and_each_key_alone(store: Store) -> None:
    await running(store)
    deep = {"a": [1, None, {"ü": 2.5}]}
    await do(
        store,
        SaveValue("plan-1", ValueKind.RESULT, "searching", deep),
        SaveValue("plan-1", ValueKind.STATE, "searching", None),
        SaveValue("plan-2", ValueKind.RESULT, "searching", 1),
    )
    assert await store.plans.plan_values("plan-1") == [
        PlanValue(ValueKind.RESULT, "searching", deep),
        PlanValue(ValueKind.STATE, "searching", None),
    ]
    await do(
        store, SaveValue("plan-1", ValueKind.RESULT, "searching", 2), DropValue("plan-1", ValueKind.STATE, "searching")
    )
    assert await store.plans.plan_values("plan-1") == [PlanValue(ValueKind.RESULT, "searching", 2)]
    assert await store.plans.plan_values("nobody's") == []


async def test_a_value_is_not_kept_where_its_plan_is_at_another_version(store: Store) -> None:
    await running(store)
    with pytest.raises(VersionConflict):
        await do(store, SavePlan(plan(version=8), 7), SaveValue("plan-1", ValueKind.RESULT, "x", 1))
    assert await store.plans.plan_values("plan-1") == []


@pytest.mark.parametrize("first", [False, True])
async def test_closing_what_is_closed_is_a_conflict_for_who_must_be_first(store: Store, first: bool) -> None:
    await running(store, wait("w-1"))
    await do(store, Close("w-1", ExpectationStatus.CLOSED, NOW))
    value = SaveValue("plan-1", ValueKind.RESULT, "x", 1)
    if first:
        with pytest.raises(VersionConflict, match="closed already"):
            await do(store, Close("w-1", ExpectationStatus.CLOSED, later(1), first=True), value)
    else:
        await do(store, Close("w-1", ExpectationStatus.CLOSED, later(1)), value)
    assert len(await store.plans.plan_values("plan-1")) == int(not first)


async def test_a_request_is_answered_by_any_event_that_it_names_and_once(store: Store) -> None:
    await running(store, expectation("e-1", others=("work.failed", "nothing.found")))
    other = event("r-0", "unheard.of", EventTopic.ACTION_RESULTS, correlation_id="e-1")
    named = event("r-1", "nothing.found", EventTopic.ACTION_RESULTS, correlation_id="e-1")
    arrival = await store.queue.arrive([other, named, reply("r-2", "e-1")], NOW)
    assert [(stray.event_id, stray.reason) for stray in arrival.strays] == [("r-2", "surplus")]
    assert [delivery.event.id for delivery in await claimed(store, "planner")] == ["r-1"]


@pytest.mark.parametrize("early", [False, True])
async def test_a_wait_is_met_by_any_event_that_it_names(store: Store, early: bool) -> None:
    await store.registry.register([awaiting_payment()], NOW)
    await running(store)
    waiting = Expect(wait("w-1", event_type="order.cancelled", others=("order.paid",), keys=(PAID_KEY,)))
    paid = event("f-1", "order.paid", EventTopic.BUSINESS_FACTS, source="shop", data={"order_id": "o-1"})
    if not early:
        await do(store, waiting)
    await store.queue.arrive([paid], NOW)
    if early:
        await do(store, waiting)
    met = await store.plans.expectation("w-1")
    assert met is not None and (met.status, met.met_by) == (ExpectationStatus.MET, "f-1")


@pytest.mark.parametrize(
    ("wanted", "others"), [("work.asked", ()), ("other.asked", ()), ("other.asked", ("work.asked",))]
)
async def test_who_is_parked_for_some_events_sleeps_until_one_of_them_is_taken(
    store: Store, wanted: str, others: tuple[str, ...]
) -> None:
    takes = (EventRole.TAKES, EventDefinition(event_name="work.asked"))
    await store.registry.register([agent("worker", "work.asked", events=(takes,))], NOW)
    await running(store)
    parked = expectation("offer-1", ExpectationKind.OFFER, event_type=wanted, others=others)
    await do(store, Expect(parked), now=later(1))
    found = await store.plans.expectation("offer-1")
    assert found is not None
    is_taken = "work.asked" in (wanted, *others)
    assert found.status is (ExpectationStatus.MET if is_taken else ExpectationStatus.OPEN)
    assert (found.met_by in await unsent_ids(store)) is is_taken
