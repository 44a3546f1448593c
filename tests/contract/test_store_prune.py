"""A prune removes ended plans, whole trees at a time; live plans, and events still to be handed over, stay."""

from collections.abc import Awaitable, Callable

import pytest
from msgspec.structs import replace
from prune_kit import (
    ALL,
    BEFORE,
    BROKEN,
    LONG_AGO,
    OLD,
    YOUNG,
    answer_plan,
    begin_plan,
    carry_all,
    close,
    handle_next,
    in_tree,
    is_gone,
    make_ended_plan,
    of_plan,
    prune,
    register_agents,
    with_time,
)
from store_kit import (
    LEASE,
    NOW,
    PAID,
    PAID_KEY,
    agent,
    awaiting_payment,
    claim_all,
    do,
    end,
    entry,
    event,
    expectation,
    fact,
    find,
    later,
    plan,
    planner,
    reply,
    reserve,
    settle,
    wait,
)

from soorma_ai.errors import LocalProtocolError
from soorma_ai.features.dead_letters.ports import LETTERS
from soorma_ai.features.upkeep.ports import UPKEEP
from soorma_ai.kernel.domain.decisions import Showing
from soorma_ai.kernel.domain.effects import DeadLetter, Expect, Publish, RetryAfter, SavePlan, Schedule
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.kernel.domain.limits import Charge, Limits
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus
from soorma_ai.kernel.domain.registry import EventRole, Subscription
from soorma_ai.kernel.ports import Pruned, Settlement, Store
from soorma_ai.kernel.rules.waits.wakeups import CANCEL_REQUESTED

PAYMENT = fact("paid", {"order_id": "o-1"})


@pytest.fixture(autouse=True)
async def agents(store: Store) -> None:
    await register_agents(store)


@pytest.mark.parametrize("status", ALL)
async def test_an_old_plan_of_a_named_status_goes_with_all_its_rows(store: Store, status: PlanStatus) -> None:
    made = await make_ended_plan(store, "a", status)
    others = [other for other in ALL if other is not status]
    assert await prune(store, *others) == Pruned()
    assert not await is_gone(store, made)
    assert await prune(store, status) == Pruned(plans=1, events=3)
    assert await is_gone(store, made)
    assert await prune(store) == Pruned()


async def test_the_paid_calls_of_a_handling_outside_of_plans_go_with_its_event(store: Store) -> None:
    for name, at in (("old", LONG_AGO), ("young", YOUNG)):
        await store.queue.arrive([with_time(event(name), at)], at)
        own, shown = f"worker:{name}", Showing(("publish:x",), ("publish:x",))
        call = Charge(own, 1, 10, 0.5)
        await reserve(store, call, Limits())
        await settle(store, Settlement(call, call, entry(cause=name, plan_id=own), shown))
        await handle_next(store, "worker", at=at)
    assert await prune(store) == Pruned(events=1)
    for name, kept in (("old", 0), ("young", 1)):
        own = f"worker:{name}"
        assert len(await store.plans.decisions(own)) == len(await store.plans.find_shown(own)) == kept
        assert (await store.plans.read_spent(own)).llm_calls == kept


async def test_a_plan_changed_since_stays_to_the_moment(store: Store) -> None:
    made = await make_ended_plan(store, "a", at=BEFORE)
    assert await prune(store) == Pruned()
    assert not await is_gone(store, made)
    assert (await prune(store, before=later(0.001) - (NOW - BEFORE))).plans == 1


@pytest.mark.parametrize("status", [s for s in PlanStatus if not s.is_final])
async def test_a_live_plan_stays_with_every_status_named(store: Store, status: PlanStatus) -> None:
    made = await make_ended_plan(store, "a", status)
    assert await prune(store, *PlanStatus) == Pruned()
    assert not await is_gone(store, made)


async def test_another_tenant_keeps_its_history(store: Store) -> None:
    made = await make_ended_plan(store, "a", tenant="acme")
    await store.queue.arrive([with_time(event("loose", "told", EventTopic.BUSINESS_FACTS, tenant="acme"))], LONG_AGO)
    assert await prune(store) == Pruned()
    assert not await is_gone(store, made)
    assert await prune(store, tenant="acme") == Pruned(plans=1, events=4)


