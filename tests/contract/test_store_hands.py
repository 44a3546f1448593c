"""Deliveries in hand: their holders, releases, begun handlings that must not be repeated, and crashes."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta

import pytest
from store_kit import LEASE, NOW, Backend, claim_all, end, event, in_hand, in_line, later, let_replies_arrive

from soorma_ai.errors import LeaseLost
from soorma_ai.features.dead_letters.ports import LETTERS
from soorma_ai.features.remote.ports import LEASES, Borrower
from soorma_ai.kernel.domain.effects import InDoubt, RetryAfter
from soorma_ai.kernel.domain.expectations import SUSPECTS
from soorma_ai.kernel.domain.plans import Rest
from soorma_ai.kernel.ports import Delivery, Store


async def suspects(store: Store, after: float = 0.0) -> list[str]:
    """Claim all poison candidates so many seconds later, and return the ids of their events."""
    found: list[str] = []
    while (suspect := await store.queue.claim_poison_candidate(["worker"], later(after), LEASE)) is not None:
        found.append(suspect.event.id)
    return found


async def test_a_released_delivery_may_be_claimed_at_once_and_counts_as_no_attempt(store: Store) -> None:
    (delivery,) = await in_hand(store, "e-1")
    await store.queue.release([delivery])
    (again,) = await claim_all(store)
    assert (again.attempt, again.fence) == (1, delivery.fence + 1)


async def test_only_its_holder_gives_a_delivery_back(store: Store) -> None:
    (stale,) = await in_hand(store, "e-1")
    (holder,) = await store.queue.claim("worker", later(60), LEASE, 1)
    await store.queue.release([stale])
    assert await claim_all(store) == []
    assert await store.queue.renew([holder], later(90)) == [holder]


async def test_the_begin_of_a_handler_is_known_to_the_next_holder(store: Store) -> None:
    (delivery,) = await in_hand(store, "e-1")
    assert delivery.started == 0
    await store.queue.begin(delivery)
    (next_holder,) = await store.queue.claim("worker", later(60), LEASE, 1)
    assert next_holder.started == delivery.fence
    with pytest.raises(LeaseLost):
        await store.queue.begin(delivery)


@pytest.mark.parametrize(("undone", "known"), [(False, True), (True, False)])
async def test_only_the_handler_can_take_its_begin_back(store: Store, undone: bool, known: bool) -> None:
    (delivery,) = await in_hand(store, "e-1")
    await store.queue.begin(delivery)
    await end(store, delivery, RetryAfter(timedelta(0), "later", undone))
    (again,) = await claim_all(store)
    assert (again.started > 0) is known


async def test_a_delivery_in_doubt_rests_and_holds_up_its_owner_alone(store: Store) -> None:
    (delivery,) = await in_hand(store, "e-1")
    await store.queue.arrive([event("e-2")], NOW)
    await end(store, delivery, InDoubt("nobody knows"))
    assert [one.event.id for one in await store.queue.claim("worker", later(9999), LEASE, 9)] == ["e-2"]
    assert await store.queue.count_pending("worker", delivery.owner) == 1
    assert await store.part(LETTERS).dead_letters(None, 9) == []


@pytest.fixture
async def crash(lasting: Backend) -> AsyncIterator[Callable[[], Awaitable[Store]]]:
    """Open the store again, as after a kill of its process."""
    opened: list[Store] = []

    async def again() -> Store:
        for store in opened:
            await store.close()
        opened[:] = [lasting.make()]
        await opened[0].open(NOW)
        return opened[0]

    yield again
    await opened[0].close()


async def test_a_delivery_in_hand_at_two_crashes_is_claimed_alone(crash: Callable[[], Awaitable[Store]]) -> None:
    store = await crash()
    await in_hand(store, "e-1", "e-2")
    await store.queue.arrive([event("e-3")], NOW)
    store = await crash()
    assert await suspects(store) == []
    assert [one.event.id for one in await claim_all(store, limit=2)] == ["e-1", "e-2"]
    store = await crash()
    assert [one.event.id for one in await claim_all(store, limit=9)] == ["e-3"]
    assert await suspects(store) == ["e-1", "e-2"]


async def test_the_poison_candidate_of_more_crashes_comes_last(crash: Callable[[], Awaitable[Store]]) -> None:
    """So that a mere neighbour is out of its way first."""
    await in_hand(await crash(), "e-1", "e-2", "e-3")
    for _ in range(2):
        await claim_all(await crash())
    suspect = await (await crash()).queue.claim_poison_candidate(["worker"], NOW, LEASE)
    assert suspect is not None and suspect.event.id == "e-1"
    assert await suspects(await crash(), 9999) == ["e-2", "e-3", "e-1"]


async def test_a_poison_candidate_rests_longer_after_each_further_crash(crash: Callable[[], Awaitable[Store]]) -> None:
    """A cause that ends processes for some minutes does not use up its attempts."""
    (first,) = await in_hand(await crash(), "e-1")
    await claim_all(await crash())
    assert await suspects(await crash()) == ["e-1"]
    claimed_at = 0.0
    for crashes, pause in ((3, 60.0), (4, 240.0)):
        store, free = await crash(), claimed_at + LEASE.total_seconds() + pause
        assert await suspects(store, free - 1) == []
        rest = await store.queue.find_rest("worker", first.owner, later(free - 1))
        assert rest == Rest(later(free), f"in hand at {crashes} ends of a process")
        assert await suspects(store, free) == ["e-1"]
        claimed_at = free


async def give_back(store: Store, suspect: Delivery) -> None:
    await store.queue.release([suspect])


async def try_again(store: Store, suspect: Delivery) -> None:
    await end(store, suspect, RetryAfter(timedelta(0), "at once"))


async def stop_its_plan(store: Store, suspect: Delivery) -> None:
    await end(store, suspect, RetryAfter(LEASE, "later"))
    await store.plans.cancel(suspect.owner, "not needed", NOW)
    await store.queue.arrive([row.event for row in await store.queue.unsent(9)], NOW)


@pytest.mark.parametrize("free", [give_back, try_again, stop_its_plan])
async def test_the_claimant_of_poison_candidates_is_signalled_of_one_free_again(
    crash: Callable[[], Awaitable[Store]], free: Callable[[Store, Delivery], Awaitable[None]]
) -> None:
    """They are in no agent's line, and no due timer would wake their claimant."""
    await let_replies_arrive(await crash(), 1)
    for _ in range(2):
        await claim_all(await crash(), "planner")
    store, told = await crash(), list[str]()
    store.notify(lambda is_leaving: None, lambda arrival: told.extend(arrival.agents))
    suspect = await store.queue.claim_poison_candidate(["planner"], NOW, LEASE)
    assert suspect is not None and SUSPECTS not in told
    await free(store, suspect)
    assert SUSPECTS in told
    assert await store.queue.claim_poison_candidate(["planner"], NOW, LEASE) is not None


