"""Several requests published together are one decision, and one more when enough of them have come."""

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from fanin import ORDERS, PART, WIDE, arrive, join_of_a_plan, register_parts, reply_to, shuffle
from kit import (
    PATIENCE,
    open_platform,
    order,
    payments,
    planner,
    published_events,
    stock,
    tamper,
    the_wait,
    until,
    wait_for_end,
    wait_for_requests,
    wait_for_step,
)

from soorma_ai import (
    GoalContext,
    InvocationContext,
    Platform,
    PlatformContext,
    PublishAction,
    PublishAllAction,
    ResultContext,
    TaskContext,
    Tool,
    TransitionContext,
    Worker,
)
from soorma_ai.kernel.domain.decisions import CompleteAction, PlannerDecision
from soorma_ai.kernel.ports import ModelQuestion
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish, publish_all, wait

THREE = [publish(PART, n=n) for n in range(3)]
RESERVE = publish("inventory.reserve.requested", order_id="A1")
CHARGE = publish("payment.charge.requested", amount=12000)


def message_to_model(minds: Any, call: int = -1) -> str:
    return minds.reasoner.questions[call].messages[1].content.partition("\nNow: ")[2]


async def fan_out(platform: Platform, *script: Any, **options: Any) -> Any:
    """Return the planner, its plan, and its published requests, still without answers."""
    minds = planner(list(script), limits=options.pop("limits", WIDE), **options)
    await register_parts(platform)
    plan = await order(platform, minds)
    count = sum(item["action"] == f"publish:{PART}" for item in script[0]["step"]["requests"])
    return minds, plan, await wait_for_requests(platform, PART, count)


async def test_a_failure_counts_as_come_and_equal_events_keep_their_own_data(platform: Platform) -> None:
    failing = publish("inventory.reserve.requested", order_id="none-left")
    minds = planner([publish_all(RESERVE, failing, publish("inventory.reserve.requested", order_id="A2")), complete()])
    plan = await order(platform, minds, stock())
    await plan.result(timeout=PATIENCE)
    text = message_to_model(minds)
    found = [text.index(part) for part in ('"reserved":"A1"', "out_of_stock", '"reserved":"A2"')]
    assert found == sorted(found)


@pytest.mark.parametrize("seed", range(ORDERS))
async def test_a_hundred_results_in_any_order_and_some_twice_are_one_join(platform: Platform, seed: int) -> None:
    await join_of_a_plan(platform, seed, need=random.Random(seed).randint(1, 99) if seed % 2 else None)


async def test_neither_too_few_replies_nor_a_late_one_call_the_model(platform: Platform) -> None:
    script = [publish_all(*THREE, need=2), wait("user.replied", "go on?"), complete({"ok": 1})]
    minds, plan, (first, second, third) = await fan_out(platform, *script, external_events=["user.replied"])
    assert "reminders" not in str(minds.reasoner.questions[0].schema), "reminders are for code to set"
    await arrive(platform, [reply_to(third)])
    await wait_for_step(platform, plan.plan_id, "replied")
    assert len(minds.reasoner.questions) == 1
    await arrive(platform, [reply_to(first)])
    question = await the_wait(platform)
    assert "2 of 3 requests" in message_to_model(minds) and '"no answer yet"' in message_to_model(minds)
    arrival = await platform.services.store.queue.arrive([reply_to(second)], platform.services.clock.now())
    assert arrival.strays == ()
    platform.services.signals.wake_agents()
    await wait_for_step(platform, plan.plan_id, "late")
    assert (await platform.plan(plan.plan_id)).status == "paused", "a late result wakes no handler"
    assert (await the_wait(platform)).wait_id == question.wait_id
    assert len(minds.reasoner.questions) == 2
    await platform.answer(question.wait_id, {"approved": True})
    assert await plan.result(timeout=PATIENCE) == {"ok": 1}
    history = minds.reasoner.questions[-1].messages[1].content
    answers = (f"{PART} (request 3) answered", f"{PART} (request 1) answered", f"{PART} (request 2) was answered late")
    places = [history.index(words) for words in answers]
    assert places == sorted(places)


@pytest.mark.parametrize("seed", range(3))
async def test_results_and_the_deadline_at_the_same_moment_are_one_join(path: Path, seed: int) -> None:
    rng, clock = random.Random(seed), VirtualClock()
    async with open_platform(path, clock) as platform:
        script = [publish_all(*THREE, timeout_seconds=60), complete({"ok": 1})]
        _, plan, requests = await fan_out(platform, *script)
        await platform.services.store.queue.arrive([reply_to(requests[0])], clock.now())
    async with open_platform(path, clock) as platform:
        # The process was down: both the rest and the deadline wait for it.
        store, replies = platform.services.store, [reply_to(request) for request in requests[1:]]
        if rng.random() < 0.5:
            await store.queue.arrive(replies, clock.now())
        await clock.advance(61)
        await store.queue.fire(clock.now(), 100)
        minds = planner([complete({"ok": 1})], limits=WIDE)
        await platform.start(minds)
        await arrive(platform, shuffle(replies, rng), 1)
        assert (await wait_for_end(platform, plan.plan_id)).result == {"ok": 1}
        assert len(minds.reasoner.questions) == 1  # type: ignore[union-attr]
        fired = [step for step in (await platform.plan(plan.plan_id)).steps if step.fires]
        assert len(fired) == 1


