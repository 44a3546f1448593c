"""Things that happen at the same moment, or in another order than one would think."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from kit import ended, open_platform, order, payments, planner, stock, the_wait, types, until

from soorma_ai import GoalContext, Limits, Platform, PlatformContext, TransitionContext
from soorma_ai.adapters.sqlite.database import Database
from soorma_ai.adapters.sqlite.store import SqliteRegistry, SqliteStore
from soorma_ai.domain.decisions import CompleteAction, PlannerDecision, PublishAction
from soorma_ai.domain.registry import RegisteredEvent
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish, wait


async def test_a_reply_that_stands_in_line_is_something_to_wait_for(platform: Platform) -> None:
    minds = planner([], goals=[])
    replies: list[str] = []

    @minds.on_goal("order.received")
    async def both(goal: GoalContext, context: PlatformContext) -> None:
        for action in (
            PublishAction(event_type="inventory.reserve.requested", data={"order_id": "A"}),
            PublishAction(event_type="payment.charge.requested", data={"amount": 1}),
        ):
            await minds.execute_decision(PlannerDecision(next_action=action), context)

    @minds.on_transition()
    async def join(transition: TransitionContext, context: PlatformContext) -> None:
        replies.append(transition.what_happened)
        if len(set(replies)) == 2:
            done = PlannerDecision(next_action=CompleteAction(result={"both": True}))
            await minds.execute_decision(done, context)

    await platform.start(minds, stock(), payments())
    for number in range(10):
        replies.clear()
        plan = await platform.submit("order.received", {"n": number})
        assert await plan.result(timeout=5) == {"both": True}


class SlowToLook(SqliteRegistry):
    """Between looking who lives and the commit, there is time for somebody to come."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.looked, self.go_on = asyncio.Event(), asyncio.Event()

    async def live_events(self, tenant_id: str, now: datetime) -> list[RegisteredEvent]:
        seen = await super().live_events(tenant_id, now)
        self.looked.set()
        await self.go_on.wait()
        return seen


async def test_an_agent_that_comes_while_a_plan_is_being_parked_wakes_it(path: Path, clock: VirtualClock) -> None:
    store = SqliteStore(path)
    slow = store.registry = SlowToLook(store.database)
    script = [publish("inventory.reserve.requested", order_id="A"), complete({"ok": 1})]
    async with Platform(store=store, clock=clock) as platform:
        plan = await order(platform, planner(script))
        await slow.looked.wait()
        await platform.start(stock())
        slow.go_on.set()
        assert await plan.result(timeout=5) == {"ok": 1}


async def test_a_handler_for_an_event_by_name_does_not_take_it_from_the_plan_that_waits_for_it(
    platform: Platform,
) -> None:
    minds = planner([publish("inventory.reserve.requested", order_id="A"), complete({"ok": 1})])
    heard: list[str] = []

    @minds.on_event("inventory.reserve.requested.completed", topic="action-results")
    async def hear(event: Any, context: PlatformContext) -> None:
        heard.append(event.id)

    await platform.start(minds, stock())
    assert await (await platform.submit("order.received", {})).result(timeout=5) == {"ok": 1}


class Slowly:
    """A model that reserves once it is let go."""

    def __init__(self) -> None:
        self.thinking, self.answer = asyncio.Event(), asyncio.Event()

    async def __call__(self, question: Any) -> Any:
        self.thinking.set()
        await self.answer.wait()
        return publish("inventory.reserve.requested", order_id="A")


async def test_a_model_that_takes_longer_than_the_plan_has_publishes_nothing_more(
    platform: Platform, clock: VirtualClock
) -> None:
    slowly = Slowly()
    plan = await order(platform, planner(slowly, limits=Limits(deadline=timedelta(hours=1))), stock())
    await slowly.thinking.wait()
    await clock.advance(timedelta(hours=3))
    slowly.answer.set()
    assert "limit_exceeded: deadline" in (await ended(platform, plan.plan_id)).reason
    assert await types(platform) == ["order.received"]


async def test_a_plan_whose_model_takes_long_holds_up_no_other(platform: Platform) -> None:
    thinking, answer = asyncio.Event(), asyncio.Event()

    async def decide(question: Any) -> Any:
        if '{"slow":true}' in question.messages[1].content:
            thinking.set()
            await answer.wait()
        return complete({"ok": True})

    await platform.start(planner(decide), stock())
    slow = await platform.submit("order.received", {"slow": True})
    await thinking.wait()
    others = [await platform.submit("order.received", {"n": n}) for n in range(20)]
    assert await asyncio.gather(*(plan.result(timeout=5) for plan in others)) == [{"ok": True}] * 20
    assert (await platform.plan(slow.plan_id)).status == "pending"
    answer.set()
    assert await slow.result(timeout=5) == {"ok": True}


async def test_a_plan_can_be_seen_and_cancelled_while_its_first_decision_is_being_made(platform: Platform) -> None:
    slowly = Slowly()
    minds = planner(slowly)
    plan = await order(platform, minds, stock(), order_id="A")
    await slowly.thinking.wait()
    assert (await platform.plan(plan.plan_id)).status == "pending"
    assert await platform.cancel(plan.plan_id, "not needed")
    slowly.answer.set()
    details = await ended(platform, plan.plan_id)
    assert (details.status, details.reason) == ("cancelled", "not needed")
    assert await types(platform) == ["order.received"]
    assert len(minds.reasoner.questions) == 1  # type: ignore[union-attr]


async def test_a_clock_that_steps_back_loses_no_deadline(path: Path) -> None:
    clock = VirtualClock()
    async with open_platform(path, clock) as platform:
        plan = await order(platform, planner([wait("user.replied", "?")], external_events=["user.replied"]), stock())
        await the_wait(platform)
    store = SqliteStore(path)
    await store.open(clock.now())
    assert await store.queue.fire(clock.now() + timedelta(days=7), 100) == 1
    await store.close()
    async with open_platform(path, VirtualClock()) as platform:
        await platform.start(planner([], external_events=["user.replied"]), stock())
        assert "deadline" in (await ended(platform, plan.plan_id)).reason


async def test_results_of_100_plans_at_once_are_each_their_own(platform: Platform) -> None:
    def decide(question: Any) -> Any:
        told = question.messages[-1].content
        number = told.partition('{"order_id":"')[2].partition('"')[0]
        if "was answered" in told:
            return complete({"order": number})
        return publish("inventory.reserve.requested", order_id=number)

    await platform.start(planner(decide), stock())
    plans = [await platform.submit("order.received", {"order_id": str(n)}) for n in range(100)]
    results: Sequence[Any] = await asyncio.gather(*(plan.result(timeout=30) for plan in plans))
    assert [result["order"] for result in results] == [str(n) for n in range(100)]

    async def idle() -> bool:
        return not await platform.services.store.queue.unsent(1)

    await until(platform, idle)