@pytest.mark.parametrize("status", list(PlanStatus))
async def test_a_tree_goes_when_its_last_plan_is_final_and_old_with_any_final_status(
    store: Store, status: PlanStatus
) -> None:
    root = await make_ended_plan(store, "a")
    child = await make_ended_plan(store, "child", status, root_plan_id=root.plan_id, parent_plan_id=root.plan_id)
    expected = Pruned(plans=2, events=6) if status.is_final else Pruned(kept=1)
    assert await prune(store, PlanStatus.COMPLETED, dry_run=True) == expected
    young = replace(child, version=2, updated_at=YOUNG)
    await do(store, SavePlan(young, 1), now=LONG_AGO)
    assert await prune(store) == Pruned(kept=1)
    await do(store, SavePlan(replace(child, version=3), 2), now=LONG_AGO)
    assert await prune(store, PlanStatus.COMPLETED) == expected
    left = [await store.plans.plan(made.plan_id) is not None for made in (root, child)]
    assert left == [not status.is_final] * 2


def asked_by_client(request_id: str) -> Expectation:
    made = expectation(request_id, ExpectationKind.CLIENT, agent="client", plan_id=None, root_plan_id=None)
    return replace(made, opened_at=LONG_AGO, deadline=LONG_AGO)


async def ask_and_carry(store: Store) -> None:
    """Send a request of a client, and let it arrive at the worker."""
    await store.queue.send([with_time(event("q-1", correlation_id="q-1"))], asked_by_client("q-1"), LONG_AGO)
    await carry_all(store)


async def wait_and_pay(store: Store, made: PlanRecord) -> None:
    """Let a plan wait for a payment, and let the payment arrive."""
    await do(store, Expect(of_plan(wait("w"), made)), now=LONG_AGO)
    await store.queue.arrive([with_time(PAYMENT)], LONG_AGO)


# Reasons to keep a tree: each makes one open thing, and returns the way to end it.

Undoing = Callable[[], Awaitable[object]]


async def make_queued(store: Store, made: PlanRecord) -> Undoing:
    await store.queue.arrive([in_tree(event("x"), made)], LONG_AGO)
    return lambda: handle_next(store, "worker")


async def make_delayed(store: Store, made: PlanRecord) -> Undoing:
    await store.queue.arrive([in_tree(event("x"), made)], LONG_AGO)
    (delivery,) = await claim_all(store, now=LONG_AGO)
    await end(store, delivery, RetryAfter(LEASE, "busy"), LONG_AGO)

    async def done() -> None:
        (again,) = await claim_all(store, now=BEFORE)
        await end(store, again, now=LONG_AGO)

    return done


async def make_leased(store: Store, made: PlanRecord) -> Undoing:
    await store.queue.arrive([in_tree(event("x"), made)], LONG_AGO)
    (delivery,) = await claim_all(store, now=LONG_AGO)
    return lambda: end(store, delivery, now=LONG_AGO)


async def make_dead(store: Store, made: PlanRecord) -> Undoing:
    await store.queue.arrive([in_tree(event("x"), made)], LONG_AGO)
    (delivery,) = await claim_all(store, now=LONG_AGO)
    await end(store, delivery, BROKEN, LONG_AGO)
    return _none


async def make_unsent(store: Store, made: PlanRecord) -> Undoing:
    await store.queue.send([in_tree(event("x", "told", EventTopic.BUSINESS_FACTS), made)], None, LONG_AGO)
    return lambda: carry_all(store)


async def make_sent_and_not_arrived(store: Store, made: PlanRecord) -> Undoing:
    told = in_tree(event("x", "told", EventTopic.BUSINESS_FACTS), made)
    await store.queue.send([told], None, LONG_AGO)
    await store.queue.mark_sent([row.seq for row in await store.queue.unsent(9)], LONG_AGO)
    return lambda: store.queue.arrive([told], LONG_AGO)


async def still_open(store: Store, made: PlanRecord) -> Undoing:
    await do(store, Expect(of_plan(expectation("q", deadline=None), made)), now=LONG_AGO)
    return lambda: close(store, "q")


async def a_fact_for_it_that_it_never_took(store: Store, made: PlanRecord) -> Undoing:
    await wait_and_pay(store, made)
    return lambda: handle_next(store, "planner")


async def a_fact_for_it_that_broke_it(store: Store, made: PlanRecord) -> Undoing:
    await wait_and_pay(store, made)
    (delivery,) = await claim_all(store, "planner", now=LONG_AGO)
    await end(store, delivery, BROKEN, LONG_AGO)
    return _none


