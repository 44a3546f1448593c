"""Events go to their receivers, one at a time per owner, and a stale owner commits nothing."""

import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace
from store_kit import (
    LEASE,
    NOW,
    agent,
    claim_all,
    do,
    drain,
    end,
    event,
    expectation,
    hold_delivery,
    in_hand,
    in_line,
    later,
    let_replies_arrive,
    plan,
    planner,
    reply,
    save_running_plan,
    unsent_ids,
)

from soorma_ai.errors import LeaseLost
from soorma_ai.features.dead_letters.ports import LETTERS
from soorma_ai.features.remote.ports import LEASES
from soorma_ai.kernel.domain.effects import Ack, DeadLetter, Publish, RetryAfter, SavePlan, Schedule
from soorma_ai.kernel.domain.expectations import SUSPECTS, Arrival
from soorma_ai.kernel.domain.plans import PlanRecord, Rest, plan_id_of
from soorma_ai.kernel.ports import Place, Store, Work
from soorma_ai.kernel.rules.waits.wakeups import CANCEL_REQUESTED, DEADLINE_REACHED, STRANDED, wake_plan


async def test_every_subscriber_gets_one_copy(store: Store) -> None:
    await store.registry.register(
        [agent("one", "work.asked"), agent("two", "work.asked"), agent("three", "other")], NOW
    )
    arrival = await store.queue.arrive([event("e-1")], NOW)
    assert arrival.agents == {"one", "two"}
    assert [d.event for d in await claim_all(store, "one")] == [event("e-1")]
    assert [d.event for d in await claim_all(store, "two")] == [event("e-1")]
    assert await claim_all(store, "three") == []


async def test_arriving_again_changes_nothing(store: Store) -> None:
    await in_line(store, "a", "a")
    assert (await store.queue.arrive([event("a", data={"n": 2})], NOW)).agents == frozenset()
    (delivery,) = await claim_all(store)
    assert delivery.event == event("a"), "it is taken as it was first"
    await end(store, delivery)
    await store.queue.arrive([event("a")], NOW)
    assert await claim_all(store, now=later(99)) == []


async def test_a_new_registration_replaces_the_subscriptions_and_keeps_arrived_events(store: Store) -> None:
    await store.registry.register([agent("worker", "old")], NOW)
    await store.queue.arrive([event("a", "old")], NOW)
    await store.registry.register([agent("worker", "new")], NOW)
    await store.registry.leave(["worker"])
    await store.queue.arrive([event("b", "old"), event("c", "new")], NOW)
    assert [d.event.id for d in await claim_all(store)] == ["a", "c"]


async def test_deliveries_are_owned_by_their_event_and_goals_by_their_plan(store: Store) -> None:
    await store.registry.register([agent("worker", "goal.given"), planner()], NOW)
    await store.queue.arrive([event("g-1", "goal.given")], NOW)
    assert [d.owner for d in await claim_all(store)] == ["g-1"]
    assert [d.owner for d in await claim_all(store, "planner")] == [plan_id_of("g-1", "planner")]


async def test_goals_come_after_all_other_work(store: Store) -> None:
    goals = planner()
    takes_both = replace(goals, subscriptions=(*goals.subscriptions, *agent("planner", "work.asked").subscriptions))
    await store.registry.register([takes_both], NOW)
    await save_running_plan(store, expectation("q-1"))
    await store.queue.arrive([event("g-1", "goal.given"), event("g-2", "goal.given")], NOW)
    await store.queue.arrive([reply("r-1", "q-1"), event("e-1")], NOW)
    assert [d.event.id for d in await claim_all(store, "planner")] == ["r-1", "e-1", "g-1", "g-2"]


async def test_a_goal_is_not_overtaken_by_events_for_its_own_plan(store: Store) -> None:
    await store.registry.register([planner()], NOW)
    own = plan_id_of("g-1", "planner")
    await do(store, SavePlan(plan(own), None))
    await store.queue.arrive([event("g-1", "goal.given")], NOW)
    await store.queue.arrive([wake_plan(CANCEL_REQUESTED, plan(own), NOW)], NOW)
    (goal,) = await claim_all(store, "planner")
    assert (goal.event.id, goal.owner) == ("g-1", own)
    await end(store, goal)
    (wake,) = await claim_all(store, "planner")
    assert (wake.event.type, wake.owner) == (CANCEL_REQUESTED, own)


