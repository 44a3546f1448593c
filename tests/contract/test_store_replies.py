"""A reply meets its expectation, once, and wakes the waiting plan."""

import asyncio

import pytest
from store_kit import (
    NOW,
    agent,
    claim_all,
    do,
    drain,
    end,
    event,
    expectation,
    find,
    later,
    let_replies_arrive,
    plan,
    reply,
    save_running_plan,
    state_of,
    unsent_ids,
    wait,
)

from soorma_ai.errors import VersionConflict
from soorma_ai.kernel.domain.effects import Ack, Close, Expect, Publish, SavePlan, SaveTask, Schedule
from soorma_ai.kernel.domain.events import EventTopic, Lineage
from soorma_ai.kernel.domain.expectations import ExpectationKind, ExpectationStatus, Stray
from soorma_ai.kernel.domain.tasks import TaskRecord
from soorma_ai.kernel.ports import Delivery, Store, Work
from soorma_ai.kernel.rules.waits.replies import id_when_let_go
from soorma_ai.kernel.rules.waits.wakeups import ABANDONED, EXPIRED, wake_for

ONCE = id_when_let_go("q-1")


@pytest.mark.parametrize("kind", [ExpectationKind.REPLY, ExpectationKind.CHILD])
async def test_a_reply_meets_its_expectation_and_goes_to_the_plan_once(store: Store, kind: ExpectationKind) -> None:
    await save_running_plan(store, expectation("q-1", kind))
    arrival = await store.queue.arrive([reply("r-1", "q-1")], later(3))
    assert arrival.agents == {"planner"} and arrival.strays == ()
    again = await store.queue.arrive([reply("r-1", "q-1")], later(9))
    assert again.agents == frozenset() and again.strays == ()
    (delivery,) = await claim_all(store, "planner")
    assert (delivery.owner, delivery.event.id) == ("plan-1", "r-1")
    met = await find(store, "q-1")
    assert (met.status, met.met_by, met.closed_at) == (ExpectationStatus.MET, "r-1", later(3))
    await end(store, delivery)
    await store.queue.arrive([reply("r-1", "q-1")], later(9))
    assert await claim_all(store, "planner", now=later(99)) == []


@pytest.mark.parametrize("kind", [ExpectationKind.REPLY, ExpectationKind.CHILD])
@pytest.mark.parametrize("status", [ExpectationStatus.MET, ExpectationStatus.CLOSED, ExpectationStatus.EXPIRED])
async def test_a_child_gets_one_notice_once_its_answer_is_not_awaited_any_more(
    store: Store, kind: ExpectationKind, status: ExpectationStatus
) -> None:
    expected = expectation("q-1", kind)
    await save_running_plan(store, expected)
    if status is ExpectationStatus.EXPIRED:
        await do(store, Schedule("deadline:q-1", later(5), wake_for(EXPIRED, expected, later(5)), guards="q-1"))
        await store.queue.fire(later(5), 10)
    for _ in range(2):
        await do(store, Close("q-1", status, later(5)))
    told = [row.event.subject for row in await store.queue.unsent(10) if row.event.type == ABANDONED]
    is_given_up = kind is ExpectationKind.CHILD and status is not ExpectationStatus.MET
    assert told == (["q-1"] if is_given_up else [])


async def hand_out_as(store: Store, ids: tuple[str, ...]) -> Delivery:
    """Hand a worker a request with an expected reply, under the last of the ids; it was not taken under the others."""
    await save_running_plan(store, expectation("q-1"))
    *before, last = [event(id, correlation_id="q-1") for id in ids]
    await store.queue.arrive(before, NOW)
    await store.registry.register([agent("worker", "work.asked")], NOW)
    await store.queue.arrive([last], NOW)
    (delivery,) = await claim_all(store)
    return delivery


LET_GO = pytest.mark.parametrize("ids", [("q-1",), ("q-1", ONCE), ("q-1", ONCE, id_when_let_go(ONCE))])


@LET_GO
async def test_a_reply_counts_from_the_receiver_of_an_approved_request(store: Store, ids: tuple[str, ...]) -> None:
    delivery = await hand_out_as(store, ids)
    answers = (id_when_let_go(ids[-1]), ids[-1])
    told = [reply(f"r-{n}", "q-1", source="worker").model_copy(update={"answers": id}) for n, id in enumerate(answers)]
    arrival = await store.queue.arrive(told, NOW)
    assert (delivery.event.id, arrival.strays) == (ids[-1], (Stray("r-0", "work.done", "unasked", "q-1"),))
    assert (await find(store, "q-1")).met_by == "r-1"


@LET_GO
async def test_the_receiver_of_an_approved_request_gets_a_notice_when_it_is_given_up(
    store: Store, ids: tuple[str, ...]
) -> None:
    delivery = await hand_out_as(store, ids)
    task = TaskRecord(ids[-1], "worker", "work.asked", {}, Lineage(), "q-1", "done", EventTopic.ACTION_RESULTS, NOW, {})
    await store.queue.commit(Work(delivery, Ack(), (SaveTask(task, None),)), NOW)
    await do(store, Close("q-1", ExpectationStatus.CLOSED, NOW))
    await store.queue.arrive([wake_for(ABANDONED, expectation("q-1"), NOW)], NOW)
    (told,) = await claim_all(store)
    assert (told.owner, told.event.type) == (ids[-1], ABANDONED)