async def a_forged_wake_up(store: Store, made: PlanRecord) -> Undoing:
    forged = event("forged", CANCEL_REQUESTED, EventTopic.PLAN_EVENTS, plan_id=made.plan_id)
    await store.queue.arrive([with_time(forged)], LONG_AGO)
    return lambda: handle_next(store, "planner")


async def another_taker_of_its_goal(store: Store, made: PlanRecord) -> Undoing:
    await store.registry.register([agent("clerk", "goal.given")], NOW)
    goal = await store.events.event(made.goal_id)
    assert goal is not None
    await store.queue.arrive([goal], LONG_AGO)
    return lambda: handle_next(store, "clerk")


async def a_client_that_waits_for_its_answer(store: Store, made: PlanRecord) -> Undoing:
    goal = await store.events.event(made.goal_id)
    assert goal is not None
    await store.queue.send_once([Expect(replace(asked_by_client(goal.id), deadline=None))], LONG_AGO)
    return lambda: store.queue.arrive([with_time(reply("answer", goal.id))], LONG_AGO)


async def _none() -> None:
    """Leave it: a test can end nothing here."""


KEEPING = [
    make_queued,
    make_delayed,
    make_leased,
    make_unsent,
    make_sent_and_not_arrived,
    still_open,
    a_fact_for_it_that_it_never_took,
    a_forged_wake_up,
    another_taker_of_its_goal,
    a_client_that_waits_for_its_answer,
    make_dead,
    a_fact_for_it_that_broke_it,
]
FOR_GOOD = (make_dead, a_fact_for_it_that_broke_it)


@pytest.mark.parametrize("keeping", KEEPING)
async def test_a_tree_with_open_work_stays_until_the_work_is_done(
    store: Store, keeping: Callable[[Store, PlanRecord], Awaitable[Undoing]]
) -> None:
    made = await make_ended_plan(store, "a")
    undo = await keeping(store, made)
    before = await store.events.events(limit=9999)
    assert await prune(store) == Pruned(kept=1)
    assert await store.events.events(limit=9999) == before
    assert not await is_gone(store, made)
    await undo()
    assert (await prune(store)).plans == (0 if keeping in FOR_GOOD else 1)
    assert len(await store.part(LETTERS).dead_letters(None, 9)) == (1 if keeping in FOR_GOOD else 0)


async def test_a_tree_with_a_dead_goal_stays_as_long_as_its_dead_letter(store: Store) -> None:
    await store.queue.arrive([with_time(event("goal", "goal.given"))], LONG_AGO)
    (delivery,) = await claim_all(store, "planner", now=LONG_AGO)
    await end(store, delivery, BROKEN, LONG_AGO)
    failed = plan(delivery.owner, goal_id="goal", status=PlanStatus.FAILED, updated_at=LONG_AGO)
    await do(store, SavePlan(failed, None), now=LONG_AGO)
    assert await prune(store) == Pruned(kept=1)
    assert len(await store.part(LETTERS).dead_letters(None, 9)) == 1


async def test_a_tree_with_a_recent_event_or_a_recent_handling_stays(store: Store) -> None:
    late, served = await make_ended_plan(store, "late"), await make_ended_plan(store, "served")
    await store.queue.arrive([in_tree(event("told", "told", EventTopic.BUSINESS_FACTS), late, YOUNG)], YOUNG)
    await store.queue.arrive([in_tree(event("x"), served)], LONG_AGO)
    await handle_next(store, "worker", at=YOUNG)
    assert await prune(store) == Pruned(kept=2)
    assert (await prune(store, before=NOW)).plans == 2


async def test_an_early_fact_keeps_its_tree_while_another_plan_may_wait_for_it(store: Store) -> None:
    made = await make_ended_plan(store, "a")
    await store.queue.arrive([in_tree(PAYMENT, made)], later(-3600))
    assert await prune(store) == Pruned(kept=1)
    await begin_plan(store, "b")
    await do(store, SavePlan(plan("plan-2"), None), Expect(wait("w", plan_id="plan-2", keys=(PAID_KEY,))))
    assert (await find(store, "w")).met_by == "paid"


