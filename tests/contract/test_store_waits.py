"""Outside events find their wait: by a shared key, of the right tenant, producer and schema."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from store_kit import (
    NOW,
    PAID_KEY,
    agent,
    awaiting_payment,
    claim_all,
    do,
    end,
    fact,
    find,
    gate,
    later,
    question,
    save_running_plan,
    unsent_ids,
    wait,
)

from soorma_ai.kernel.domain.effects import Close, Expect
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationStatus, Stray
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.ports import Store
from soorma_ai.kernel.rules.waits.wakeups import ANSWERED

ORDER = {"order_id": "o-1"}
TYPED: JsonObject = {"type": "object", "properties": {"amount": {"type": "number"}}, "required": ["amount"]}


async def status(store: Store, expectation_id: str) -> ExpectationStatus:
    return (await find(store, expectation_id)).status


async def open_waits(store: Store, *waits: Expectation) -> None:
    await store.registry.register([awaiting_payment()], NOW)
    await save_running_plan(store, *waits)


async def test_an_outside_event_meets_the_wait_with_a_shared_key(store: Store) -> None:
    await open_waits(store, wait("w-1"))
    arrival = await store.queue.arrive([fact("f-1", ORDER)], later(5))
    assert arrival.agents == {"planner"} and arrival.strays == ()
    assert [(d.event.id, d.owner) for d in await claim_all(store, "planner")] == [("f-1", "plan-1")]
    met = await find(store, "w-1")
    assert (met.status, met.met_by, met.closed_at) == (ExpectationStatus.MET, "f-1", later(5))
    assert await store.plans.find_met("plan-1", "f-1") == met


@pytest.mark.parametrize(
    ("asked", "other"),
    [
        (wait("w-1"), fact("f-1", {"order_id": "o-2"})),
        (wait("w-1"), fact("f-1", {})),
        (wait("w-1"), fact("f-1", ORDER, tenant="other")),
        (wait("w-1"), fact("f-1", ORDER).model_copy(update={"type": "order.sent"})),
        (wait("w-1", event_type="order.sent", keys=(PAID_KEY,)), fact("f-1", ORDER)),
        (gate("w-1"), fact("f-1", ORDER)),
        (gate("w-1"), fact("f-1", plan_id="plan-1")),
        (gate("w-1"), fact("f-1").model_copy(update={"correlation_id": "w-1"})),
    ],
    ids=["other key", "no key", "tenant", "type", "key of another type", "gate", "gate by plan", "gate by id"],
)
async def test_an_event_off_the_wait_does_not_meet_it(store: Store, asked: Expectation, other: EventEnvelope) -> None:
    await open_waits(store, asked)
    assert (await store.queue.arrive([other], NOW)).agents == frozenset()
    assert await status(store, "w-1") is ExpectationStatus.OPEN
    assert await unsent_ids(store) == []


async def test_an_event_with_a_used_id_meets_nothing_by_its_new_content(store: Store) -> None:
    await open_waits(store, wait("w-1"))
    await store.queue.arrive([fact("f-1", {"order_id": "o-2"})], NOW)
    await store.queue.arrive([fact("f-1", ORDER)], NOW)
    assert await status(store, "w-1") is ExpectationStatus.OPEN


async def test_a_wait_is_also_found_by_its_plan_and_by_its_own_id(store: Store) -> None:
    await open_waits(store, wait("w-1", keys=("plan:plan-1",)), wait("w-2", keys=("reply:w-2",)))
    await store.queue.arrive([fact("f-1", plan_id="plan-1")], NOW)
    assert await status(store, "w-1") is ExpectationStatus.MET
    await store.queue.arrive([fact("f-2").model_copy(update={"correlation_id": "w-2"})], NOW)
    assert await status(store, "w-2") is ExpectationStatus.MET


async def test_an_event_off_the_schema_is_invalid_and_the_wait_stays_open(store: Store) -> None:
    await open_waits(store, wait("w-1", ask=question(TYPED)))
    arrival = await store.queue.arrive([fact("f-1", {**ORDER, "amount": "much"})], NOW)
    assert arrival.strays == (Stray("f-1", "order.paid", "invalid", "w-1"),)
    assert await status(store, "w-1") is ExpectationStatus.OPEN
    assert (await store.queue.arrive([fact("f-1", {**ORDER, "amount": "much"})], NOW)).strays == ()
    await store.queue.arrive([fact("f-2", {**ORDER, "amount": 3})], NOW)
    assert await status(store, "w-1") is ExpectationStatus.MET


async def test_of_several_waits_the_oldest_is_met_and_the_others_are_reported_as_ambiguous(store: Store) -> None:
    await open_waits(store, wait("a", opened_at=later(2)), wait("c", opened_at=later(1)), wait("b", opened_at=later(1)))
    arrival = await store.queue.arrive([fact("f-1", ORDER)], later(3))
    assert arrival.strays == tuple(Stray("f-1", "order.paid", "ambiguous", other) for other in "ca")
    again = await store.queue.arrive([fact("f-1", ORDER)], later(4))
    assert again.agents == frozenset() and again.strays == ()
    met = [one for one in "abc" if await status(store, one) is ExpectationStatus.MET]
    assert met == ["b"]


async def test_a_closed_wait_is_found_no_more(store: Store) -> None:
    await open_waits(store, wait("w-1"))
    await do(store, Close("w-1", ExpectationStatus.CLOSED, NOW))
    await store.queue.arrive([fact("f-1", ORDER)], NOW)
    assert await status(store, "w-1") is ExpectationStatus.CLOSED


async def test_an_early_event_meets_one_wait_when_it_opens(store: Store) -> None:
    await open_waits(store)
    arrival = await store.queue.arrive([fact("f-1", ORDER)], NOW)
    assert arrival.strays == (Stray("f-1", "order.paid", "early", None),)
    await do(store, Expect(wait("w-1")), Expect(wait("w-2")), now=later(10))
    met = await find(store, "w-1")
    assert (met.status, met.met_by, met.closed_at) == (ExpectationStatus.MET, "f-1", later(10))
    assert [(d.event.id, d.owner) for d in await claim_all(store, "planner")] == [("f-1", "plan-1")]
    await store.queue.arrive([fact("f-1", ORDER)], later(11))
    assert await status(store, "w-2") is ExpectationStatus.OPEN


async def test_the_oldest_early_event_that_fits_the_wait_is_taken(store: Store) -> None:
    await open_waits(store)
    right = {**ORDER, "amount": 1}
    await store.queue.arrive(
        [
            fact("off schema", {**ORDER, "amount": "x"}, source="bank"),
            fact("wrong source", right),
            fact("other order", {"order_id": "o-2", "amount": 1}, source="bank"),
            fact("other tenant", right, source="bank", tenant="other"),
            fact("right", right, source="bank"),
        ],
        NOW,
    )
    await store.queue.arrive([fact("a later one", right, source="bank")], later(1))
    await do(store, Expect(wait("w-1", producers=("bank",), ask=question(TYPED))))
    assert (await find(store, "w-1")).met_by == "right"


async def test_an_early_event_is_kept_for_a_day_and_no_longer_when_it_comes_again(store: Store) -> None:
    await open_waits(store)
    await store.queue.arrive([fact("f-1", ORDER), fact("f-2", ORDER)], NOW)
    assert (await store.queue.arrive([fact("f-2", ORDER)], later(3600 * 20))).strays == ()
    day = timedelta(hours=24).total_seconds()
    await do(store, Expect(wait("in time")), now=later(day - 1))
    await do(store, Expect(wait("too late")), now=later(day))
    assert await status(store, "in time") is ExpectationStatus.MET
    assert await status(store, "too late") is ExpectationStatus.OPEN
    await do(store, Close("too late", ExpectationStatus.CLOSED, NOW), now=later(day))
    assert (await store.queue.arrive([fact("f-2", ORDER)], later(day + 1800))).strays == ()
    await do(store, Expect(wait("later still")), now=later(day + 3600))
    assert await status(store, "later still") is ExpectationStatus.OPEN


async def test_an_early_event_handled_before_by_its_agent_still_wakes_the_plan(store: Store) -> None:
    both = replace(agent("planner", "*", topic=EventTopic.BUSINESS_FACTS), events=awaiting_payment().events)
    await store.registry.register([both], NOW)
    await store.queue.arrive([fact("f-1", ORDER)], NOW)
    (as_subscriber,) = await claim_all(store, "planner")
    await end(store, as_subscriber)
    await save_running_plan(store, wait("w-1"))
    assert await status(store, "w-1") is ExpectationStatus.MET
    assert [stored.event.type for stored in await store.queue.unsent(10)] == [ANSWERED]