async def save_resting_plan(store: Store) -> PlanRecord:
    """Save a plan with its goal put off for an hour."""
    await store.registry.register([planner()], NOW)
    made = plan(plan_id_of("g-1", "planner"))
    await store.queue.arrive([event("g-1", "goal.given")], NOW)
    (goal,) = await claim_all(store, "planner")
    put_off = RetryAfter(timedelta(hours=1), "no line", counts=False)
    await store.queue.commit(Work(goal, put_off, (SavePlan(made, None),)), NOW)
    return made


async def test_a_rest_has_an_end_and_a_reason_and_is_no_attempt(store: Store) -> None:
    plan_id = (await save_resting_plan(store)).plan_id
    assert await store.queue.find_rest("planner", plan_id, NOW) == Rest(later(3600), "no line")
    assert await store.queue.find_rest("planner", "another", NOW) is None
    assert await store.queue.find_rest("planner", plan_id, later(3600)) == Rest(None, "no line"), "it is due"
    assert await claim_all(store, "planner", now=later(3599)) == []
    (goal,) = await claim_all(store, "planner", now=later(3600))
    assert (goal.attempt, goal.fence) == (1, 2)
    assert await store.queue.find_rest("planner", plan_id, later(3600)) == Rest(None, "no line"), "it is tried again"
    await store.queue.commit(Work(goal, Ack(), ()), later(3601))
    assert await store.queue.find_rest("planner", plan_id, later(3601)) is None


async def test_a_delivery_at_its_first_handling_does_not_rest(store: Store) -> None:
    await store.registry.register([planner()], NOW)
    await store.queue.arrive([event("g-1", "goal.given")], NOW)
    assert await store.queue.find_rest("planner", plan_id_of("g-1", "planner"), NOW) is None
    await claim_all(store, "planner")
    assert await store.queue.find_rest("planner", plan_id_of("g-1", "planner"), NOW) is None


@pytest.mark.parametrize(("type", "at_once"), [(CANCEL_REQUESTED, True), (DEADLINE_REACHED, True), (STRANDED, False)])
async def test_an_event_that_ends_a_plan_finds_it_at_once_though_it_rests(
    store: Store, type: str, at_once: bool
) -> None:
    arrival = await store.queue.arrive([wake_plan(type, await save_resting_plan(store), NOW)], NOW)
    assert arrival.agents == ({"planner", SUSPECTS} if at_once else set())
    assert [d.event.id for d in await claim_all(store, "planner", now=later(1))] == (["g-1"] if at_once else [])


async def test_one_owner_is_handled_one_at_a_time_and_in_order(store: Store) -> None:
    await let_replies_arrive(store, 2, 0, 3, 1)
    assert await drain(store) == ["r-2", "r-0", "r-3", "r-1"]


async def test_different_owners_are_claimed_together_up_to_the_limit(store: Store) -> None:
    await in_line(store, *(f"e-{n}" for n in range(5)))
    assert [d.event.id for d in await claim_all(store, limit=3)] == ["e-0", "e-1", "e-2"]
    assert [d.event.id for d in await claim_all(store, limit=3)] == ["e-3", "e-4"]


async def test_claims_at_once_share_no_delivery(store: Store) -> None:
    await in_line(store, *(f"e-{n}" for n in range(60)))
    batches = await asyncio.gather(*(claim_all(store, limit=7) for _ in range(12)))
    taken = [d.event.id for batch in batches for d in batch]
    assert sorted(taken) == sorted(f"e-{n}" for n in range(60))


