"""After a reopening, committed rows are there again, and leases of the former owner are void."""

import pytest
from store_kit import (
    NOW,
    PAID_KEY,
    Backend,
    agent,
    answer,
    awaiting_payment,
    claim_all,
    do,
    drain,
    end,
    entry,
    event,
    expectation,
    fact,
    find,
    gate,
    in_hand,
    later,
    let_replies_arrive,
    open_store,
    plan,
    reply,
    reserve,
    save_running_plan,
    settle,
    step,
    unsent_ids,
    wait,
)

from soorma_ai.errors import LeaseLost, StoreUnavailable
from soorma_ai.features.dead_letters.ports import LETTERS
from soorma_ai.kernel.domain.effects import Ack, AppendStep, DeadLetter, Expect, Publish, SavePlan, Schedule, Spend
from soorma_ai.kernel.domain.expectations import ExpectationStatus
from soorma_ai.kernel.domain.limits import Charge, Limits
from soorma_ai.kernel.ports import Settlement, Store, Work


async def test_everything_committed_is_there_after_reopening(lasting: Backend) -> None:
    charge = Charge("plan-1", 1, 10, 0.5)
    async with open_store(lasting.make()) as store:
        await store.registry.register([awaiting_payment(), agent("worker", "work.asked")], NOW)
        await save_running_plan(store, expectation("q-1"), gate("g-1"))
        await do(store, AppendStep(step(0)), Spend("plan-1", 2, None), Schedule("t-1", later(9), event("tick")))
        await do(store, Publish(event("out")))
        await reserve(store, charge, Limits())
        await settle(store, Settlement(charge, charge, entry()))
        await store.plans.answer("g-1", answer("act-1"), event("wake"), NOW)
        await store.queue.arrive([event("e-1"), event("e-2"), fact("early", {"order_id": "o-1"})], NOW)
        dead, _ = await claim_all(store)
        await end(store, dead, DeadLetter("no"))
        before = [await dump(store)]
    async with open_store(lasting.make()) as store:
        assert [await dump(store)] == before
        await store.queue.arrive([reply("r-1", "q-1"), event("e-3")], NOW)
        assert [d.event.id for d in await claim_all(store)] == ["e-2", "e-3"]
        assert [d.event.id for d in await claim_all(store, "planner")] == ["r-1"]
        await do(store, Expect(wait("w-1", keys=(PAID_KEY,))))
        assert (await find(store, "w-1")).met_by == "early"


async def dump(store: Store) -> list[object]:
    return [
        await store.plans.plan("plan-1"),
        await store.plans.steps("plan-1"),
        await store.plans.expectations(plan_id="plan-1", only_open=False),
        await store.plans.read_spent("plan-1"),
        await store.plans.decisions("plan-1"),
        await store.events.events(),
        await store.queue.unsent(99),
        await store.registry.agents(NOW),
        await store.registry.all_events("default"),
        await store.part(LETTERS).dead_letters(None, 9),
        await store.queue.next_due([], NOW),
    ]


async def test_leases_of_the_former_owner_are_void_and_their_attempts_count(lasting: Backend) -> None:
    async with open_store(lasting.make()) as store:
        (held,) = await in_hand(store, "e-1")
    async with open_store(lasting.make()) as store:
        stale = Work(held, Ack(), (Publish(event("out")),))
        assert await store.queue.renew([held], later(99)) == []
        with pytest.raises(LeaseLost):
            await store.queue.commit(stale, NOW)
        assert await store.queue.next_due(["worker"], NOW) is None
        (again,) = await claim_all(store)
        assert (again.attempt, again.fence > held.fence) == (2, True)
        with pytest.raises(LeaseLost):
            await store.queue.commit(stale, NOW)
        assert await unsent_ids(store) == []


async def test_owners_go_on_one_at_a_time_after_reopening(lasting: Backend) -> None:
    async with open_store(lasting.make()) as store:
        await let_replies_arrive(store, 1, 2)
        await claim_all(store, "planner")
    async with open_store(lasting.make()) as store:
        assert await drain(store) == ["r-1", "r-2"]


async def test_timers_that_came_due_meanwhile_fire(lasting: Backend) -> None:
    async with open_store(lasting.make()) as store:
        await save_running_plan(store, expectation("q-1"))
        await do(store, Schedule("t-1", later(60), event("tick"), guards="q-1"))
    async with open_store(lasting.make(), later(99999)) as store:
        assert await store.queue.next_due([], NOW) == later(60)
        assert await store.queue.fire(later(99999), 9) == 1
        assert (await find(store, "q-1")).status is ExpectationStatus.EXPIRED


async def test_a_store_may_be_opened_twice_and_closed_twice(backend: Backend) -> None:
    store = backend.make()
    await store.close()
    await store.open(NOW)
    await store.open(NOW)
    await do(store, SavePlan(plan(), None))
    await store.close()
    await store.close()
    with pytest.raises(StoreUnavailable):
        await store.plans.plan("plan-1")
    with pytest.raises(StoreUnavailable):
        await store.queue.fire(NOW, 1)