async def test_a_withdrawn_request_is_not_published_though_approved_while_the_model_thinks(platform: Platform) -> None:
    """Otherwise the charge would happen twice: the model knows of the withdrawal, and asks again."""
    charged: list[Any] = []
    thinking, go_on = asyncio.Event(), asyncio.Event()
    script = iter([publish_all(CHARGE, RESERVE, need=1), CHARGE, complete({"ok": 1})])

    async def answer(question: ModelQuestion) -> Any:
        step = next(script)
        if step is CHARGE:
            thinking.set()
            await go_on.wait()
        return step

    minds = planner(answer)
    plan = await order(platform, minds, stock(), payments("always", charged))
    first = await the_wait(platform)
    await thinking.wait()
    assert await platform.answer(first.wait_id, {"approved": True}) == "accepted"
    go_on.set()
    await wait_for_step(platform, plan.plan_id, "late")
    second = await the_wait(platform)
    assert await platform.answer(second.wait_id, {"approved": True}) == "accepted"
    assert await plan.result(timeout=PATIENCE) == {"ok": 1}
    assert len(charged) == 1


async def test_a_fired_join_withdraws_the_questions_of_its_open_branches(platform: Platform) -> None:
    """Neither the worker of a branch goes on, nor a worker asked by it."""
    told: list[str] = []
    clerk, boss = Worker("clerk"), Worker("boss")

    @clerk.on_task("count.requested")
    async def delegate(task: TaskContext, context: PlatformContext) -> None:
        await task.delegate("sign.requested", {}, response_event="signed")

    clerk.on_result("signed")(lambda result, context: None)

    @boss.on_task("sign.requested")
    async def ask(task: TaskContext, context: PlatformContext) -> None:
        question = {"question": "sign?", "response_event": "was.signed", "timeout_seconds": 3600}
        await context.bus.publish("notification-events", "notification.human_input", question)

    @boss.on_result("was.signed")
    async def sign(result: ResultContext, context: PlatformContext) -> None:
        told.append(result.event_type)

    async def decide(question: ModelQuestion) -> Any:
        if len(minds.reasoner.questions) == 1:
            return publish_all(publish("count.requested"), publish("go.requested"), need=1)
        return wait("user.replied", "go on?")

    go = asyncio.Event()
    runner = Tool("runner")

    @runner.on_invoke("go.requested")
    async def run(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        await go.wait()
        return {}

    minds = planner(decide, external_events=["user.replied"])
    plan = await order(platform, minds, clerk, boss, runner)
    asked = await the_wait(platform)
    assert asked.agent == "boss"
    go.set()

    async def is_withdrawn() -> bool:
        return [wait.expected_event for wait in await platform.waits()] == ["user.replied"]

    await until(platform, is_withdrawn)
    assert await platform.answer(asked.wait_id, {"ok": True}) == "superseded"
    said = minds.reasoner.questions[1].messages[1].content
    assert "given up: nobody answered its question in time" in said
    assert (await platform.plan(plan.plan_id)).status == "paused"
    assert told == []


async def test_cancelling_in_the_middle_reaches_every_open_branch(platform: Platform) -> None:
    script = [publish_all(*THREE, CHARGE)]
    minds = planner(script, limits=WIDE)
    await register_parts(platform)
    plan = await order(platform, minds, payments("always"))
    first, *others = await wait_for_requests(platform, PART, 3)
    question = await the_wait(platform)
    await arrive(platform, [reply_to(first)])
    await wait_for_step(platform, plan.plan_id, "replied")
    assert await platform.cancel(plan.plan_id, "enough")
    details = await wait_for_end(platform, plan.plan_id)
    assert details.status == "cancelled"
    assert f"unknown: {PART}, {PART}" in details.reason
    assert "not started: payment.charge.requested" in details.reason
    stopped = [
        e.subject for e in await published_events(platform, topic="plan-events") if e.type == "plan.request.abandoned"
    ]
    assert sorted(map(str, stopped)) == sorted(request.id for request in others)
    assert not [e for e in details.expectations if e.status == "open"]
    assert await platform.answer(question.wait_id, {"approved": True}) == "superseded"


async def test_a_handler_decides_and_is_called_when_the_join_fires(platform: Platform) -> None:
    minds, seen = planner([], goals=[]), list[Any]()

    @minds.on_goal("order.received")
    async def both(goal: GoalContext, context: PlatformContext) -> None:
        requests = (
            PublishAction(event_type="inventory.reserve.requested", data={"order_id": "A"}),
            PublishAction(event_type="payment.charge.requested", data={"amount": 1}),
        )
        await minds.execute_decision(PlannerDecision(next_action=PublishAllAction(requests=requests)), context)

    @minds.on_transition()
    async def joined(transition: TransitionContext, context: PlatformContext) -> None:
        seen.append([(item["event"], item["status"], item["result"]) for item in transition.data])
        await minds.execute_decision(PlannerDecision(next_action=CompleteAction(result={"ok": 1})), context)

    plan = await order(platform, minds, stock(), payments())
    assert await plan.result(timeout=PATIENCE) == {"ok": 1}
    assert seen == [
        [("inventory.reserve.requested", "ok", {"reserved": "A"}), ("payment.charge.requested", "ok", {"charged": 1})]
    ]


async def test_a_plan_stranded_by_a_lost_wake_up_of_its_join_is_set_going(platform: Platform) -> None:
    _, plan, _ = await fan_out(platform, publish_all(*THREE, need=1), complete({"ok": 1}))
    store: Any = platform.services.store

    async def all_sent() -> bool:
        return not await store.queue.unsent(1)

    await until(platform, all_sent)
    # The rows after a lost wake-up: the join is closed, and its plan was not called.
    await tamper(platform, "UPDATE expectation SET status = 'closed' WHERE kind = 'join'")
    assert (await store.queue.sweep(platform.services.clock.now())).stranded == (plan.plan_id,)
    platform.services.signals.wake_agents()
    assert await plan.result(timeout=PATIENCE) == {"ok": 1}