async def test_a_lent_delivery_is_no_poison_candidate_after_the_end_of_its_lender(
    crash: Callable[[], Awaitable[Store]],
) -> None:
    store = await crash()
    await in_line(store, "e-1")
    for times in range(4):
        lent = await store.part(LEASES).lend("worker", NOW + times * LEASE, LEASE, 9)
        assert [one.event.id for one in lent] == ["e-1"]
        store = await crash()
    assert await suspects(store, 9999) == []


async def lent_to(store: Store, borrower: Borrower, *held: int) -> list[Delivery]:
    return await store.part(LEASES).lend("worker", NOW, LEASE, 9, held, borrower)


async def test_a_lost_loan_is_lent_again_after_a_restart_and_is_no_attempt(
    crash: Callable[[], Awaitable[Store]],
) -> None:
    await in_line(await crash(), "e-1")
    for fence in range(1, 5):
        (lent,) = await lent_to(await crash(), Borrower("one", loan=fence))
        assert (lent.attempt, lent.fence) == (1, fence)


@pytest.mark.parametrize("is_held", [False, True])
async def test_a_received_loan_stays_with_its_borrower_after_a_restart(
    crash: Callable[[], Awaitable[Store]], is_held: bool
) -> None:
    store = await crash()
    await in_line(store, "e-1")
    (lent,) = await lent_to(store, Borrower("one", loan=1))
    store = await crash()
    assert await lent_to(store, Borrower("two", loan=1)) == []
    second = Borrower("one", loan=2, last=None if is_held else 1)
    assert await lent_to(store, second, *([lent.seq] if is_held else [])) == []
    assert await lent_to(store, Borrower("one", loan=3, last=2)) == [], "a received loan is not asked about again"
    assert await store.queue.renew([lent], later(60)) == [lent]


async def test_a_delivery_released_before_the_end_is_no_poison_candidate(crash: Callable[[], Awaitable[Store]]) -> None:
    store = await crash()
    await in_line(store, "e-1")
    for _ in range(4):
        await store.queue.release(await claim_all(store))
        store = await crash()
    assert await suspects(store) == []


async def test_the_backlog_is_counted_up_to_a_limit(store: Store) -> None:
    (first, *_) = await in_hand(store, "e-1", "e-2", "e-3")
    assert [await store.queue.backlog(2), await store.queue.backlog(9)] == [2, 3]
    await end(store, first)
    assert await store.queue.backlog(9) == 2


async def test_a_sent_event_without_an_arrival_is_sent_again(store: Store) -> None:
    await store.queue.send([event("e-1"), event("e-2")], None, NOW)
    rows = await store.queue.unsent(9)
    await store.queue.mark_sent([row.seq for row in rows], NOW)
    await store.queue.arrive([rows[0].event], NOW)
    assert (await store.queue.sweep(later(29))).sent_again == 0
    assert await store.queue.unsent(9) == []
    assert (await store.queue.sweep(later(30))).sent_again == 1
    assert [row.event.id for row in await store.queue.unsent(9)] == ["e-2"]


async def test_a_delivery_with_two_expired_leases_is_claimed_alone_too(store: Store) -> None:
    await in_hand(store, "e-1")
    (again,) = await store.queue.claim("worker", later(60), LEASE, 1)
    assert again.attempt == 2
    assert [one.attempt for one in await store.queue.claim("worker", later(120), LEASE, 1)] == [3]
    assert await store.queue.claim("worker", later(180), LEASE, 1) == []
    assert await suspects(store, 180) == ["e-1"]