async def test_plans_of_a_shared_goal_stay_until_the_last_of_them_is_old(store: Store) -> None:
    await store.registry.register([planner("second")], NOW)
    one = await begin_plan(store, "a", status=PlanStatus.COMPLETED)
    (delivery,) = await claim_all(store, "second", now=LONG_AGO)
    other = replace(plan(delivery.owner, status=PlanStatus.FAILED), agent="second", goal_id=one.goal_id)
    await end(store, delivery, now=LONG_AGO)
    await do(store, SavePlan(replace(other, updated_at=YOUNG), None))
    assert await prune(store) == Pruned(kept=1)
    await do(store, SavePlan(replace(other, updated_at=LONG_AGO, version=1), 0))
    assert await prune(store, PlanStatus.COMPLETED) == Pruned(kept=1)
    assert await prune(store, dry_run=True) == Pruned(plans=2, events=1)
    assert await prune(store, limit=1, dry_run=True) == Pruned(plans=2, events=1)
    assert await prune(store) == Pruned(plans=2, events=1)
    assert await store.events.event(one.goal_id) is None


async def test_a_goal_awaited_by_another_plan_stays_with_that_plan(store: Store) -> None:
    goal = (EventRole.TAKES_AS_GOAL, PAID)
    await store.registry.register([agent("after-sales", "order.paid", topic=PAID.topic, events=(goal,))], NOW)
    waiting = await begin_plan(store, "w")
    await wait_and_pay(store, waiting)
    await handle_next(store, "planner")
    (delivery,) = await claim_all(store, "after-sales", now=LONG_AGO)
    begun_by_it = plan(delivery.owner, goal_id="paid", status=PlanStatus.COMPLETED, updated_at=LONG_AGO)
    await do(store, SavePlan(begun_by_it, None), now=LONG_AGO)
    await end(store, delivery, now=LONG_AGO)
    assert await prune(store) == Pruned(kept=1)
    await do(store, SavePlan(replace(waiting, status=PlanStatus.FAILED, version=1), 0), now=LONG_AGO)
    assert await prune(store) == Pruned(plans=2, events=2)


# Events of no plan


async def test_an_old_fact_taken_by_every_receiver_goes(store: Store) -> None:
    await store.registry.register([agent("clerk", "told", topic=EventTopic.BUSINESS_FACTS)], NOW)
    told = with_time(event("told-1", "told", EventTopic.BUSINESS_FACTS))
    await store.queue.arrive([told, with_time(event("told-2", "told", EventTopic.BUSINESS_FACTS))], LONG_AGO)
    await handle_next(store, "clerk")
    await handle_next(store, "clerk", at=YOUNG)
    await store.queue.arrive([event("told-3", "untaken", EventTopic.BUSINESS_FACTS)], NOW)
    assert await prune(store) == Pruned(events=1)
    assert await store.events.event("told-1") is None
    assert await store.events.event("told-2") is not None, "it was handled lately"
    assert await store.events.event("told-3") is not None, "it is young"


@pytest.mark.parametrize("how", ["unsent", "queued", "leased", "delayed", "dead"])
async def test_an_old_unfinished_event_stays(store: Store, how: str) -> None:
    await store.queue.send([with_time(event("e-1"))], None, LONG_AGO)
    if how != "unsent":
        await carry_all(store)
    if how in ("leased", "delayed", "dead"):
        (delivery,) = await claim_all(store, now=LONG_AGO)
        if how != "leased":
            await end(store, delivery, RetryAfter(LEASE, "") if how == "delayed" else DeadLetter("no"), LONG_AGO)
    assert await prune(store) == Pruned()
    assert await store.events.event("e-1") is not None
    assert len(await store.part(LETTERS).dead_letters(None, 9)) == (how == "dead")


async def test_an_event_kept_for_a_wait_to_come_stays_for_its_time(store: Store) -> None:
    told = await store.queue.arrive([with_time(fact("in vain", {"order_id": "o-1"}))], LONG_AGO)
    assert [stray.reason for stray in told.strays] == ["early"]
    await store.queue.arrive([with_time(PAYMENT)], later(-3600))
    assert await prune(store) == Pruned(events=1)
    again = await store.queue.arrive([with_time(fact("in vain", {"order_id": "o-1"}))], LONG_AGO)
    assert [stray.reason for stray in again.strays] == ["early"], "its earlier report is forgotten with it"
    await do(store, SavePlan(plan(), None), Expect(wait("w")))
    assert (await find(store, "w")).met_by == "paid"


