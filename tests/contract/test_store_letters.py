"""Dead letters are kept, redriven or discarded, once each, and stand in no other delivery's way."""

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
    in_hand,
    later,
    let_replies_arrive,
    plan,
    planner,
    redrive,
    unsent_ids,
)

from soorma_ai.errors import LeaseLost, NotFound
from soorma_ai.features.dead_letters.ports import LETTERS
from soorma_ai.features.dead_letters.records import DeadLetterRow, LetterStatus
from soorma_ai.kernel.domain.dead_letters import NOBODY
from soorma_ai.kernel.domain.effects import DeadLetter, RetryAfter, SavePlan
from soorma_ai.kernel.domain.plans import PlanStatus, plan_id_of
from soorma_ai.kernel.ports import Delivery, Store


async def dead_delivery(store: Store) -> Delivery:
    """A delivery to `worker`, dead after one attempt."""
    (delivery,) = await in_hand(store, "a")
    await end(store, delivery, DeadLetter("broken: no"), now=later(5))
    return delivery


async def set_aside(store: Store, reason: str) -> DeadLetterRow:
    """Set an event aside that could not arrive."""
    await store.queue.set_aside(event("a"), reason, NOW)
    (row,) = await store.part(LETTERS).dead_letters(None, 9)
    return row


async def letter(store: Store, seq: int) -> DeadLetterRow:
    found = await store.part(LETTERS).dead_letter(seq)
    assert found is not None
    return found


async def test_a_letter_is_found_by_its_number_and_other_deliveries_are_none(store: Store) -> None:
    died = await dead_delivery(store)
    assert await store.part(LETTERS).dead_letter(died.seq) == (await store.part(LETTERS).dead_letters(None, 9))[0]
    await store.queue.arrive([event("b"), event("c"), event("d")], NOW)
    waiting, done, alive = await claim_all(store)
    await end(store, waiting, RetryAfter(timedelta(0), "busy"))
    await end(store, done)
    await store.queue.claim("worker", NOW + LEASE, LEASE, 9)  # the lease of the third has run out
    for seq in (waiting.seq, done.seq, alive.seq, 999):
        assert await store.part(LETTERS).dead_letter(seq) is None
        with pytest.raises(NotFound, match=f"no dead letter {seq}"):
            await store.part(LETTERS).discard(seq, "why", NOW)


async def test_a_redriven_letter_is_handed_over_again_from_the_first_attempt(store: Store) -> None:
    died = await dead_delivery(store)
    assert await redrive(store, died.seq)
    assert not await redrive(store, died.seq)
    assert await store.part(LETTERS).dead_letters(None, 9) == []
    assert (await letter(store, died.seq)).status is LetterStatus.REDRIVEN
    assert await store.queue.next_due(["worker"], NOW) is None, "a free delivery needs no timer"
    (again,) = await claim_all(store, now=NOW)
    assert (again.seq, again.event, again.attempt, again.redriven) == (died.seq, died.event, 1, 1)
    assert again.fence > died.fence
    with pytest.raises(LeaseLost, match="fence"):
        await end(store, died)
    assert not await redrive(store, died.seq)
    await end(store, again)
    assert (await letter(store, died.seq)).status is LetterStatus.HANDLED
    assert not await redrive(store, died.seq)
    assert not await store.part(LETTERS).discard(died.seq, "too late", NOW)
    assert await claim_all(store, now=later(999)) == []


async def test_a_letter_dead_again_has_its_last_reason_and_can_be_redriven_and_discarded(store: Store) -> None:
    died = await dead_delivery(store)
    for round in (1, 2, 3):
        assert await redrive(store, died.seq)
        (again,) = await claim_all(store)
        assert again.redriven == round
        await end(store, again, DeadLetter(f"round {round}"), now=later(round))
    row = await letter(store, died.seq)
    assert (row.status, row.reason, row.at) == (LetterStatus.DEAD, "round 3", later(3))
    assert (row.redriven, row.attempts) == (3, 1)
    assert await store.part(LETTERS).discard(died.seq, "enough", NOW)
    assert (await letter(store, died.seq)).status is LetterStatus.DISCARDED


async def test_of_many_redrives_and_discards_at_once_one_counts(store: Store) -> None:
    died = await dead_delivery(store)
    calls = [
        redrive(store, died.seq) if n % 2 else store.part(LETTERS).discard(died.seq, f"by {n}", NOW) for n in range(20)
    ]
    assert sorted(await asyncio.gather(*calls)) == [False] * 19 + [True]


async def test_a_redriven_letter_waits_behind_the_delivery_in_hand_and_before_later_ones(store: Store) -> None:
    await let_replies_arrive(store, 0, 1, 2, 3)
    (first,) = await claim_all(store, "planner")
    await end(store, first, DeadLetter("no"))
    (second,) = await claim_all(store, "planner")
    assert await redrive(store, first.seq)
    assert await claim_all(store, "planner") == [], "one at a time for one owner"
    await end(store, second)
    assert (second.event.id, await drain(store)) == ("r-1", ["r-0", "r-2", "r-3"])


async def test_several_letters_of_one_owner_redriven_at_once_come_one_at_a_time_in_order(store: Store) -> None:
    await let_replies_arrive(store, 0, 1, 2)
    died: list[Delivery] = []
    while deliveries := await claim_all(store, "planner"):
        died += deliveries
        await end(store, deliveries[0], DeadLetter("no"))
    letters = [letter for delivery in died if (letter := await store.part(LETTERS).dead_letter(delivery.seq))]
    await asyncio.gather(*(store.part(LETTERS).redrive(letter) for letter in letters))
    assert await drain(store) == ["r-0", "r-1", "r-2"]