async def test_a_lease_ends_at_its_moment_and_the_next_claim_raises_attempt_and_fence(store: Store) -> None:
    (first,) = await in_hand(store, "a")
    assert await claim_all(store, now=later(29.999)) == []
    (second,) = await claim_all(store, now=later(30))
    assert (first.attempt, second.attempt, first.seq) == (1, 2, second.seq)
    assert second.fence > first.fence


async def test_a_stale_owner_commits_nothing_and_one_with_an_unnoticed_expiry_does(store: Store) -> None:
    (stale,) = await in_hand(store, "a")
    (fresh,) = await claim_all(store, now=later(31))
    with pytest.raises(LeaseLost, match="fence"):
        await store.queue.commit(Work(stale, Ack(), (Publish(event("from stale")),)), later(32))
    assert await unsent_ids(store) == []
    await store.queue.commit(Work(fresh, Ack(), (Publish(event("from fresh")),)), later(3600))
    assert await unsent_ids(store) == ["from fresh"]


async def test_of_many_commits_for_one_delivery_one_counts(store: Store) -> None:
    delivery = await hold_delivery(store)
    works = [Work(delivery, Ack(), (Publish(event(f"out-{n}")),)) for n in range(20)]
    results = await asyncio.gather(*(store.queue.commit(work, NOW) for work in works), return_exceptions=True)
    assert [type(result) for result in results].count(LeaseLost) == 19
    assert sum(isinstance(result, Arrival) for result in results) == 1
    assert len(await unsent_ids(store)) == 1
    with pytest.raises(LeaseLost):
        await end(store, delivery)


async def test_a_renewal_prolongs_and_returns_the_leases_still_held(store: Store) -> None:
    kept, stolen, finished = await in_hand(store, "a", "b", "c")
    await end(store, finished)
    assert await store.queue.renew([kept], later(60)) == [kept]
    (again,) = await claim_all(store, now=later(31))
    assert again.event.id == "b"
    assert await store.queue.renew([kept, stolen, finished], later(90)) == [kept]
    assert [d.event.id for d in await claim_all(store, now=later(89))] == ["b"]


async def test_a_retry_waits_for_its_delay_and_holds_its_owners_place(store: Store) -> None:
    await let_replies_arrive(store, 1, 2)
    (first,) = await claim_all(store, "planner")
    await end(store, first, RetryAfter(timedelta(seconds=10), "busy"))
    assert await claim_all(store, "planner", now=later(9)) == []
    (again,) = await claim_all(store, "planner", now=later(10))
    assert (again.event.id, again.attempt) == ("r-1", 2)
    await end(store, again)
    assert await drain(store) == ["r-2"]


async def test_a_dead_letter_is_kept_with_its_reason_and_frees_its_owner(store: Store) -> None:
    await let_replies_arrive(store, 1, 2)
    (first,) = await claim_all(store, "planner")
    await end(store, first, DeadLetter("it is nonsense"), now=later(5))
    (row,) = await store.part(LETTERS).dead_letters("default", 10)
    assert (row.seq, row.agent, row.event.id, row.reason) == (first.seq, "planner", "r-1", "it is nonsense")
    assert (row.attempts, row.at) == (1, later(5))
    assert await drain(store) == ["r-2"]


async def test_dead_letters_are_listed_newest_first_by_tenant_and_limit(store: Store) -> None:
    await store.registry.register([agent("worker", "work.asked")], NOW)
    await store.queue.arrive([event("a", tenant="one"), event("b", tenant="two"), event("c", tenant="one")], NOW)
    for delivery in await claim_all(store):
        await end(store, delivery, DeadLetter("no"))
    assert [row.event.id for row in await store.part(LETTERS).dead_letters(None, 10)] == ["c", "b", "a"]
    assert [row.event.id for row in await store.part(LETTERS).dead_letters("one", 10)] == ["c", "a"]
    assert [row.event.id for row in await store.part(LETTERS).dead_letters(None, 1)] == ["c"]
    older, newer = [Place(str(row.seq)) for row in await store.part(LETTERS).dead_letters(None, 2)]
    assert [row.event.id for row in await store.part(LETTERS).dead_letters(None, 1, beyond=older)] == ["b"]
    assert [row.event.id for row in await store.part(LETTERS).dead_letters("one", 9, beyond=older)] == ["a"]
    back = Place(newer.id, is_back=True)
    assert [row.event.id for row in await store.part(LETTERS).dead_letters(None, 9, beyond=back)] == ["c"]