async def test_the_goal_and_the_awaited_event_of_a_live_plan_stay_with_it(store: Store) -> None:
    made = await begin_plan(store, "a")
    await wait_and_pay(store, made)
    await handle_next(store, "planner")
    assert await prune(store) == Pruned()
    goal = await store.events.event(made.goal_id)
    assert goal is not None
    await store.queue.arrive([goal, with_time(PAYMENT)], NOW)
    assert await claim_all(store, "planner") == [], "its taken events are recognised as long as it lives"
    await do(store, SavePlan(replace(made, status=PlanStatus.COMPLETED, version=1), 0), now=LONG_AGO)
    assert await prune(store, dry_run=True) == Pruned(plans=1, events=2)
    assert await prune(store) == Pruned(plans=1, events=2)
    assert await store.events.event("paid") is None


async def test_a_fact_awaited_by_a_pruned_plan_stays_while_others_still_take_it(store: Store) -> None:
    await store.registry.register([agent("clerk", "order.paid", topic=EventTopic.BUSINESS_FACTS)], NOW)
    made = await begin_plan(store, "a")
    await wait_and_pay(store, made)
    await handle_next(store, "planner")
    await do(store, SavePlan(replace(made, status=PlanStatus.COMPLETED, version=1), 0), now=LONG_AGO)
    assert await prune(store) == Pruned(plans=1, events=1)
    await handle_next(store, "clerk")
    assert await prune(store) == Pruned(events=1)


async def test_an_early_fact_taken_by_a_subscriber_stays_with_the_plan_it_met(store: Store) -> None:
    takes_facts = replace(awaiting_payment(), subscriptions=(Subscription(PAID.topic, "order.paid"),))
    await store.registry.register([takes_facts], NOW)
    await store.queue.arrive([with_time(PAYMENT)], LONG_AGO)
    await handle_next(store, "planner")
    await do(store, SavePlan(plan(), None), Expect(wait("w")), now=LONG_AGO)
    assert (await find(store, "w")).met_by == "paid"
    await carry_all(store)
    await handle_next(store, "planner")
    await prune(store)
    assert await store.events.event("paid") is not None


async def test_a_clients_request_goes_with_its_reply_when_both_are_old(store: Store) -> None:
    await ask_and_carry(store)
    await handle_next(store, "worker", Publish(with_time(reply("r-1", "q-1"))))
    await carry_all(store, YOUNG)
    assert await prune(store) == Pruned()
    assert await prune(store, before=NOW, dry_run=True) == Pruned(events=2)
    assert await prune(store, before=NOW) == Pruned(events=2)
    assert await store.plans.expectation("q-1") is None


async def test_a_reply_stays_while_its_client_may_still_ask_for_it(store: Store) -> None:
    await ask_and_carry(store)
    (delivery,) = await claim_all(store, now=LONG_AGO)
    await store.queue.send([with_time(reply("r-1", "q-1"))], None, LONG_AGO)
    await carry_all(store)
    assert await prune(store) == await prune(store, dry_run=True) == Pruned(), "its request is not done"
    assert await store.events.event("r-1") is not None
    await end(store, delivery, now=LONG_AGO)
    assert await prune(store) == Pruned(events=2)


async def test_an_unanswered_request_of_a_client_is_forgotten_after_its_deadline(store: Store) -> None:
    await store.queue.send([with_time(event("q-1"))], asked_by_client("q-1"), LONG_AGO)
    await store.queue.send([with_time(event("q-2"))], replace(asked_by_client("q-2"), deadline=later(60)), LONG_AGO)
    theirs = replace(asked_by_client("q-3"), tenant_id="acme")
    await store.queue.send([with_time(event("q-3", "untaken", tenant="acme"))], theirs, LONG_AGO)
    await carry_all(store)
    assert await prune(store) == Pruned(), "the requests themselves are in the worker's line"
    assert await store.plans.expectation("q-1") is not None, "it may still be answered, when the worker is back"
    assert await store.plans.expectation("q-2") is not None
    assert await store.plans.expectation("q-3") is not None
    await handle_next(store, "worker")
    await handle_next(store, "worker")
    assert await prune(store) == Pruned(events=1)
    assert await store.plans.expectation("q-1") is None
    assert await store.events.event("q-2") is not None, "its client still waits"


