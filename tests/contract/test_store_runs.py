"""Runs: several deliveries in line for one owner have one lease, the first one's, and one commit."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from store_kit import (
    LEASE,
    NOW,
    Backend,
    FreeHands,
    claim_all,
    drain,
    end,
    event,
    find_plan,
    in_hand,
    later,
    let_replies_arrive,
    open_store,
    plan,
    planner,
    redrive,
)

from soorma_ai.errors import LeaseLost, VersionConflict
from soorma_ai.features.dead_letters.ports import LETTERS
from soorma_ai.kernel.domain.effects import Ack, DeadLetter, Publish, RetryAfter, SavePlan
from soorma_ai.kernel.ports import LONGEST_RUN, Delivery, Store, Work
from soorma_ai.kernel.sql.parts import SqlStore


def ids(deliveries: Sequence[Delivery]) -> list[str]:
    return [delivery.event.id for delivery in deliveries]


async def line(store: Store, *numbers: int) -> tuple[Delivery, list[Delivery]]:
    """The first of so many replies to one plan is in hand, the others stand behind it."""
    await store.registry.register([planner()], NOW)
    await let_replies_arrive(store, *numbers)
    (first,) = await claim_all(store, "planner")
    return first, await store.queue.behind(first, 100)


async def test_deliveries_behind_one_in_hand_are_listed_in_order_and_stay_in_line(store: Store) -> None:
    first, behind = await line(store, 3, 1, 2)
    assert ids([first, *behind]) == ["r-3", "r-1", "r-2"]
    assert {(one.agent, one.owner, one.attempt, one.fence) for one in behind} == {("planner", "plan-1", 1, 1)}
    assert ids(await store.queue.behind(first, 1)) == ["r-1"]
    assert await claim_all(store, "planner", now=later(1)) == []
    assert await store.queue.count_pending("planner", "plan-1") == 3


async def test_no_delivery_is_behind_one_alone_in_its_line(store: Store) -> None:
    first, second = await in_hand(store, "e-1", "e-2")
    assert [await store.queue.behind(one, 100) for one in (first, second)] == [[], []]


async def test_following_deliveries_end_with_the_first_and_its_effects_are_applied(store: Store) -> None:
    first, behind = await line(store, *range(4))
    work = Work(first, Ack(), (SavePlan(plan(version=1), 0), Publish(event("e-1"))), following=tuple(behind[:2]))
    await store.queue.commit(work, NOW)
    assert (await find_plan(store)).version == 1
    assert await store.events.event("e-1") is not None
    assert [one.has_ended for one in await store.events.receivers_of(["r-0", "r-1", "r-2", "r-3"])] == [True] * 3 + [
        False
    ]
    assert await drain(store) == ["r-3"], "the one behind them is first by now"
    assert await store.queue.count_pending("planner", "plan-1") == 0


async def test_a_holder_with_a_lost_first_delivery_ends_no_following_one(store: Store) -> None:
    first, behind = await line(store, 0, 1, 2)
    (again,) = await claim_all(store, "planner", now=NOW + LEASE)
    with pytest.raises(LeaseLost):
        await store.queue.commit(Work(first, Ack(), (Publish(event("e-1")),), following=tuple(behind)), later(31))
    assert await store.events.event("e-1") is None
    assert ids(await store.queue.behind(again, 100)) == ["r-1", "r-2"]


async def test_a_run_with_a_following_delivery_of_another_holder_changes_nothing(store: Store) -> None:
    first, behind = await line(store, 0, 1, 2)
    await end(store, first)
    (second,) = await claim_all(store, "planner")
    with pytest.raises(LeaseLost):
        await store.queue.commit(Work(second, Ack(), (Publish(event("e-1")),), following=(behind[0], behind[1])), NOW)
    assert await store.events.event("e-1") is None
    assert await store.queue.count_pending("planner", "plan-1") == 2
    await end(store, second)
    assert await drain(store) == ["r-2"]


async def test_a_conflict_ends_no_delivery_of_a_run(store: Store) -> None:
    first, behind = await line(store, 0, 1)
    with pytest.raises(VersionConflict):
        await store.queue.commit(Work(first, Ack(), (SavePlan(plan(version=9), 8),), following=tuple(behind)), NOW)
    await end(store, first)
    assert await drain(store) == ["r-1"]


@pytest.mark.parametrize(
    ("how", "attempts"),
    [
        (Ack(), [1, 1]),
        (RetryAfter(timedelta(0), "once more"), [2, 1, 1]),
        (RetryAfter(timedelta(0), "", counts=False), [1, 1, 1]),
    ],
)
async def test_a_delivery_handled_in_vain_has_been_in_hand_and_is_handled_alone(
    store: Store, how: Ack | RetryAfter, attempts: list[int]
) -> None:
    first, (second, *_) = await line(store, 0, 1, 2)
    await store.queue.commit(Work(first, how, (), in_vain=(second,)), NOW)
    found: list[int] = []
    while taken := await claim_all(store, "planner"):
        found.append(taken[0].attempt)
        has_been = taken[0].event.id != "r-2"
        assert taken[0].fence == 1 + has_been
        if taken[0].event.id == "r-0":
            assert await store.queue.behind(taken[0], 100) == []
        await end(store, taken[0])
    assert found == attempts


async def test_a_delivery_in_hand_before_ends_a_run(store: Store) -> None:
    first, _ = await line(store, 0, 1, 2)
    await end(store, first, DeadLetter("broken"))
    (second,) = await claim_all(store, "planner")
    assert await redrive(store, first.seq)
    assert await store.queue.behind(second, 100) == [], "it stands behind it in order of arrival, and was in hand"


async def test_an_unreadable_delivery_ends_a_run(store: Store) -> None:
    assert isinstance(store, SqlStore)
    first, _ = await line(store, 0, 1, 2, 3)
    await store.database.write(lambda db: db.execute("UPDATE event SET rest = '{' WHERE id = 'r-2'"))
    behind = await store.queue.behind(first, 100)
    assert ids(behind) == ["r-1"]
    await store.queue.commit(Work(first, Ack(), (), following=tuple(behind)), NOW)
    assert await drain(store) == ["r-3"]
    assert len(await store.part(LETTERS).dead_letters(None, 9)) == 1


async def test_a_delivering_store_hands_over_the_delivery_behind_a_run_with_its_commit(store: Store) -> None:
    hands = FreeHands(planner=0)
    first, behind = await line(store, 0, 1, 2)
    store.deliver(hands, LEASE)
    hands.take = lambda agent, *, freed=False: freed  # type: ignore[method-assign]
    await store.queue.commit(Work(first, Ack(), (), following=(behind[0],)), NOW)
    assert (hands.ids(), hands.held[0].attempt) == (["r-2"], 1)


async def test_at_the_end_of_a_process_a_whole_possible_run_counts_as_in_hand(lasting: Backend) -> None:
    async with open_store(lasting.make()) as store:
        await line(store, *range(LONGEST_RUN + 2))
    async with open_store(lasting.make()) as store:
        found: list[tuple[int, int]] = []
        while taken := await claim_all(store, "planner"):
            found.append((taken[0].attempt, taken[0].fence))
            await end(store, taken[0])
    # The one in hand has spent an attempt; the others may have been, and keep theirs.
    assert found == [(2, 2)] + [(1, 2)] * (LONGEST_RUN - 1) + [(1, 1)] * 2


async def test_a_delivery_handled_alone_leads_no_run_when_the_process_ends(lasting: Backend) -> None:
    async with open_store(lasting.make()) as store:
        first, _ = await line(store, 0, 1)
        await end(store, first, RetryAfter(timedelta(0), "once more"))
        (again,) = await claim_all(store, "planner")
        assert again.fence == 2
    async with open_store(lasting.make()) as store:
        (again,) = await claim_all(store, "planner")
        assert ids(await store.queue.behind(again, 100)) == ["r-1"], "it is as new as it was"
        await end(store, again)


async def test_of_a_run_at_two_ends_of_the_process_only_the_first_is_a_poison_candidate(lasting: Backend) -> None:
    async with open_store(lasting.make()) as store:
        await line(store, 0, 1, 2)
    async with open_store(lasting.make()) as store:
        assert ids(await claim_all(store, "planner")) == ["r-0"]
    async with open_store(lasting.make()) as store:
        assert await claim_all(store, "planner") == []
        suspect = await store.queue.claim_poison_candidate(["planner"], NOW, LEASE)
        assert suspect is not None and suspect.event.id == "r-0"
        await end(store, suspect)
        assert await drain(store) == ["r-1", "r-2"]
