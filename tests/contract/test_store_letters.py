"""What could not be handled is kept, brought back or discarded, once each, and stands in nobody's way."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from store_kit import (
    LEASE,
    NOW,
    agent,
    claimed,
    do,
    end,
    event,
    expectation,
    later,
    plan,
    planner,
    redrive,
    reply,
    running,
    unsent_ids,
)

from soorma_ai.domain.effects import Ack, DeadLetter, RetryAfter, SavePlan
from soorma_ai.domain.letters import NOBODY, LetterStatus
from soorma_ai.domain.plans import PlanStatus, plan_id_of
from soorma_ai.errors import NotFound
from soorma_ai.ports import DeadLetterRow, Delivery, Store, Work


async def dead(store: Store, event_id: str = "a", reason: str = "broken: no") -> Delivery:
    """A delivery to `worker`, dead after one attempt."""
    await store.registry.register([agent("worker", "work.asked")], NOW)
    await store.queue.arrive([event(event_id)], NOW)
    (delivery,) = await claimed(store)
    await end(store, delivery, DeadLetter(reason), now=later(5))
    return delivery


async def letter(store: Store, seq: int) -> DeadLetterRow:
    found = await store.letters.dead_letter(seq)
    assert found is not None
    return found


async def test_a_letter_is_found_by_its_number_and_other_deliveries_are_none(store: Store) -> None:
    died = await dead(store)
    assert await store.letters.dead_letter(died.seq) == (await store.letters.dead_letters(None, 9))[0]
    await store.queue.arrive([event("b"), event("c")], NOW)
    waiting, done = await claimed(store)
    await end(store, waiting, RetryAfter(timedelta(0), "busy"))
    await end(store, done)
    assert [await store.letters.dead_letter(seq) for seq in (waiting.seq, done.seq, 999)] == [None, None, None]


async def test_a_redriven_letter_is_handed_over_again_from_the_first_attempt(store: Store) -> None:
    died = await dead(store)
    assert await redrive(store, died.seq)
    assert await store.letters.dead_letters(None, 9) == []
    assert (await letter(store, died.seq)).status is LetterStatus.REDRIVEN
    (again,) = await claimed(store, now=NOW)
    assert (again.seq, again.event, again.attempt, again.redriven) == (died.seq, died.event, 1, 1)
    assert again.fence > died.fence
    await end(store, again)
    assert (await letter(store, died.seq)).status is LetterStatus.HANDLED


async def test_what_dies_again_can_be_redriven_again_and_tells_why_it_died_last(store: Store) -> None:
    died = await dead(store)
    for round in (1, 2, 3):
        assert await redrive(store, died.seq)
        (again,) = await claimed(store)
        assert again.redriven == round
        await end(store, again, DeadLetter(f"round {round}"), now=later(round))
    row = await letter(store, died.seq)
    assert (row.status, row.reason, row.redriven, row.attempts, row.at) == (
        LetterStatus.DEAD,
        "round 3",
        3,
        1,
        later(3),
    )


async def test_a_second_redrive_changes_nothing_whatever_became_of_the_first(store: Store) -> None:
    died = await dead(store)
    assert await redrive(store, died.seq)
    assert not await redrive(store, died.seq)
    (again,) = await claimed(store)
    assert not await redrive(store, died.seq)
    assert again.redriven == 1
    await end(store, again)
    assert not await redrive(store, died.seq)
    assert not await store.letters.discard(died.seq, "too late", NOW)
    assert await claimed(store, now=later(999)) == []


async def test_of_many_redrives_and_discards_at_once_one_counts(store: Store) -> None:
    died = await dead(store)
    calls = [redrive(store, died.seq) if n % 2 else store.letters.discard(died.seq, f"by {n}", NOW) for n in range(20)]
    assert sorted(await asyncio.gather(*calls)) == [False] * 19 + [True]


async def test_a_stale_owner_of_the_time_before_commits_nothing_after_a_redrive(store: Store) -> None:
    died = await dead(store)
    await redrive(store, died.seq)
    await claimed(store)
    with pytest.raises(Exception, match="fence"):
        await store.queue.commit(Work(died, Ack(), ()), NOW)


async def test_a_redriven_letter_waits_behind_what_its_owner_has_in_hand_and_before_what_came_later(
    store: Store,
) -> None:
    await running(store, *(expectation(f"q-{n}") for n in range(4)))
    await store.queue.arrive([reply(f"r-{n}", f"q-{n}") for n in range(4)], NOW)
    (first,) = await claimed(store, "planner")
    await end(store, first, DeadLetter("no"))
    (second,) = await claimed(store, "planner")
    assert await redrive(store, first.seq)
    assert await claimed(store, "planner") == [], "one at a time for one owner"
    await end(store, second)
    seen: list[str] = []
    while deliveries := await claimed(store, "planner"):
        assert len(deliveries) == 1
        seen.append(deliveries[0].event.id)
        await end(store, deliveries[0])
    assert (second.event.id, seen) == ("r-1", ["r-0", "r-2", "r-3"])


async def test_several_letters_of_one_owner_redriven_at_once_come_one_at_a_time_in_order(store: Store) -> None:
    await running(store, *(expectation(f"q-{n}") for n in range(3)))
    await store.queue.arrive([reply(f"r-{n}", f"q-{n}") for n in range(3)], NOW)
    died: list[Delivery] = []
    while deliveries := await claimed(store, "planner"):
        died += deliveries
        await end(store, deliveries[0], DeadLetter("no"))
    await asyncio.gather(*(redrive(store, delivery.seq) for delivery in died))
    seen: list[str] = []
    while deliveries := await claimed(store, "planner"):
        seen += [delivery.event.id for delivery in deliveries]
        await end(store, deliveries[0])
    assert seen == ["r-0", "r-1", "r-2"]


async def test_a_redriven_letter_that_had_to_wait_for_its_turn_is_due_at_once(store: Store) -> None:
    died = await dead(store)
    await redrive(store, died.seq)
    assert await store.queue.next_due(["worker"], NOW) is None, "what can be claimed at once needs no timer"
    assert len(await claimed(store, now=NOW)) == 1


async def test_a_discarded_letter_is_done_says_by_whom_and_is_not_taken_when_it_comes_again(store: Store) -> None:
    died = await dead(store)
    assert await store.letters.discard(died.seq, "discarded by ann: a test", later(9))
    assert await store.letters.dead_letters(None, 9) == []
    row = await letter(store, died.seq)
    assert (row.status, row.at) == (LetterStatus.DISCARDED, later(9))
    assert row.reason == "discarded by ann: a test; it had died of broken: no"
    assert (await store.queue.arrive([event("a")], NOW)).agents == frozenset()
    assert await claimed(store, now=later(999)) == []
    assert not await redrive(store, died.seq)
    assert not await store.letters.discard(died.seq, "again", NOW)
    assert await letter(store, died.seq) == row


async def test_a_letter_that_was_redriven_and_died_again_can_be_discarded(store: Store) -> None:
    died = await dead(store)
    await redrive(store, died.seq)
    (again,) = await claimed(store)
    await end(store, again, DeadLetter("no"))
    assert await store.letters.discard(died.seq, "enough", NOW)
    assert (await letter(store, died.seq)).status is LetterStatus.DISCARDED


async def test_what_is_no_letter_cannot_be_found_nor_discarded(store: Store) -> None:
    await store.registry.register([agent("worker", "work.asked")], NOW)
    await store.queue.arrive([event("a")], NOW)
    (alive,) = await claimed(store)
    for seq in (alive.seq, 999):
        assert await store.letters.dead_letter(seq) is None
        with pytest.raises(NotFound, match=f"no dead letter {seq}"):
            await store.letters.discard(seq, "why", NOW)
    await end(store, alive)


async def test_a_letter_whose_plan_has_ended_since_it_was_read_is_not_redriven_and_can_be_discarded(
    store: Store,
) -> None:
    await running(store, expectation("q-1"))
    await store.queue.arrive([reply("r-1", "q-1")], NOW)
    (delivery,) = await claimed(store, "planner")
    await end(store, delivery, DeadLetter("no"))
    read = await letter(store, delivery.seq)
    assert (read.came_for, read.plan_status, read.root_plan_id) == ("plan-1", PlanStatus.RUNNING, "plan-1")
    await do(store, SavePlan(plan(status=PlanStatus.FAILED, version=1), 0))
    assert not await store.letters.redrive(read)
    assert await letter(store, delivery.seq) == replace(read, plan_status=PlanStatus.FAILED)
    assert await store.letters.discard(delivery.seq, "over", NOW)


async def test_a_goal_whose_plan_was_never_begun_can_be_redriven(store: Store) -> None:
    await store.registry.register([planner()], NOW)
    await store.queue.arrive([event("g-1", "goal.given")], NOW)
    (delivery,) = await claimed(store, "planner")
    await end(store, delivery, DeadLetter("no"))
    read = await letter(store, delivery.seq)
    assert (read.came_for, read.plan_id, read.plan_status) == (None, None, None)
    assert await redrive(store, delivery.seq)
    (again,) = await claimed(store, "planner")
    assert again.owner == plan_id_of("g-1", "planner")


async def test_a_letter_for_an_agent_that_is_gone_waits_for_it(store: Store) -> None:
    died = await dead(store)
    await store.registry.leave(["worker"])
    assert await redrive(store, died.seq)
    await store.registry.register([agent("worker", "work.asked")], later(60))
    assert [delivery.seq for delivery in await claimed(store, now=later(60))] == [died.seq]


async def test_a_lease_that_ran_out_is_not_a_letter(store: Store) -> None:
    await store.registry.register([agent("worker", "work.asked")], NOW)
    await store.queue.arrive([event("a")], NOW)
    (delivery,) = await claimed(store)
    await claimed(store, now=NOW + LEASE)
    assert await store.letters.dead_letter(delivery.seq) is None


# Events that cannot arrive


async def test_an_event_set_aside_is_sent_no_more_and_is_a_letter_to_nobody(store: Store) -> None:
    await store.queue.send([event("a", tenant="one"), event("b")], None, NOW)
    await store.letters.set_aside(event("a", tenant="one"), "cannot_arrive: it is cursed", later(3))
    assert await unsent_ids(store) == ["b"]
    (row,) = await store.letters.dead_letters("one", 9)
    assert (row.agent, row.event, row.attempts, row.at) == (NOBODY, event("a", tenant="one"), 1, later(3))
    assert (row.reason, row.status) == ("cannot_arrive: it is cursed", LetterStatus.DEAD)
    assert await store.letters.dead_letters("default", 9) == []


async def test_an_event_that_the_store_has_never_seen_is_kept_when_it_is_set_aside(store: Store) -> None:
    await store.letters.set_aside(event("a", data={"n": 1}), "no", NOW)
    assert await store.events.event("a") == event("a", data={"n": 1})
    assert await unsent_ids(store) == []


async def test_an_event_set_aside_again_is_one_letter_with_its_last_reason(store: Store) -> None:
    for n in (1, 2):
        await store.letters.set_aside(event("a"), f"reason {n}", later(n))
    (row,) = await store.letters.dead_letters(None, 9)
    assert (row.reason, row.attempts, row.at) == ("reason 2", 2, later(2))


async def test_a_letter_to_nobody_is_sent_again_when_it_is_redriven(store: Store) -> None:
    await store.registry.register([agent("worker", "work.asked")], NOW)
    await store.letters.set_aside(event("a"), "no", NOW)
    (row,) = await store.letters.dead_letters(None, 9)
    assert await redrive(store, row.seq)
    assert not await redrive(store, row.seq)
    assert await unsent_ids(store) == ["a"]
    assert (await letter(store, row.seq)).status is LetterStatus.REDRIVEN
    assert (await store.queue.arrive([event("a")], NOW)).agents == {"worker"}
    assert (await letter(store, row.seq)).status is LetterStatus.HANDLED


async def test_a_letter_to_nobody_that_fails_again_is_dead_again_unless_it_was_discarded(store: Store) -> None:
    await store.letters.set_aside(event("a"), "first", NOW)
    (row,) = await store.letters.dead_letters(None, 9)
    await redrive(store, row.seq)
    await store.letters.set_aside(event("a"), "second", NOW)
    (again,) = await store.letters.dead_letters(None, 9)
    assert (again.seq, again.reason, again.redriven) == (row.seq, "second", 1)
    await store.letters.discard(row.seq, "enough", NOW)
    await store.letters.set_aside(event("a"), "third", NOW)
    assert await store.letters.dead_letters(None, 9) == []


async def test_a_redrive_sends_again_what_was_taken_by_the_bus_and_never_came(store: Store) -> None:
    await store.letters.set_aside(event("a"), "no", NOW)
    (row,) = await store.letters.dead_letters(None, 9)
    await redrive(store, row.seq)
    await store.queue.sent([stored.seq for stored in await store.queue.unsent(9)], NOW)
    await store.letters.set_aside(event("a"), "no", NOW)
    assert await redrive(store, row.seq)
    assert await unsent_ids(store) == ["a"]
