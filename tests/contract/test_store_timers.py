"""Timers are rows: each is due once, for any process, at any delay."""

import asyncio

from store_kit import NOW, do, event, fact, find, gate, later, plan, save_running_plan, unsent_ids, wait

from soorma_ai.kernel.domain.effects import Expect, Publish, SavePlan, Schedule, Unschedule
from soorma_ai.kernel.domain.expectations import ExpectationStatus
from soorma_ai.kernel.ports import Store
from soorma_ai.kernel.rules.arrival.endings import timer_of_plan
from soorma_ai.kernel.rules.waits.wakeups import DEADLINE_REACHED, EXPIRED, wake_for, wake_plan


async def test_a_timer_fires_at_its_moment_and_once(store: Store) -> None:
    await do(store, Schedule("t-1", later(10), event("tick")))
    assert await store.queue.fire(later(9.999), 50) == 0
    assert await store.queue.fire(later(10), 50) == 1
    assert await store.queue.fire(later(99), 50) == 0
    assert await unsent_ids(store) == ["tick"]
    assert await store.events.event("tick") == event("tick")


async def test_overdue_timers_fire_in_the_order_they_were_due(store: Store) -> None:
    await do(
        store,
        Schedule("a", later(3), event("third")),
        Schedule("b", later(1), event("first")),
        Schedule("c", later(2), event("second")),
    )
    assert await store.queue.next_due([], NOW) == later(1)
    assert await store.queue.fire(later(1000), 2) == 2
    assert await unsent_ids(store) == ["first", "second"]
    assert await store.queue.next_due([], NOW) == later(3)
    assert await store.queue.fire(later(1000), 2) == 1


async def test_a_fired_timer_expires_its_guarded_wait_and_no_event_finds_the_wait_again(store: Store) -> None:
    expected = wait("w-1", keys=("plan:plan-1",))
    await save_running_plan(store, expected)
    wake = wake_for(EXPIRED, expected, later(60))
    await do(
        store,
        Schedule("t-1", later(60), wake, guards="w-1"),
        Schedule("t-2", later(61), event("due at once, too"), guards="w-1"),
        Schedule("t-3", later(90), event("x"), guards="w-1"),
    )
    assert await store.queue.fire(later(61), 50) == 1
    assert await unsent_ids(store) == [wake.id]
    expired = await find(store, "w-1")
    assert (expired.status, expired.closed_at, expired.met_by) == (ExpectationStatus.EXPIRED, later(61), wake.id)
    assert await store.plans.find_met("plan-1", wake.id) == expired
    assert await store.queue.next_due([], NOW) is None, "the other timers of the closed wait are gone"
    assert (await store.queue.arrive([fact("f-1", plan_id="plan-1")], later(62))).agents == frozenset()


async def test_the_event_of_a_deadline_is_that_of_its_plan_and_is_not_stored_twice(store: Store) -> None:
    made, due = plan(), later(60)
    timer = Schedule(timer_of_plan("plan-1"), due, wake_plan(DEADLINE_REACHED, made, due))
    await do(store, SavePlan(made, None), timer)
    assert await store.queue.fire(later(61), 50) == 1
    assert [one.event for one in await store.queue.unsent(9)] == [timer.event]


async def test_the_deadline_of_a_removed_plan_just_goes(store: Store) -> None:
    await do(store, Schedule(timer_of_plan("plan-1"), later(1), wake_plan(DEADLINE_REACHED, plan(), later(1))))
    assert await store.queue.fire(later(61), 50) == 0
    assert await store.queue.next_due([], NOW) is None


async def test_firing_at_once_from_many_sides_publishes_each_once(store: Store) -> None:
    await do(store, *(Schedule(f"t-{n}", later(1), event(f"e-{n}")) for n in range(30)))
    fired = await asyncio.gather(*(store.queue.fire(later(2), 7) for _ in range(9)))
    assert sum(fired) == 30
    assert len(await unsent_ids(store)) == 30


async def test_a_timer_set_again_moves_and_one_unscheduled_does_not_fire(store: Store) -> None:
    await do(store, Schedule("t-1", later(10), event("old")), Schedule("t-2", later(10), event("gone")))
    await do(store, Schedule("t-1", later(20), event("new")), Unschedule("t-2"), Unschedule("never there"))
    assert await store.queue.fire(later(15), 50) == 0
    await store.queue.fire(later(20), 50)
    assert await unsent_ids(store) == ["new"]


async def test_a_timer_with_an_already_known_event_just_goes(store: Store) -> None:
    await do(store, Publish(event("tick")), Schedule("t-1", later(1), event("tick", data={"other": 1})))
    await store.queue.fire(later(2), 50)
    assert await unsent_ids(store) == ["tick"]
    assert await store.events.event("tick") == event("tick")


async def test_a_timer_of_a_series_closes_nothing_and_only_the_last_overdue_one_is_published(store: Store) -> None:
    await do(
        store,
        Expect(gate("g-1")),
        *(Schedule(f"r-{n}", later(n), event(f"e-{n}"), guards="g-1", series="reminder") for n in (1, 2, 9)),
        Schedule("s-1", later(1), event("other"), guards="g-1", series="escalation"),
    )
    assert await store.queue.fire(later(3), 100) == 2
    assert await unsent_ids(store) == ["other", "e-2"]
    assert (await find(store, "g-1")).status is ExpectationStatus.OPEN
    assert await store.queue.next_due([], NOW) == later(9)


async def test_a_timer_of_a_series_is_not_published_when_its_guarded_wait_ends_at_once(store: Store) -> None:
    await do(
        store,
        Expect(gate("g-1")),
        Schedule("r-1", later(1), event("reminder"), guards="g-1", series="reminder"),
        Schedule("t-1", later(2), event("end"), guards="g-1"),
        Schedule("r-2", later(3), event("again"), guards="g-1", series="reminder"),
    )
    assert await store.queue.fire(later(5), 100) == 1
    assert await unsent_ids(store) == ["end"]
    assert await store.queue.next_due([], NOW) is None


async def test_kept_timers_stay_unchanged_and_others_of_their_prefix_go(store: Store) -> None:
    await do(
        store,
        Schedule("every:a:1", later(5), event("first")),
        Schedule("every:a:2", later(6), event("taken out")),
        Schedule("every:ab:1", later(7), event("another's")),
    )
    kept = [Schedule("every:a:1", later(50), event("late")), Schedule("every:a:3", later(8), event("new"))]
    await store.queue.keep_timers("every:a:", kept)
    assert await store.queue.fire(later(60), 50) == 3
    assert await unsent_ids(store) == ["first", "another's", "new"]
