"""Values of a plan by keys, and expectations with more than one event to meet them."""

import pytest
from store_kit import (
    NOW,
    PAID_KEY,
    agent,
    awaiting_payment,
    claim_all,
    do,
    event,
    expectation,
    fact,
    find,
    later,
    plan,
    reply,
    save_running_plan,
    unsent_ids,
    wait,
)

from soorma_ai.errors import VersionConflict
from soorma_ai.kernel.domain.effects import Close, DropValue, Expect, SavePlan, SaveValue
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.expectations import ExpectationKind, ExpectationStatus
from soorma_ai.kernel.domain.plans import PlanValue, ValueKind
from soorma_ai.kernel.domain.registry import EventDefinition, EventRole
from soorma_ai.kernel.ports import Store


async def test_a_value_is_read_as_it_was_saved_and_each_key_alone(store: Store) -> None:
    await save_running_plan(store)
    deep = {"a": [1, None, {"ü": 2.5}]}
    await do(
        store,
        SaveValue("plan-1", ValueKind.RESULT, "searching", deep),
        SaveValue("plan-1", ValueKind.STATE, "searching", None),
        SaveValue("plan-2", ValueKind.RESULT, "searching", 1),
    )
    state = PlanValue(ValueKind.STATE, "searching", None)
    assert await store.plans.plan_values("plan-1") == [PlanValue(ValueKind.RESULT, "searching", deep), state]
    await do(store, SaveValue("plan-1", ValueKind.RESULT, "searching", 2), DropValue("plan-1", state.kind, state.key))
    assert await store.plans.plan_values("plan-1") == [PlanValue(ValueKind.RESULT, "searching", 2)]
    with pytest.raises(VersionConflict):
        await do(store, SavePlan(plan(version=8), 7), SaveValue("plan-1", ValueKind.RESULT, "searching", 3))
    assert await store.plans.plan_values("plan-1") == [PlanValue(ValueKind.RESULT, "searching", 2)]
    assert await store.plans.plan_values("nobody's") == []


@pytest.mark.parametrize("first", [False, True])
async def test_closing_a_closed_wait_is_a_conflict_for_a_close_that_must_be_first(store: Store, first: bool) -> None:
    await save_running_plan(store, wait("w-1"))
    await do(store, Close("w-1", ExpectationStatus.CLOSED, NOW))
    value = SaveValue("plan-1", ValueKind.RESULT, "x", 1)
    if first:
        with pytest.raises(VersionConflict, match="closed already"):
            await do(store, Close("w-1", ExpectationStatus.CLOSED, later(1), first=True), value)
    else:
        await do(store, Close("w-1", ExpectationStatus.CLOSED, later(1)), value)
    assert len(await store.plans.plan_values("plan-1")) == int(not first)


async def test_a_request_is_answered_by_any_of_its_named_events_and_once(store: Store) -> None:
    await save_running_plan(store, expectation("e-1", others=("work.failed", "nothing.found")))
    other = event("r-0", "unheard.of", EventTopic.ACTION_RESULTS, correlation_id="e-1")
    named = reply("r-1", "e-1").model_copy(update={"type": "nothing.found"})
    arrival = await store.queue.arrive([other, named, reply("r-2", "e-1")], NOW)
    assert [(stray.event_id, stray.reason) for stray in arrival.strays] == [("r-2", "surplus")]
    assert [delivery.event.id for delivery in await claim_all(store, "planner")] == ["r-1"]


@pytest.mark.parametrize("early", [False, True])
async def test_a_wait_is_met_by_any_of_its_named_events(store: Store, early: bool) -> None:
    await store.registry.register([awaiting_payment()], NOW)
    await save_running_plan(store)
    waiting = do(store, Expect(wait("w-1", event_type="order.cancelled", others=("order.paid",), keys=(PAID_KEY,))))
    arriving = store.queue.arrive([fact("f-1", {"order_id": "o-1"})], NOW)
    for happening in (arriving, waiting) if early else (waiting, arriving):
        await happening
    met = await find(store, "w-1")
    assert (met.status, met.met_by) == (ExpectationStatus.MET, "f-1")


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize(
    ("wanted", "others"), [("", ()), ("work.asked", ()), ("other.asked", ()), ("other.asked", ("work.asked",))]
)
async def test_a_parked_plan_sleeps_until_its_missing_event_has_a_taker(
    store: Store, wanted: str, others: tuple[str, ...], is_there: bool
) -> None:
    takes = (EventRole.TAKES, EventDefinition(event_name="work.asked"))
    await store.registry.register([agent("worker", "work.asked", events=(takes,))], NOW)
    if not is_there:
        await store.registry.leave(["worker"])
    await save_running_plan(store)
    parked = expectation("offer-1", ExpectationKind.OFFER, event_type=wanted, others=others)
    await do(store, Expect(parked), now=later(1))
    found = await find(store, "offer-1")
    is_taken = is_there and (not wanted or "work.asked" in (wanted, *others))
    assert found.status is (ExpectationStatus.MET if is_taken else ExpectationStatus.OPEN)
    assert (found.met_by in await unsent_ids(store)) is is_taken