async def test_a_discarded_letter_names_its_person_and_is_not_taken_when_it_comes_again(store: Store) -> None:
    died = await dead_delivery(store)
    assert await store.part(LETTERS).discard(died.seq, "discarded by ann: a test", later(9))
    assert await store.part(LETTERS).dead_letters(None, 9) == []
    row = await letter(store, died.seq)
    assert (row.status, row.at) == (LetterStatus.DISCARDED, later(9))
    assert row.reason == "discarded by ann: a test; it had died of broken: no"
    assert (await store.queue.arrive([event("a")], NOW)).agents == frozenset()
    assert await claim_all(store, now=later(999)) == []
    assert not await redrive(store, died.seq)
    assert not await store.part(LETTERS).discard(died.seq, "again", NOW)
    assert await letter(store, died.seq) == row


async def test_a_letter_of_a_plan_ended_since_its_read_can_be_discarded_and_not_redriven(store: Store) -> None:
    await let_replies_arrive(store, 1)
    (delivery,) = await claim_all(store, "planner")
    await end(store, delivery, DeadLetter("no"))
    read = await letter(store, delivery.seq)
    assert (read.came_for, read.plan_status, read.root_plan_id) == ("plan-1", PlanStatus.RUNNING, "plan-1")
    await do(store, SavePlan(plan(status=PlanStatus.FAILED, version=1), 0))
    assert not await store.part(LETTERS).redrive(read)
    assert await letter(store, delivery.seq) == replace(read, plan_status=PlanStatus.FAILED)
    assert await store.part(LETTERS).discard(delivery.seq, "over", NOW)


async def test_a_goal_without_a_begun_plan_can_be_redriven(store: Store) -> None:
    await store.registry.register([planner()], NOW)
    await store.queue.arrive([event("g-1", "goal.given")], NOW)
    (delivery,) = await claim_all(store, "planner")
    await end(store, delivery, DeadLetter("no"))
    read = await letter(store, delivery.seq)
    assert (read.came_for, read.plan_id, read.plan_status) == (None, None, None)
    assert await redrive(store, delivery.seq)
    (again,) = await claim_all(store, "planner")
    assert again.owner == plan_id_of("g-1", "planner")


async def test_a_letter_for_a_gone_agent_waits_for_it(store: Store) -> None:
    died = await dead_delivery(store)
    await store.registry.leave(["worker"])
    assert await redrive(store, died.seq)
    await store.registry.register([agent("worker", "work.asked")], later(60))
    assert [delivery.seq for delivery in await claim_all(store, now=later(60))] == [died.seq]


# Events that cannot arrive


async def test_an_event_set_aside_is_sent_no_more_and_is_a_letter_without_an_agent(store: Store) -> None:
    given = event("a", tenant="one")
    await store.queue.send([given, event("b")], None, NOW)
    for n in (1, 2):
        await store.queue.set_aside(given, f"cannot_arrive: {n}", later(n))
    assert await unsent_ids(store) == ["b"]
    (row,) = await store.part(LETTERS).dead_letters("one", 9)
    assert (row.agent, row.event, row.attempts, row.at) == (NOBODY, given, 2, later(2))
    assert (row.reason, row.status) == ("cannot_arrive: 2", LetterStatus.DEAD)
    assert await store.part(LETTERS).dead_letters("default", 9) == []


async def test_an_event_new_to_the_store_is_kept_when_it_is_set_aside(store: Store) -> None:
    await store.queue.set_aside(event("a", data={"n": 1}), "no", NOW)
    assert await store.events.event("a") == event("a", data={"n": 1})
    assert await unsent_ids(store) == []


async def test_a_letter_without_an_agent_is_sent_again_when_it_is_redriven(store: Store) -> None:
    await store.registry.register([agent("worker", "work.asked")], NOW)
    row = await set_aside(store, "no")
    assert await redrive(store, row.seq)
    assert not await redrive(store, row.seq)
    (leaving,) = await store.queue.unsent(9)
    assert (leaving.event.id, leaving.redriven) == ("a", 1), "a bus may know that it was sent before"
    assert (await letter(store, row.seq)).status is LetterStatus.REDRIVEN
    assert (await store.queue.arrive([event("a")], NOW)).agents == {"worker"}
    assert (await letter(store, row.seq)).status is LetterStatus.HANDLED


async def test_a_letter_without_an_agent_failing_again_is_dead_unless_it_was_discarded(store: Store) -> None:
    row = await set_aside(store, "first")
    await redrive(store, row.seq)
    await store.queue.mark_sent([stored.seq for stored in await store.queue.unsent(9)], NOW)
    again = await set_aside(store, "second")
    assert (again.seq, again.reason, again.redriven) == (row.seq, "second", 1)
    assert await redrive(store, row.seq)
    assert await unsent_ids(store) == ["a"], "an event taken and never brought by the bus is sent again"
    await set_aside(store, "third")
    await store.part(LETTERS).discard(row.seq, "enough", NOW)
    await store.queue.set_aside(event("a"), "fourth", NOW)
    assert await store.part(LETTERS).dead_letters(None, 9) == []