async def test_a_clients_reply_is_reported_and_queued_for_no_agent(store: Store) -> None:
    expected = expectation("q-1", ExpectationKind.CLIENT, plan_id=None, root_plan_id=None)
    await store.queue.send([event("q-1")], expected, NOW)
    arrival = await store.queue.arrive([reply("r-1", "q-1")], NOW)
    assert (set(arrival.replies), arrival.agents) == ({"q-1"}, frozenset())
    assert await claim_all(store, "planner") == []
    assert set((await store.queue.arrive([reply("r-1", "q-1")], NOW)).replies) == {"q-1"}, (
        "a repeated reply is reported again"
    )


async def test_a_client_with_a_failed_reply_finds_a_later_success(store: Store) -> None:
    expected = expectation("q-1", ExpectationKind.CLIENT, plan_id=None, root_plan_id=None)
    await store.queue.send([event("q-1")], expected, NOW)
    failed, worked = reply("r-1", "q-1", data={"success": False}), reply("r-2", "q-1", data={"success": True})
    for came, met_by, answered in ((failed, "r-1", {"q-1"}), (worked, "r-2", {"q-1"}), (failed, "r-2", frozenset())):
        assert set((await store.queue.arrive([came], NOW)).replies) == answered
        assert (await find(store, "q-1")).met_by == met_by


async def test_a_second_reply_is_surplus_and_reported_once(store: Store) -> None:
    await let_replies_arrive(store, 1)
    arrival = await store.queue.arrive([reply("r-2", "q-1")], NOW)
    assert arrival.strays == (Stray("r-2", "work.done", "surplus", "q-1"),)
    assert arrival.agents == frozenset()
    assert (await store.queue.arrive([reply("r-2", "q-1")], NOW)).strays == ()
    assert (await find(store, "q-1")).met_by == "r-1"


async def test_of_many_replies_at_once_one_meets_the_expectation_and_takes_its_timers_with_it(store: Store) -> None:
    expected = expectation("q-1")
    await save_running_plan(store, expected)
    expiry = wake_for(EXPIRED, expected, later(60))
    await do(store, Schedule("t-1", later(60), expiry, guards="q-1"), Schedule("t-2", later(70), event("other")))
    arrivals = await asyncio.gather(*(store.queue.arrive([reply(f"r-{n}", "q-1")], NOW) for n in range(10)))
    assert sorted(stray.reason for arrival in arrivals for stray in arrival.strays) == ["surplus"] * 9
    assert len(await claim_all(store, "planner")) == 1
    assert await store.queue.next_due([], NOW) == later(70)


async def test_a_plan_finds_the_expectation_closed_by_an_event(store: Store) -> None:
    await save_running_plan(store, expectation("q-1"), expectation("q-2", plan_id="plan-2"))
    await store.queue.arrive([reply("r-1", "q-1"), reply("r-2", "q-2")], NOW)
    assert await store.plans.find_met("plan-1", "r-1") == await find(store, "q-1")
    assert await store.plans.find_met("plan-1", "r-2") is None
    assert await store.plans.find_met("plan-1", "nothing") is None
    assert (await state_of(store, event_id="r-1")).met["r-1"] == await find(store, "q-1")
    assert "r-2" not in (await state_of(store, event_id="r-2")).met


async def test_a_wake_up_goes_to_the_agent_of_its_plan(store: Store) -> None:
    await do(store, SavePlan(plan("plan-1"), None))
    await store.queue.arrive([event("w-1", EXPIRED, EventTopic.PLAN_EVENTS, plan_id="plan-1")], NOW)
    assert [(d.event.id, d.owner) for d in await claim_all(store, "planner")] == [("w-1", "plan-1")]


async def test_a_request_and_its_reply_may_arrive_in_one_batch_with_others(store: Store) -> None:
    await store.registry.register([agent("worker", "work.asked")], NOW)
    await save_running_plan(store, expectation("q-1"))
    arrival = await store.queue.arrive([event("q-1"), reply("r-1", "q-1"), reply("r-2", "q-1")], NOW)
    assert arrival.agents == {"worker", "planner"}
    assert [stray.reason for stray in arrival.strays] == ["surplus"]


async def test_fan_in_of_replies_at_once_hands_over_each_one_once(store: Store) -> None:
    await save_running_plan(store, *(expectation(f"q-{n}") for n in range(32)))
    await asyncio.gather(
        *(store.queue.arrive([reply(f"r-{n}", f"q-{n}"), reply(f"r-{31 - n}", f"q-{31 - n}")], NOW) for n in range(32))
    )
    assert sorted(await drain(store)) == sorted(f"r-{n}" for n in range(32))


async def test_an_expectation_opened_twice_is_a_conflict_that_leaves_the_first(store: Store) -> None:
    await save_running_plan(store, expectation("q-1"))
    with pytest.raises(VersionConflict, match="exists already"):
        await do(store, Publish(event("x")), Expect(wait("q-1")))
    assert await find(store, "q-1") == expectation("q-1")
    assert "x" not in await unsent_ids(store)
