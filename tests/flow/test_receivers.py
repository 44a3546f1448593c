"""The receivers of an event, and the schema and the gate of each."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from kit import (
    AMOUNT,
    PATIENCE,
    is_idle,
    kill_platform,
    open_platform,
    order,
    payments,
    planner,
    published_events,
    stock,
    the_wait,
    until,
    wait_for_requests,
)

from soorma_ai import (
    Agent,
    AgentCapability,
    Approval,
    EventDefinition,
    InvocationContext,
    Platform,
    PlatformContext,
    ResultContext,
    TaskContext,
    Tool,
    Worker,
)
from soorma_ai.errors import DeadlineExceeded, LocalProtocolError
from soorma_ai.kernel.ports import ModelAnswer
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, delegate, publish, wait


def audit() -> Agent:
    """An agent: only listens, and comes first by its name."""
    agent = Agent("audit")

    @agent.on_event("payment.charge.requested", topic="action-requests")
    async def note(event: Any, context: PlatformContext) -> None:
        return

    return agent


async def test_a_second_receiver_switches_neither_the_gate_nor_the_schema_off(platform: Platform) -> None:
    charged: list[Any] = []
    script = [
        publish("payment.charge.requested", amount="lots"),
        publish("payment.charge.requested", amount=9),
        complete(),
    ]
    plan = await order(platform, planner(script), payments("always", charged), audit())
    question = await the_wait(platform)
    assert (question.proposed_data, charged) == ({"amount": 9}, [])
    await platform.answer(question.wait_id, {"approved": True})
    await plan.result(timeout=5)
    assert charged == [9]
    with pytest.raises(LocalProtocolError):
        await platform.request("payment.charge.requested", {"amount": "lots"}, timeout=5)
    with pytest.raises(LocalProtocolError):
        await platform.publish("action-requests", "payment.charge.requested", {"amount": "lots"})


@pytest.mark.parametrize(
    ("described", "handled"),
    [
        (Approval(approvers=("boss",)), Approval(when="payload.amount > 100.0", on_expiry="approve")),
        (Approval(when="payload.amount < 10.0"), Approval(when="payload.amount > 100.0", approvers=("boss",))),
    ],
)
async def test_the_approvals_of_a_capability_and_of_its_handler_are_joined(
    platform: Platform, described: Approval, handled: Approval
) -> None:
    event = EventDefinition(event_name="payment.charge.requested", approval=described)
    tool = Tool("payments", capabilities=[AgentCapability(task_name="charge", consumed_event=event)])
    charged: list[Any] = []

    @tool.on_invoke("payment.charge.requested", approval=handled)
    async def charge(request: InvocationContext, context: PlatformContext) -> None:
        charged.append(request.data["amount"])

    plan = await order(platform, planner([publish("payment.charge.requested", amount=9), complete()]), tool)
    question = await the_wait(platform)
    assert (question.approvers, question.on_expiry, charged) == (("boss",), "reject", [])
    boss = platform.as_user(tenant_id="default", user_id="ann", roles=["boss"])
    await boss.answer(question.wait_id, {"approved": True})
    await plan.result(timeout=5)
    assert charged == [9]


async def test_a_delegated_goal_is_begun_by_its_planner_only(platform: Platform) -> None:
    one, two = (planner([complete({"by": name})] * 2, name=name, goals=["buy"]) for name in ("one", "two"))
    root = planner([delegate("two", "buy", {}), complete({"ok": 1})])
    plan = await order(platform, root, one, two, stock())
    assert await plan.result(timeout=5) == {"ok": 1}
    with pytest.raises(LocalProtocolError, match="several planners"):
        await platform.submit("buy", {"by": "a client"})
    named = await platform.submit("buy", {"by": "a client"}, planner="two")
    assert await named.result(timeout=5) == {"by": "two"}
    assert sorted(record.agent for record in await platform.plans()) == ["orders", "two", "two"]


async def test_a_goal_goes_to_the_tenants_own_planner_of_a_name_and_else_to_the_shared_one(platform: Platform) -> None:
    own = planner([complete({"by": "acme"})], tenant_id="acme")
    await platform.start(planner([complete({"by": "all"})]), own, stock())
    for tenant, by in (("acme", "acme"), ("globex", "all")):
        ann = platform.as_user(tenant_id=tenant, user_id="ann")
        assert await (await ann.submit("order.received", {})).result(timeout=5) == {"by": by}


async def test_no_tenant_can_attach_a_goal_to_anothers_plan(platform: Platform) -> None:
    ann = platform.as_user(tenant_id="a", user_id="ann")
    eve = platform.as_user(tenant_id="b", user_id="eve")
    await platform.start(planner([complete({})] * 2), stock())
    plan = await ann.submit("order.received", {"secret": 1}, idempotency_key="k")
    await plan.result(timeout=5)
    with pytest.raises(LocalProtocolError, match="belongs to no plan"):
        await eve.publish("action-requests", "order.received", {}, plan_id=plan.plan_id)
    hers = await eve.submit("order.received", {})
    await hers.result(timeout=5)
    assert {event.tenant_id async for event in hers.events()} == {"b"}
    assert (await ann.plan(plan.plan_id)).usage.llm_calls == 1


@pytest.mark.parametrize("levels", [120, 260])
async def test_data_too_deep_to_be_read_back_is_refused_and_harms_no_other_request(
    platform: Platform, levels: int
) -> None:
    deep: Any = {}
    for _ in range(levels):
        deep = {"d": deep}
    tool = Tool("deep")

    @tool.on_invoke("deep.requested")
    async def dig(request: Any, context: PlatformContext) -> Any:
        return deep

    await platform.start(tool, stock())
    with pytest.raises(LocalProtocolError):
        await platform.publish("business-facts", "x.y", deep)
    assert (await platform.request("deep.requested", {}, timeout=5))["success"] is False
    assert (await platform.request("inventory.reserve.requested", {"order_id": "A"}, timeout=5))["success"] is True


@pytest.mark.parametrize("text", ["\ud800", "deep"])
async def test_an_unstorable_answer_is_refused_and_asked_again(platform: Platform, text: str) -> None:
    value: Any = {"reasoning": text, "step": {"action": "complete", "result": {}}}
    if text == "deep":
        for _ in range(260):
            value = {"reasoning": value}
    answer = ModelAnswer(text, value, "", "m", 10, 10, 0.0, 1.0)
    plan = await order(platform, planner([answer, complete({"ok": 1})]), stock())
    assert await plan.result(timeout=5) == {"ok": 1}
    assert [entry.verdict for entry in (await platform.plan(plan.plan_id)).decisions] == ["refused", "accepted"]


@pytest.mark.parametrize("seconds", [1e12, 1e300])
async def test_a_wait_without_end_is_refused(platform: Platform, seconds: float) -> None:
    script = [wait("user.replied", "?", seconds), complete({"ok": 1})]
    await platform.start(planner(script, external_events=["user.replied"]), stock())
    assert await (await platform.submit("order.received", {})).result(timeout=5) == {"ok": 1}


# Requests without a taker


def pays(charged: list[Any], **options: Any) -> Tool:
    tool = Tool("till", capabilities=["paying"])

    @tool.on_invoke("till.requested", payload_schema=AMOUNT, **options)
    async def charge(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        charged.append(request.data["amount"])
        return {"charged": request.data["amount"]}

    return tool


def asks(amount: object = 9, assigned_to: str | None = None) -> Worker:
    worker = Worker("clerk")

    @worker.on_task("order.requested")
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        await task.delegate("till.requested", {"amount": amount}, "paid", assigned_to=assigned_to)

    @worker.on_result("paid")
    async def go_on(result: ResultContext, context: PlatformContext) -> None:
        await (await result.restore_task()).complete(result.data)

    return worker


@pytest.mark.parametrize("assigned_to", [None, "till", "paying"])
async def test_a_request_waits_for_its_taker_and_the_order_of_starts_never_matters(
    path: Path, clock: VirtualClock, assigned_to: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    charged: list[Any] = []
    async with open_platform(path, clock) as platform:
        await platform.start(asks(assigned_to=assigned_to))
        task_id = await platform.publish("action-requests", "order.requested", {}, idempotency_key="k")
        await wait_for_requests(platform, "till.requested")
        await until(platform, lambda: is_idle(platform))
    assert "event_not_taken event_type=till.requested" in caplog.text
    async with open_platform(path, clock) as platform:
        await platform.start(asks(assigned_to=assigned_to))
        await platform.start(stock())
        assert charged == []
        await platform.start(pays(charged))
        (answer,) = await until(platform, lambda: replies_to(platform, task_id))
        assert (answer.data["result"]["result"], charged) == ({"charged": 9}, [9])


async def replies_to(platform: Platform, key: str) -> list[Any]:
    return [one for one in await published_events(platform, topic="action-results") if one.correlation_id == key]


async def test_an_untaken_request_off_its_takers_schema_is_answered_when_the_taker_comes(platform: Platform) -> None:
    charged: list[Any] = []
    await platform.start(asks("much"))
    task_id = await platform.publish("action-requests", "order.requested", {})
    await wait_for_requests(platform, "till.requested")
    await platform.start(pays(charged))
    (answer,) = await until(platform, lambda: replies_to(platform, task_id))
    assert answer.data["result"]["error"]["code"] == "invalid_request"
    assert "$.amount" in answer.data["result"]["error"]["message"]
    assert charged == []


async def test_the_gate_of_a_later_taker_holds_an_untaken_request(platform: Platform) -> None:
    charged: list[Any] = []
    await platform.start(asks())
    task_id = await platform.publish("action-requests", "order.requested", {})
    await wait_for_requests(platform, "till.requested")
    await platform.start(pays(charged, approval="always"))
    question = await the_wait(platform)
    assert charged == []
    assert await platform.answer(question.wait_id, {"approved": True}) == "accepted"
    (answer,) = await until(platform, lambda: replies_to(platform, task_id))
    assert (answer.data["result"]["result"], charged) == ({"charged": 9}, [9])


async def test_an_untaken_request_past_its_deadline_is_answered_and_never_handed_over(
    platform: Platform, clock: VirtualClock
) -> None:
    charged: list[Any] = []
    told: list[Any] = []
    shop = Agent("shop")

    @shop.on_event("order.placed", topic="business-facts")
    async def placed(event: Any, context: PlatformContext) -> None:
        await context.bus.request("till.requested", {"amount": 9}, "shop.paid")

    @shop.on_event("shop.paid", topic="action-results")
    async def paid(event: Any, context: PlatformContext) -> None:
        told.append(event.data)

    await platform.start(shop)
    await platform.publish("business-facts", "order.placed", {})
    await wait_for_requests(platform, "till.requested")
    await until(platform, lambda: is_idle(platform))
    await clock.advance(timedelta(days=8))
    (data,) = await until(platform, lambda: told)
    assert data["error"]["code"] == "deadline_exceeded"
    await platform.start(pays(charged))
    await platform.request("till.requested", {"amount": 1}, timeout=PATIENCE)
    assert charged == [1]


async def test_a_request_held_at_its_hand_over_is_not_taken_when_it_comes_again(platform: Platform) -> None:
    charged: list[Any] = []
    await platform.start(asks())
    await platform.publish("action-requests", "order.requested", {})
    (request,) = await wait_for_requests(platform, "till.requested")
    await until(platform, lambda: is_idle(platform))
    await platform.start(pays(charged, approval="always"))
    question = await the_wait(platform)
    await platform.services.store.queue.arrive([request], platform.services.clock.now())
    platform.services.signals.wake_agents()
    await platform.request("till.requested", {"amount": 1}, timeout=PATIENCE)
    assert charged == [1]
    assert await platform.answer(question.wait_id, {"approved": True}) == "accepted"
    await until(platform, lambda: len(charged) == 2)
    assert charged == [1, 9]


async def test_a_gate_holds_though_its_agent_came_between_the_publish_and_the_arrival(
    path: Path, clock: VirtualClock
) -> None:
    charged: list[Any] = []
    async with open_platform(path, clock) as platform:
        queue = platform.services.store.queue
        unsent = queue.unsent

        async def but_for_it(limit: int) -> Any:
            return [row for row in await unsent(limit) if row.event.type != "till.requested"]

        queue.unsent = but_for_it  # type: ignore[method-assign]
        await platform.start(asks())
        await platform.publish("action-requests", "order.requested", {})
        await wait_for_requests(platform, "till.requested")
        await kill_platform(platform)
    async with open_platform(path, clock) as platform:
        await platform.start(asks(), pays(charged, approval="always"))
        assert (await the_wait(platform)).proposed_data == {"amount": 9}
        assert charged == []


async def test_a_gate_holds_though_its_agent_was_gone_when_another_came(path: Path, clock: VirtualClock) -> None:
    charged: list[Any] = []
    async with open_platform(path, clock) as platform:
        await platform.start(asks())
        await platform.publish("action-requests", "order.requested", {})
        await wait_for_requests(platform, "till.requested")
        await until(platform, lambda: is_idle(platform))
        gone = pays(charged, approval="always").registration()
        await platform.services.store.registry.register([gone], clock.now())
    await clock.advance(timedelta(minutes=10))
    async with open_platform(path, clock) as platform:
        await platform.start(asks())
        assert (await the_wait(platform)).proposed_data == {"amount": 9}
        await platform.start(pays(charged, approval="always"))
        assert charged == []


async def test_a_request_approved_twice_is_carried_out_once(path: Path, clock: VirtualClock) -> None:
    charged: list[Any] = []
    async with open_platform(path, clock) as platform:
        await platform.start(asks())
        task_id = await platform.publish("action-requests", "order.requested", {})
        await wait_for_requests(platform, "till.requested")
        await platform.start(pays(charged, approval="always"))
        first = await the_wait(platform)
    async with open_platform(path, clock) as platform:
        await platform.start(asks())
        await platform.registry.deregister("till")
        assert await platform.answer(first.wait_id, {"approved": True}) == "accepted"
        await wait_for_requests(platform, "till.requested", 2)
        await until(platform, lambda: is_idle(platform))
        await platform.start(pays(charged, approval="always"))
        second = await the_wait(platform)
        assert second.wait_id != first.wait_id
        assert charged == []
        assert await platform.answer(second.wait_id, {"approved": True}) == "accepted"
        (answer,) = await until(platform, lambda: replies_to(platform, task_id))
    assert (answer.data["result"]["result"], charged) == ({"charged": 9}, [9])


async def test_an_untaken_request_is_listed_with_its_plan_and_with_its_task(
    platform: Platform, clock: VirtualClock
) -> None:
    asking = Worker("clerk")

    @asking.on_task("work.requested")
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        await task.delegate("till.requested", {"amount": 9}, "paid", timeout=60)

    asking.on_result("paid")(lambda result, context: None)
    plan = await order(platform, planner([publish("work.requested"), complete({})]), asking)
    task_id = await platform.publish("action-requests", "work.requested", {})
    mine, loose = await wait_for_requests(platform, "till.requested", 2)
    if mine.plan_id is None:
        mine, loose = loose, mine
    await until(platform, lambda: is_idle(platform))
    (of_plan,) = await plan.untaken()
    assert (of_plan.request_id, of_plan.event_type, of_plan.asked_by) == (mine.id, "till.requested", "clerk")
    assert (of_plan.plan_id, of_plan.until) == (plan.plan_id, mine.time + timedelta(minutes=1))
    assert (await platform.plan(plan.plan_id)).untaken == (await platform.trace(plan.plan_id)).untaken == (of_plan,)
    assert await platform.tracker.untaken(plan.plan_id) == [of_plan]
    (of_task,) = await platform.tracker.untaken(task_id=task_id)
    assert (of_task.request_id, of_task.task_id, of_task.plan_id) == (loose.id, task_id, None)
    assert len(await platform.tracker.untaken()) == 2
    assert await platform.as_user(tenant_id="other", user_id="eve").tracker.untaken(task_id=task_id) == []
    actions = await platform.tracker.actions(plan.plan_id)
    assert [one.untaken for one in actions] == [None, of_plan]
    with pytest.raises(DeadlineExceeded, match=r"it is running; nobody takes 'till\.requested' yet"):
        await plan.result(timeout=0)
    await clock.advance(timedelta(minutes=2))
    await until(platform, lambda: is_idle(platform))
    assert await platform.tracker.untaken() == []