# Batches


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 1000])
async def test_small_batches_remove_the_same_as_one(store: Store, limit: int) -> None:
    old = [await make_ended_plan(store, f"old-{n}") for n in range(5)]
    kept = await make_ended_plan(store, "kept")
    await make_queued(store, kept)
    young = await make_ended_plan(store, "young", at=YOUNG)
    await store.queue.arrive(
        [with_time(event(f"told-{n}", "told", EventTopic.BUSINESS_FACTS)) for n in range(5)], LONG_AGO
    )
    counted = await prune(store, limit=limit, dry_run=True)
    assert counted == Pruned(plans=5, events=20, kept=1)
    assert [await is_gone(store, made) for made in old] == [False] * 5, "a dry run removes nothing"
    assert await prune(store, limit=limit) == counted
    assert [await is_gone(store, made) for made in old] == [True] * 5
    assert [await is_gone(store, made) for made in (kept, young)] == [False, False]


async def test_a_batch_is_about_as_big_as_it_may_be(store: Store) -> None:
    for n in range(6):
        await make_ended_plan(store, f"{n}")
    one = await store.part(UPKEEP).prune(OLD, 15)
    # A tree here is two events of its own, two steps, a decision and an expectation.
    assert (one.plans, one.after is not None) == (2, True)


async def test_a_tree_too_big_for_any_batch_goes_in_parts_its_plan_last(store: Store) -> None:
    made = await begin_plan(store, "big")
    for n in range(10):
        await answer_again(store, made, n)
    await do(store, SavePlan(replace(made, status=PlanStatus.COMPLETED, version=1), 0), now=LONG_AGO)
    sizes: list[int] = []
    after, plans = None, 0
    while await store.plans.plan(made.plan_id) is not None:
        batch = await store.part(UPKEEP).prune(OLD, 7, after=after)
        after, plans = batch.after, plans + batch.plans
        sizes.append(batch.events)
    assert plans == 1
    assert max(sizes) <= 8
    assert sum(sizes) == 21
    assert await is_gone(store, made)


async def answer_again(store: Store, made: PlanRecord, n: int) -> None:
    request = in_tree(event(f"ask-{n}"), made)
    await do(store, Publish(request), Expect(of_plan(expectation(request.id), made)), now=LONG_AGO)
    await carry_all(store)
    await handle_next(store, "worker", Publish(in_tree(reply(f"reply-{n}", request.id), made)))
    await carry_all(store)
    await handle_next(store, "planner")


async def test_a_dry_run_and_a_run_with_nothing_to_remove_write_nothing(store: Store, commits: list[str]) -> None:
    made = await make_ended_plan(store, "a")
    commits.clear()
    assert (await prune(store, dry_run=True)).plans == 1
    assert (await prune(store, tenant="acme")).plans == 0
    assert commits == []
    assert not await is_gone(store, made)


async def test_a_place_of_no_batch_is_refused(store: Store) -> None:
    with pytest.raises(LocalProtocolError, match="batch before"):
        await store.part(UPKEEP).prune(OLD, 9, after="nowhere")


# After a prune


async def test_a_pruned_goal_is_a_new_one_when_it_comes_again_and_numbers_go_on(store: Store) -> None:
    made = await make_ended_plan(store, "a")
    goal = await store.events.event(made.goal_id)
    assert goal is not None
    await store.queue.arrive([goal], NOW)
    assert await claim_all(store, "planner") == []
    last = (await store.events.events(limit=9999))[-1].seq
    await prune(store)
    await store.queue.arrive([goal], NOW)
    (delivery,) = await claim_all(store, "planner")
    assert (delivery.owner, delivery.attempt) == (made.plan_id, 1)
    found = await store.events.events(tenant_id="default")
    assert [row.seq > last for row in found if row.event.id == goal.id] == [True]


async def test_a_live_plan_goes_on_after_its_neighbours_are_gone(store: Store) -> None:
    living = await begin_plan(store, "live")
    await make_ended_plan(store, "old")
    await do(store, Schedule("t-1", later(60), event("tick")), Expect(of_plan(expectation("q"), living)))
    await prune(store)
    await answer_plan(store, living, "live", NOW)
    assert await store.queue.next_due([], NOW) == later(60)
    open_now = await store.plans.expectations(plan_id=living.plan_id)
    assert [(one.id, one.status) for one in open_now] == [("q", ExpectationStatus.OPEN)]
