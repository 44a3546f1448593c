"""Kit of the tests of pruning: old plan trees and events, made as a platform makes them."""

from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace
from store_kit import (
    NOW,
    agent,
    awaiting_payment,
    claim_all,
    do,
    entry,
    event,
    expectation,
    plan,
    planner,
    reply,
    reserve,
    settle,
    step,
)

from soorma_ai.features.upkeep.ports import UPKEEP, AgeConditions
from soorma_ai.kernel.domain.effects import Ack, AppendStep, Close, DeadLetter, Effect, Expect, Publish, SavePlan, Spend
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationStatus
from soorma_ai.kernel.domain.limits import Charge, Limits
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus
from soorma_ai.kernel.ports import Delivery, Pruned, Settlement, Store, Work

LONG_AGO = NOW - timedelta(days=60)
BEFORE = NOW - timedelta(days=30)
YOUNG = NOW - timedelta(days=2)
ALL = tuple(status for status in PlanStatus if status.is_final)
BROKEN = DeadLetter("handler_error: it broke")
CALL = Charge("", 1, 10, 0.5)


OLD = AgeConditions("default", BEFORE, ALL, NOW)


async def prune(
    store: Store,
    *statuses: PlanStatus,
    limit: int = 1000,
    before: datetime = BEFORE,
    tenant: str = "default",
    dry_run: bool = False,
) -> Pruned:
    """Prune in batches, and return their sum."""
    total, after = Pruned(), None
    while True:
        batch = await store.part(UPKEEP).prune(
            AgeConditions(tenant, before, statuses or ALL, NOW), limit, after=after, dry_run=dry_run
        )
        total = Pruned(total.plans + batch.plans, total.events + batch.events, total.kept + batch.kept)
        if batch.after is None:
            return total
        after = batch.after


async def register_agents(store: Store) -> None:
    """Register a planner of goals with a wait for payments, and a worker."""
    both = replace(planner(), events=(*planner().events, *awaiting_payment().events))
    await store.registry.register([both, agent("worker", "work.asked")], NOW)


def with_time(one: EventEnvelope, at: datetime = LONG_AGO) -> EventEnvelope:
    return one.model_copy(update={"time": at})


def of_plan(one: Expectation, made: PlanRecord, at: datetime = LONG_AGO) -> Expectation:
    tenant = made.lineage.tenant_id
    return replace(one, plan_id=made.plan_id, root_plan_id=made.root_plan_id, tenant_id=tenant, opened_at=at)


def in_tree(one: EventEnvelope, made: PlanRecord, at: datetime = LONG_AGO) -> EventEnvelope:
    named = {"plan_id": made.plan_id, "root_plan_id": made.root_plan_id, "tenant_id": made.lineage.tenant_id}
    return with_time(one.model_copy(update=named), at)


async def carry_all(store: Store, at: datetime = LONG_AGO) -> None:
    """Let the bus take and bring all events of the outbox."""
    waiting = await store.queue.unsent(1000)
    await store.queue.mark_sent([row.seq for row in waiting], at)
    await store.queue.arrive([row.event for row in waiting], at)


async def handle_next(store: Store, name: str, *effects: Effect, at: datetime = LONG_AGO) -> Delivery:
    (delivery,) = await claim_all(store, name, limit=1, now=at)
    await store.queue.commit(Work(delivery, Ack(), effects), at)
    return delivery


async def begin_plan(
    store: Store, name: str, *, at: datetime = LONG_AGO, tenant: str = "default", **changes: Any
) -> PlanRecord:
    """Make a plan with a handled goal."""
    goal = with_time(event(f"goal-{name}", "goal.given", tenant=tenant), at)
    await store.queue.arrive([goal], at)
    (delivery,) = await claim_all(store, "planner", limit=1, now=at)
    made = plan(delivery.owner, goal_id=goal.id, tenant=tenant, updated_at=at, **changes)
    effects = (SavePlan(made, None), AppendStep(step(0, made.plan_id, fingerprint="x")))
    await store.queue.commit(Work(delivery, Ack(), effects), at)
    return made


async def answer_plan(store: Store, made: PlanRecord, name: str, at: datetime = LONG_AGO) -> None:
    """Let the plan think, ask the worker, and take its answer."""
    call = replace(CALL, root_plan_id=made.root_plan_id)
    await reserve(store, call, Limits())
    await settle(store, Settlement(call, call, entry(cause=f"goal-{name}", plan_id=made.plan_id)))
    request = in_tree(event(f"ask-{name}"), made, at)
    waiting = of_plan(expectation(request.id), made, at)
    await do(store, Publish(request), Expect(waiting), Spend(made.root_plan_id, 1, None), now=at)
    await carry_all(store, at)
    await handle_next(store, "worker", Publish(in_tree(reply(f"reply-{name}", request.id), made, at)), at=at)
    await carry_all(store, at)
    await handle_next(store, "planner", AppendStep(step(1, made.plan_id)), at=at)


async def make_ended_plan(
    store: Store,
    name: str,
    status: PlanStatus = PlanStatus.COMPLETED,
    *,
    at: datetime = LONG_AGO,
    tenant: str = "default",
    **changes: Any,
) -> PlanRecord:
    """Make an ended plan with three events: its goal, its request, and the answer."""
    made = await begin_plan(store, name, at=at, tenant=tenant, **changes)
    await answer_plan(store, made, name, at)
    over = replace(made, status=status, version=1)
    await do(store, SavePlan(over, 0), now=at)
    return over


async def close(store: Store, expectation_id: str, at: datetime = LONG_AGO) -> None:
    await do(store, Close(expectation_id, ExpectationStatus.CLOSED, at), now=at)


async def is_gone(store: Store, made: PlanRecord) -> bool:
    """Tell whether all of a plan is gone from the port; it must be all or nothing."""
    shown = [
        await store.plans.plan(made.plan_id),
        await store.plans.goal_of(made.plan_id),
        await store.events.event(made.goal_id),
        await store.events.events(root_plan_id=made.plan_id),
        await store.plans.steps(made.plan_id),
        await store.plans.decisions(made.plan_id),
        await store.plans.expectations(plan_id=made.plan_id, only_open=False),
        (await store.plans.read_spent(made.plan_id)).llm_calls,
    ]
    assert all(shown) or not any(shown), shown
    return not any(shown)