async def test_the_next_due_moment_is_the_end_of_a_delay_or_of_a_lease(store: Store) -> None:
    await store.registry.register([agent("idle", "nothing")], NOW)
    assert await store.queue.next_due(["worker", "idle"], NOW) is None
    await in_line(store, "a", "b")
    assert await store.queue.next_due(["worker"], NOW) is None, "a free delivery is signalled by its arrival"
    first, second = await claim_all(store)
    assert await store.queue.next_due(["worker"], NOW) == NOW + LEASE
    await end(store, first, RetryAfter(timedelta(seconds=7), "busy"))
    assert await store.queue.next_due(["worker"], NOW) == later(7)
    await end(store, second, RetryAfter(timedelta(seconds=8), "busy"))
    assert await store.queue.next_due(["idle"], NOW) is None
    moments = [await store.queue.next_due(["idle", "worker"], later(seconds)) for seconds in (6, 7, 8)]
    assert moments == [later(7), later(8), None]
    await do(store, Schedule("t-1", later(2), event("tick")))
    assert await store.queue.next_due(["worker"], later(9)) == later(2), "a timer is due until it fires"


async def test_many_commits_at_once_all_land_once(store: Store) -> None:
    deliveries = await in_hand(store, *(f"e-{n}" for n in range(100)))
    works = [Work(d, Ack(), (Publish(event(f"out-{d.event.id}")),)) for d in deliveries]
    await asyncio.gather(*(store.queue.commit(work, NOW) for work in works))
    assert sorted(await unsent_ids(store)) == sorted(f"out-e-{n}" for n in range(100))
    assert await claim_all(store, now=later(999)) == []


async def test_an_uncounted_retry_is_the_same_attempt_under_another_fence(store: Store) -> None:
    await in_line(store, "e-1")
    seen: list[tuple[int, int]] = []
    for counts in (False, True, False, True):
        (delivery,) = await claim_all(store)
        seen.append((delivery.attempt, delivery.fence))
        await end(store, delivery, RetryAfter(timedelta(0), "busy", counts=counts))
    assert seen == [(1, 1), (1, 2), (2, 3), (2, 4)]


async def test_a_lease_is_found_by_its_row_and_its_fence_until_it_ends_or_is_taken_anew(store: Store) -> None:
    await in_line(store, "a", "b")
    assert await store.part(LEASES).has_work("worker", NOW)
    first, second = await claim_all(store)
    assert await store.part(LEASES).find_leased(first.seq, first.fence) == first
    assert await store.part(LEASES).find_leased(first.seq, first.fence + 1) is None
    assert not await store.part(LEASES).has_work("worker", NOW)
    assert await store.part(LEASES).has_work("worker", later(LEASE.total_seconds() + 1))
    assert await store.part(LEASES).outcome("worker", first.seq, first.fence) is None
    await store.queue.commit(Work(first, Ack(), (), outcome="said"), NOW)
    assert await store.part(LEASES).find_leased(first.seq, first.fence) is None
    assert await store.part(LEASES).outcome("worker", first.seq, first.fence) == "said"
    assert await store.part(LEASES).outcome("worker", first.seq, first.fence + 1) is None
    assert await store.part(LEASES).outcome("other", first.seq, first.fence) is None
    await end(store, second)
    assert await store.part(LEASES).outcome("worker", second.seq, second.fence) is None


async def test_an_agent_is_found_by_its_name_also_when_it_is_gone(store: Store) -> None:
    await store.registry.register([agent("worker", "work.asked")], NOW)
    await store.registry.leave(["worker"])
    found = await store.registry.agent("worker", NOW)
    assert found is not None and (found.agent, found.live) == ("worker", False)
    assert await store.registry.agent("nobody", NOW) is None
