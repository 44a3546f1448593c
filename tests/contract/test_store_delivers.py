"""The store as the bus: an event arrives in the transaction that publishes it, claimed for a free hand."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from store_kit import (
    LEASE,
    NOW,
    Backend,
    FreeHands,
    agent,
    claim_all,
    end,
    event,
    expectation,
    later,
    open_store,
    plan,
    reply,
    step,
    unsent_ids,
)

from soorma_ai.adapters.sqlite import SqliteStore
from soorma_ai.errors import LocalProtocolError, VersionConflict
from soorma_ai.kernel.domain.effects import Ack, AppendStep, Expect, Publish, SavePlan
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Arrival, ExpectationKind, ExpectationStatus
from soorma_ai.kernel.ports import Delivery, Store, Work


@pytest.fixture
async def hands(store: Store) -> FreeHands:
    hands = FreeHands(worker=2)
    await store.registry.register([agent("worker", "work.asked")], NOW)
    store.deliver(hands, LEASE)
    return hands


def of_one_owner(*numbers: int) -> list[EventEnvelope]:
    return [reply(f"r-{n}", f"q-{n}") for n in numbers]


async def test_an_event_stands_in_the_outbox_before_the_store_delivers(store: Store) -> None:
    await store.registry.register([agent("worker", "work.asked")], NOW)
    assert await store.queue.send([event("e-1")], None, NOW) == Arrival()
    assert await unsent_ids(store) == ["e-1"]


async def test_a_sent_event_is_claimed_for_a_free_hand(store: Store, hands: FreeHands) -> None:
    await store.queue.send([event("e-1")], None, NOW)
    (delivery,) = hands.held
    assert (delivery.agent, delivery.event.id, delivery.attempt, delivery.fence) == ("worker", "e-1", 1, 1)
    assert await unsent_ids(store) == []
    assert await claim_all(store) == []
    (again,) = await claim_all(store, now=NOW + LEASE)
    assert (again.event.id, again.attempt, again.fence) == ("e-1", 2, 2), "the lease was on disk"


async def test_a_sent_event_without_a_free_hand_waits_and_its_agent_is_signalled(
    store: Store, hands: FreeHands
) -> None:
    arrivals = [await store.queue.send([event(f"e-{n}")], None, NOW) for n in range(3)]
    assert [arrival.agents for arrival in arrivals] == [frozenset(), frozenset(), {"worker"}]
    assert hands.ids() == ["e-0", "e-1"]
    assert hands.queued == ["worker"], "no later one goes before it"
    assert [one.event.id for one in await claim_all(store)] == ["e-2"]


async def test_a_publishing_commit_returns_its_arrivals(store: Store, hands: FreeHands) -> None:
    await store.registry.register([agent("other", "other.asked")], NOW)
    await store.queue.send([event("e-1")], None, NOW)
    published = (Publish(event("e-2", "other.asked")), Publish(event("e-3", "nobody.asked")))
    arrival = await store.queue.commit(Work(hands.held[0], Ack(), published), NOW)
    assert arrival.agents == {"other"}
    assert [(stray.event_id, stray.reason) for stray in arrival.strays] == [("e-3", "untaken")]
    assert [one.event.id for one in await claim_all(store, "other")] == ["e-2"]


async def test_a_client_gets_its_reply_with_the_commit_that_publishes_it(store: Store, hands: FreeHands) -> None:
    expected = expectation("q-1", ExpectationKind.CLIENT, plan_id=None, root_plan_id=None)
    await store.queue.send([event("q-1")], expected, NOW)
    came = reply("r-1", "q-1", source="worker").model_copy(update={"answers": "q-1"})
    arrival = await store.queue.commit(Work(hands.held[0], Ack(), (Publish(came),)), NOW)
    assert arrival.replies == {"q-1": came}


async def test_of_one_owner_the_next_is_claimed_when_the_one_before_has_ended(store: Store, hands: FreeHands) -> None:
    await store.registry.register([agent("planner")], NOW)
    hands.free["planner"] = 1
    (opener,) = await _hold_deliveries(store, hands)
    opens = (SavePlan(plan(), None), *(Expect(expectation(f"q-{n}")) for n in range(3)))
    await store.queue.commit(Work(opener, Ack(), opens), NOW)
    await store.queue.send(of_one_owner(0, 1, 2), None, NOW)
    assert hands.queued == [], "a blocked delivery waits for no hand"
    seen: list[str] = []
    while hands.held:
        (delivery,) = hands.held
        hands.held.clear()
        seen.append(delivery.event.id)
        await end(store, delivery)
        hands.give_back("planner")
    assert seen == ["r-0", "r-1", "r-2"]
    assert hands.free["planner"] == 1, "each took the hand that the one before it left"


async def test_a_hand_is_kept_by_no_delivery_behind_another_of_its_owner(store: Store, hands: FreeHands) -> None:
    await store.registry.register([agent("planner")], NOW)
    hands.free["planner"] = 3
    (opener,) = await _hold_deliveries(store, hands)
    opens = (SavePlan(plan(), None), *(Expect(expectation(f"q-{n}")) for n in range(3)))
    await store.queue.commit(Work(opener, Ack(), opens), NOW)
    await store.queue.send(of_one_owner(0, 1, 2), None, NOW)
    assert (hands.ids(), hands.free["planner"]) == (["r-0"], 2)


async def test_two_commits_at_once_for_one_owner_make_one_lease(store: Store, hands: FreeHands) -> None:
    await store.registry.register([agent("planner")], NOW)
    hands.free["planner"] = 9
    first, second, opener = await _hold_deliveries(store, hands, 3)
    opens = (SavePlan(plan(), None), *(Expect(expectation(f"q-{n}")) for n in (1, 2)))
    await store.queue.commit(Work(opener, Ack(), opens), NOW)
    works = [
        Work(delivery, Ack(), (Publish(one),))
        for delivery, one in zip((first, second), of_one_owner(1, 2), strict=True)
    ]
    await asyncio.gather(*(store.queue.commit(work, NOW) for work in works))
    assert len(hands.held) == 1
    assert await claim_all(store, "planner") == []
    assert await store.queue.count_pending("planner", "plan-1") == 2


async def test_a_registration_that_has_returned_is_seen_by_every_later_commit(store: Store, hands: FreeHands) -> None:
    givers = await _hold_deliveries(store, hands, 5)
    for n, giver in enumerate(givers):
        await store.registry.register([agent(f"new-{n}", f"new-{n}.asked")], NOW)
        arrival = await store.queue.commit(Work(giver, Ack(), (Publish(event(f"n-{n}", f"new-{n}.asked")),)), NOW)
        assert arrival.agents == {f"new-{n}"}


async def test_two_commits_that_meet_each_others_expectations_both_succeed(store: Store, hands: FreeHands) -> None:
    await store.registry.register([agent("planner")], NOW)
    one, other = await _hold_deliveries(store, hands, 2)
    for n, delivery in ((1, one), (2, other)):
        opens = (SavePlan(plan(f"plan-{n}"), None), Expect(expectation(f"q-{n}", plan_id=f"plan-{n}")))
        await store.queue.commit(Work(delivery, Ack(), opens), NOW)
    crossing = await _hold_deliveries(store, hands, 2)
    works = [
        Work(delivery, Ack(), (AppendStep(step(0, f"plan-{n}")), Publish(reply(f"r-{m}", f"q-{m}"))))
        for delivery, n, m in zip(crossing, (1, 2), (2, 1), strict=True)
    ]
    await asyncio.gather(*(store.queue.commit(work, NOW) for work in works))
    met = [await store.plans.expectation(f"q-{n}") for n in (1, 2)]
    assert [(one.status, one.met_by) for one in met if one] == [
        (ExpectationStatus.MET, "r-1"),
        (ExpectationStatus.MET, "r-2"),
    ]


async def test_a_reader_by_cursor_misses_no_late_commit(store: Store, hands: FreeHands) -> None:
    read: list[str] = []
    seen = 0

    async def follow() -> None:
        nonlocal seen
        while len(read) < 60:
            for row in await store.events.events(after=seen):
                seen = row.seq
                read.append(row.event.id)
            await asyncio.sleep(0)

    async def write(name: str) -> None:
        for n in range(20):
            await store.queue.send([event(f"{name}-{n}")], None, NOW)

    await asyncio.wait_for(asyncio.gather(follow(), *(write(name) for name in "abc")), 30)
    assert sorted(read) == sorted(f"{name}-{n}" for name in "abc" for n in range(20))


async def test_an_undone_publication_gives_its_hand_back_and_is_not_handed_out(store: Store, hands: FreeHands) -> None:
    (giver,) = await _hold_deliveries(store, hands)
    clash = (Publish(event("e-9")), SavePlan(plan(version=4), 3))
    with pytest.raises(VersionConflict):
        await store.queue.commit(Work(giver, Ack(), clash), NOW)
    assert (hands.ids(), hands.free["worker"]) == ([], 2)
    assert await store.events.event("e-9") is None


async def test_a_failing_commit_takes_no_hand_from_its_neighbours(store: Store, hands: FreeHands) -> None:
    giver, other = await _hold_deliveries(store, hands, 2)
    works = [
        Work(giver, Ack(), (Publish(event("e-8")), SavePlan(plan(version=4), 3))),
        Work(other, Ack(), (Publish(event("e-9")),)),
    ]
    failed, arrival = await asyncio.gather(*(store.queue.commit(one, NOW) for one in works), return_exceptions=True)
    assert isinstance(failed, VersionConflict) and isinstance(arrival, Arrival)
    assert len(hands.ids() + [one.event.id for one in await claim_all(store)]) == 1
    assert hands.free["worker"] + len(hands.held) == 2


async def test_a_repeated_event_is_not_handed_out_again(store: Store, hands: FreeHands) -> None:
    await store.queue.send([event("e-1")], None, NOW)
    await store.queue.send([event("e-1")], None, NOW)
    await store.queue.arrive([event("e-1")], NOW)
    with pytest.raises(LocalProtocolError, match="other content"):
        await store.queue.send([event("e-1", data={"n": 2})], None, NOW)
    assert (hands.ids(), hands.free["worker"]) == (["e-1"], 1)


@pytest.mark.parametrize("backend", ["sqlite memory", "sqlite file"], indirect=True)
async def test_an_unwritable_lease_costs_no_hand(store: Store, hands: FreeHands) -> None:
    assert isinstance(store, SqliteStore)
    trap = "CREATE TRIGGER full BEFORE INSERT ON inbox WHEN NEW.state = 'leased' BEGIN SELECT RAISE(ABORT, 'full'); END"
    await store.database.write(lambda db: db.execute(trap))
    for n in range(5):
        await store.queue.send([event(f"e-{n}")], None, NOW)
    assert (hands.ids(), hands.free["worker"]) == ([], 2)
    assert await store.queue.backlog(9) == 5


@pytest.fixture
async def reopened(lasting: Backend) -> AsyncIterator[Store]:
    """A store of a killed owner, with a delivery claimed at its arrival."""
    async with open_store(lasting.make()) as store:
        await store.registry.register([agent("worker", "work.asked")], NOW)
        store.deliver(FreeHands(worker=1), LEASE)
        await store.queue.send([event("e-1")], None, NOW)
    async with open_store(lasting.make()) as store:
        yield store


async def test_a_delivery_claimed_at_its_arrival_counts_as_a_crash_of_a_gone_owner(reopened: Store) -> None:
    (delivery,) = await claim_all(reopened)
    assert (delivery.event.id, delivery.attempt) == ("e-1", 2)
    await reopened.queue.release([delivery])


async def test_timers_and_wake_ups_arrive_in_the_transaction_that_publishes_them(
    store: Store, hands: FreeHands
) -> None:
    await store.registry.register([agent("planner")], NOW)
    hands.free["planner"] = 1
    (opener,) = await _hold_deliveries(store, hands)
    await store.queue.commit(Work(opener, Ack(), (SavePlan(plan(), None),)), NOW)
    assert await store.plans.cancel("plan-1", "why", later(1))
    assert [delivery.event.type for delivery in hands.held] == ["plan.cancel.requested"]
    assert hands.held[0].owner == "plan-1"


async def _hold_deliveries(store: Store, hands: FreeHands, count: int = 1) -> list[Delivery]:
    """Return deliveries in hand of a worker outside of every test."""
    name = f"giver-{len(await store.events.events(limit=1000))}"
    await store.registry.register([agent(name, name)], NOW - timedelta(seconds=1))
    hands.free[name] = count
    before = len(hands.held)
    await store.queue.send([event(f"{name}-{n}", name) for n in range(count)], None, NOW)
    given = hands.held[before:]
    del hands.held[before:]
    return given
