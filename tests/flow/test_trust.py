"""Trust: an answer counts only from its asked agent, and a gate holds for every asker."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from kit import (
    PATIENCE,
    happens,
    order,
    payments,
    planner,
    published_events,
    running_platform,
    the_wait,
    until,
    wait_for_requests,
)

from soorma_ai import (
    Agent,
    AgentCapability,
    Approval,
    EventDefinition,
    Held,
    InvocationContext,
    Platform,
    PlatformContext,
    ResultContext,
    TaskContext,
    Tool,
    Worker,
)
from soorma_ai.errors import LocalProtocolError, NotFound
from soorma_ai.local_client import LocalClient
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, delegate, publish

RECEIPT = {
    "type": "object",
    "properties": {"receipt": {"type": "string"}},
    "required": ["receipt"],
    "additionalProperties": False,
}
PAY = "payment.charge.requested"
CFO = Approval(approvers=("cfo",), timeout=timedelta(hours=2))


def person(platform: Platform, name: str, *roles: str) -> LocalClient:
    return platform.as_user(tenant_id="default", user_id=name, roles=roles)


def slow(started: asyncio.Event, go_on: asyncio.Event) -> Tool:
    tool = Tool("slow")

    @tool.on_invoke("work.requested", response_schema=RECEIPT)
    async def work(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        started.set()
        await go_on.wait()
        return {"receipt": "true"}

    return tool


async def forge(platform: Platform, event_type: str, key: str) -> None:
    for result in ({"receipt": "forged"}, {"garbage": 1}):
        data = {"success": True, "result": result}
        with pytest.raises(NotFound, match=f"no plan or question {key}"):
            await person(platform, "eve").publish("action-results", event_type, data, correlation_id=key)
        await person(platform, "eve", "operator").publish("action-results", event_type, data, correlation_id=key)


async def came(platform: Platform, event_type: str, count: int) -> None:
    async def so_many() -> bool:
        found = [one for one in await published_events(platform, topic="action-results") if one.type == event_type]
        return len(found) == count and not await platform.services.store.queue.unsent(1)

    await until(platform, so_many)


async def test_a_client_answers_neither_for_an_agent_nor_for_another_users_request(platform: Platform) -> None:
    started, go_on = asyncio.Event(), asyncio.Event()
    plan = await order(platform, planner([publish("work.requested"), complete({})]), slow(started, go_on))
    asking = asyncio.create_task(person(platform, "ann").request("work.requested", {}, timeout=PATIENCE))
    requests = await wait_for_requests(platform, "work.requested", 2)
    for request in requests:
        await forge(platform, "work.requested.completed", request.correlation_id)
    await came(platform, "work.requested.completed", 4)
    go_on.set()
    assert (await asking)["result"] == {"receipt": "true"}
    await plan.result(timeout=PATIENCE)
    replied = [step.data for step in (await platform.plan(plan.plan_id)).steps if step.kind == "replied"]
    assert replied == [{"receipt": "true"}]


async def test_a_client_answers_no_goal_in_the_place_of_its_planner(platform: Platform) -> None:
    thinking = asyncio.Event()

    async def think(question: Any) -> Any:
        await thinking.wait()
        return complete({"real": 1})

    goal = EventDefinition(event_name="part.goal")
    child = planner(think, name="child", goals=[goal])
    plan = await order(platform, planner([delegate("child", "part.goal"), complete({})]), child)
    (request,) = await wait_for_requests(platform, "part.goal")
    await forge(platform, "part.goal.completed", request.correlation_id)
    await came(platform, "part.goal.completed", 2)
    thinking.set()
    await plan.result(timeout=PATIENCE)
    assert [s.data for s in (await platform.plan(plan.plan_id)).steps if s.kind == "replied"] == [{"real": 1}]


def scribe() -> Agent:
    """An agent that promises a receipt, and replies by hand with something else."""
    promised = EventDefinition(event_name="paper.requested", response_schema=RECEIPT)
    agent = Agent("scribe", capabilities=[AgentCapability(task_name="writing", consumed_event=promised)])

    @agent.on_event("paper.requested", topic="action-requests")
    async def write(event: Any, context: PlatformContext) -> None:
        said = {"success": True, "result": {"receipt": 7, "more": "S3CRET"}}
        await context.bus.respond(event.response_event, said, event.correlation_id)

    return agent


async def test_a_result_off_its_schema_is_a_failure_to_a_plan_a_worker_and_a_client(platform: Platform) -> None:
    told: list[ResultContext] = []
    worker = Worker("clerk")

    @worker.on_task("order.requested")
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        await task.delegate("paper.requested", {}, "written")

    @worker.on_result("written")
    async def go_on(result: ResultContext, context: PlatformContext) -> None:
        told.append(result)
        await (await result.restore_task()).complete({})

    plan = await order(platform, planner([publish("paper.requested"), complete({})]), scribe(), worker)
    await plan.result(timeout=PATIENCE)
    await platform.request("order.requested", {}, timeout=PATIENCE)
    to_plan = [step.data for step in (await platform.plan(plan.plan_id)).steps if step.kind == "replied"]
    to_client = await platform.request("paper.requested", {}, timeout=PATIENCE)
    for error in (*to_plan, to_client["error"], told[0].data["error"]):
        assert isinstance(error, dict)
        assert error["code"] == "invalid_result"
        assert "$.receipt" in str(error["message"])
    assert (told[0].success, told[0].result, to_client["success"]) == (False, None, False)


async def test_a_request_id_in_a_payload_is_not_believed(platform: Platform) -> None:
    told: list[str] = []
    tool = Tool("hands")

    @tool.on_invoke("work.requested")
    async def work(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        told.append(request.request_id)
        return {}

    await platform.start(tool)
    reply = await platform.request("work.requested", {"request_id": "somebody else's"}, timeout=PATIENCE)
    (request,) = await published_events(platform, topic="action-requests")
    assert told == [reply["request_id"]] == [request.id]


async def test_a_tool_at_one_persons_request_answers_no_other_persons(platform: Platform) -> None:
    go_on = asyncio.Event()
    tool = Tool("echo")

    @tool.on_invoke("work.requested")
    async def work(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        if request.data["who"] != "eve":
            await go_on.wait()
        return {"for": request.data["who"]}

    deputy = Agent("deputy")

    @deputy.on_event("forge", topic="business-facts")
    async def forge_by_key(event: Any, context: PlatformContext) -> None:
        await context.bus.request("work.requested", {"who": "eve"}, "work.requested.completed", **event.data)

    await platform.start(tool, deputy)
    asking = asyncio.create_task(person(platform, "ann").request("work.requested", {"who": "ann"}, timeout=PATIENCE))
    (request,) = await wait_for_requests(platform, "work.requested")
    eve = person(platform, "eve", "operator")
    await eve.publish("action-requests", "work.requested", {"who": "eve"}, correlation_id=request.id)
    await platform.publish("business-facts", "forge", {"correlation_id": request.id})
    await came(platform, "work.requested.completed", 2)
    go_on.set()
    assert (await asking)["result"] == {"for": "ann"}


async def test_an_unasked_agent_answers_for_no_other(platform: Platform) -> None:
    started, go_on = asyncio.Event(), asyncio.Event()
    impostor = Agent("impostor")

    @impostor.on_event("forge", topic="business-facts")
    async def answer(event: Any, context: PlatformContext) -> None:
        said = {"success": True, "result": {"receipt": "forged"}}
        await context.bus.respond("work.requested.completed", said, event.data["key"])

    await platform.start(slow(started, go_on), impostor)
    asking = asyncio.create_task(person(platform, "ann").request("work.requested", {}, timeout=PATIENCE))
    (request,) = await wait_for_requests(platform, "work.requested")
    await platform.publish("business-facts", "forge", {"key": request.id})
    await came(platform, "work.requested.completed", 1)
    go_on.set()
    assert (await asking)["result"] == {"receipt": "true"}


@pytest.mark.parametrize("breaks", [True, False])
async def test_a_listener_neither_answers_nor_fails_the_request_of_another(platform: Platform, breaks: bool) -> None:
    started, go_on = asyncio.Event(), asyncio.Event()
    ear = Agent("ear")

    @ear.on_event("*", topic="action-requests")
    async def hear(event: Any, context: PlatformContext) -> None:
        if breaks:
            raise ZeroDivisionError("oops")
        said = {"success": True, "result": {"receipt": "by the ear"}}
        await context.bus.respond(event.response_event, said, event.correlation_id)

    await platform.start(slow(started, go_on), ear)
    asking = asyncio.create_task(person(platform, "ann").request("work.requested", {}, timeout=PATIENCE))
    await came(platform, "work.requested.completed", 1)
    go_on.set()
    assert (await asking)["result"] == {"receipt": "true"}


async def test_the_refusal_of_one_request_is_no_answer_to_another(platform: Platform) -> None:
    started, go_on = asyncio.Event(), asyncio.Event()
    evil = Agent("evil")

    @evil.on_event("go", topic="business-facts")
    async def ask(event: Any, context: PlatformContext) -> None:
        await context.bus.request(PAY, {"amount": 1}, "work.requested.completed", correlation_id=event.data["key"])

    await platform.start(slow(started, go_on), payments("always"), evil)
    asking = asyncio.create_task(person(platform, "ann").request("work.requested", {}, timeout=PATIENCE))
    (request,) = await wait_for_requests(platform, "work.requested")
    await platform.publish("business-facts", "go", {"key": request.id})
    assert await person(platform, "eve").answer((await the_wait(platform)).wait_id, {"approved": False}) == "accepted"
    await came(platform, "work.requested.completed", 1)
    go_on.set()
    assert (await asking)["success"]


@pytest.mark.parametrize(
    ("event_type", "topic"),
    [("plan.deadline.reached", "plan-events"), ("notification.human_input", "notification-events")],
)
async def test_no_request_may_name_an_event_of_the_platform_as_its_reply(
    platform: Platform, event_type: str, topic: str
) -> None:
    refused: list[Any] = []
    liar, worker = Agent("liar"), Worker("clerk")

    @liar.on_event("lie", topic="business-facts")
    async def lie(event: Any, context: PlatformContext) -> None:
        try:
            await context.bus.request("work.requested", {}, event_type, response_topic=topic)
        except LocalProtocolError as error:
            refused.append(error)

    @worker.on_task("order.requested")
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        await task.delegate("work.requested", {}, event_type, response_topic=topic)

    await platform.start(liar, worker)
    await platform.publish("business-facts", "lie", {})
    await until(platform, lambda: refused)
    reply: Any = await platform.request("order.requested", {}, timeout=PATIENCE)
    assert "only the platform publishes that" in reply["error"]["message"]


# Gates


async def test_a_clients_request_is_held_until_an_approver_approves_it(platform: Platform) -> None:
    charged: list[Any] = []
    await platform.start(payments(CFO, charged))
    ann, cfo = person(platform, "ann"), person(platform, "mia", "cfo")
    with pytest.raises(Held) as held:
        await ann.request(PAY, {"amount": 9}, idempotency_key="k")
    with pytest.raises(Held) as again:
        await ann.request(PAY, {"amount": 9}, idempotency_key="k")
    assert (again.value.wait_id, again.value.request_id) == (held.value.wait_id, held.value.request_id)
    with pytest.raises(LocalProtocolError, match="other data"):
        await ann.request(PAY, {"amount": 10}, idempotency_key="k")
    (asked,) = await platform.waits()
    assert (asked.wait_id, asked.request_id, asked.proposed_data) == (
        held.value.wait_id,
        held.value.request_id,
        {"amount": 9},
    )
    assert await ann.answer(asked.wait_id, {"approved": True}) == "invalid"
    assert charged == []
    assert await cfo.answer(asked.wait_id, {"approved": True}) == "accepted"
    reply = await ann.reply(held.value.request_id, timeout=PATIENCE)
    assert reply["result"] == {"charged": 9}
    assert await ann.request(PAY, {"amount": 9}, idempotency_key="k", timeout=PATIENCE) == reply
    assert charged == [9]


@pytest.mark.parametrize(
    ("decision", "payload", "paid"), [("edit", {"data": {"amount": 5}}, [5]), ("reject", {"approved": False}, [])]
)
async def test_a_person_may_change_a_held_request_or_reject_it_with_a_note(
    platform: Platform, decision: str, payload: dict[str, Any], paid: list[int]
) -> None:
    charged: list[Any] = []
    await platform.start(payments("always", charged))
    ann = person(platform, "ann")
    with pytest.raises(Held) as held:
        await ann.publish("action-requests", PAY, {"amount": 9})
    with pytest.raises(Held) as asked:
        await ann.request(PAY, {"amount": 9})
    assert len({held.value.wait_id, asked.value.wait_id}) == 2
    assert await ann.answer(asked.value.wait_id, {"data": {"amount": "much"}}, decision="edit") == "invalid"
    assert await ann.answer(asked.value.wait_id, payload, decision=decision, note="too much") == "accepted"
    reply: Any = await ann.reply(asked.value.request_id, timeout=PATIENCE)
    assert charged == paid
    if not paid:
        assert reply["error"]["code"] == "rejected"
        assert "too much" in reply["error"]["message"]


async def test_a_held_request_without_an_answer_in_time_is_rejected(platform: Platform, clock: VirtualClock) -> None:
    charged: list[Any] = []
    await platform.start(payments(CFO, charged))
    with pytest.raises(Held) as held:
        await person(platform, "ann").request(PAY, {"amount": 9})
    await clock.advance(timedelta(hours=3))
    reply: Any = await platform.reply(held.value.request_id, timeout=PATIENCE)
    assert (reply["error"]["code"], charged) == ("rejected", [])
    assert await platform.answer(held.value.wait_id, {"approved": True}) == "late"


async def test_an_approver_approves_in_the_same_call_and_it_is_kept_as_an_answer(platform: Platform) -> None:
    await platform.start(payments(CFO))
    with pytest.raises(LocalProtocolError, match=r"ann has no role; one of cfo must answer"):
        await person(platform, "ann").request(PAY, {"amount": 9}, approve=True)
    mia = person(platform, "mia", "cfo")
    assert (await mia.request(PAY, {"amount": 9}, approve=True, timeout=PATIENCE))["success"]
    assert (await platform.request(PAY, {"amount": 9}, timeout=PATIENCE))["success"], (
        "the trusted root needs no approval"
    )
    kept = await platform.services.store.plans.expectations(tenant_id="default", only_open=False)
    said = [one.answer for one in kept if one.kind == "gate" and one.answer]
    assert sorted((answer.user_id, str(answer.decision)) for answer in said) == [
        ("local", "approve"),
        ("mia", "approve"),
    ]
    with pytest.raises(Held) as held:
        await mia.request(PAY, {"amount": 1}, idempotency_key="k")
    assert (await mia.request(PAY, {"amount": 1}, idempotency_key="k", approve=True, timeout=PATIENCE))["success"]
    assert await mia.answer(held.value.wait_id, {"approved": True}) == "duplicate"


async def test_a_goal_with_an_approval_is_held_as_well(platform: Platform) -> None:
    goal = EventDefinition(event_name="order.received", approval=CFO)
    await platform.start(planner([complete({"ok": 1})], goals=[goal]), payments())
    with pytest.raises(Held) as held:
        await person(platform, "ann").submit("order.received", {}, idempotency_key="k")
    assert await platform.plans() == []
    assert await person(platform, "mia", "cfo").answer(held.value.wait_id, {"approved": True}) == "accepted"
    plan = await person(platform, "ann").submit("order.received", {}, idempotency_key="k")
    assert await plan.result(timeout=PATIENCE) == {"ok": 1}


def clerk(told: list[ResultContext]) -> Worker:
    worker = Worker("clerk")

    @worker.on_task("order.requested")
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        await task.delegate(PAY, {"amount": 9}, "paid", timeout=60)

    @worker.on_result("paid")
    async def go_on(result: ResultContext, context: PlatformContext) -> None:
        told.append(result)
        await (await result.restore_task()).complete({"paid": result.success})

    return worker


@pytest.mark.parametrize("yes", [True, False])
async def test_a_workers_request_waits_for_its_approval_like_all_others(
    platform: Platform, clock: VirtualClock, yes: bool
) -> None:
    charged: list[Any] = []
    told: list[ResultContext] = []
    await platform.start(payments(CFO, charged), clerk(told))
    task_id = await platform.publish("action-requests", "order.requested", {})
    question = await the_wait(platform)
    assert (question.task_id, question.proposed_event, charged) == (task_id, PAY, [])
    await clock.advance(timedelta(hours=1))
    assert told == [], "the time for the reply has not begun"
    assert await person(platform, "mia", "cfo").answer(question.wait_id, {"approved": yes}, note="no") == "accepted"
    (result,) = await until(platform, lambda: told)
    assert (result.success, charged) == (yes, [9] if yes else [])
    assert yes or "mia says: no" in str(result.error)


@pytest.mark.parametrize("how", ["request", "publish"])
async def test_a_handlers_request_over_the_bus_passes_no_gate(platform: Platform, how: str) -> None:
    charged: list[Any] = []
    heard = asyncio.Event()
    shop = Agent("shop")

    @shop.on_event("order.placed", topic="business-facts")
    async def placed(event: Any, context: PlatformContext) -> None:
        if how == "request":
            await context.bus.request(PAY, {"amount": 9}, "shop.paid")
        else:
            await context.bus.publish("action-requests", PAY, {"amount": 9}, response_event="shop.paid")

    @shop.on_event("shop.paid", topic="action-results")
    async def paid(event: Any, context: PlatformContext) -> None:
        heard.set()

    await platform.start(payments("always", charged), shop)
    await platform.publish("business-facts", "order.placed", {})
    question = await the_wait(platform)
    assert charged == []
    assert await platform.answer(question.wait_id, {"approved": True}) == "accepted"
    await happens(heard)
    assert charged == [9]


async def test_a_task_withdraws_its_held_requests_at_its_end(platform: Platform) -> None:
    charged: list[Any] = []
    hasty = Worker("hasty")

    @hasty.on_task("order.requested")
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        await task.delegate(PAY, {"amount": 9}, "paid")
        await task.delegate("work.requested", {}, "done")

    @hasty.on_result("done")
    async def go_on(result: ResultContext, context: PlatformContext) -> None:
        await (await result.restore_task()).complete({})

    hasty.on_result("paid")(lambda result, context: None)
    started, go_on_with_it = asyncio.Event(), asyncio.Event()
    await platform.start(payments(CFO, charged), hasty, slow(started, go_on_with_it))
    asking = asyncio.create_task(platform.request("order.requested", {}, timeout=PATIENCE))
    question = await the_wait(platform)
    go_on_with_it.set()
    await asking
    assert await person(platform, "mia", "cfo").answer(question.wait_id, {"approved": True}) == "superseded"
    assert charged == []


@pytest.mark.parametrize("name", ["notification.human_input", "plan.wait.reminded", "plan.wait.escalated"])
async def test_only_the_platform_publishes_questions_to_people(platform: Platform, name: str) -> None:
    letters: list[Any] = []
    liar = Agent("liar")

    @liar.on_event("lie", topic="business-facts")
    async def lie(event: Any, context: PlatformContext) -> None:
        try:
            await context.bus.publish("notification-events", name, {"question": "?"})
        except LocalProtocolError as error:
            letters.append(error)

    await platform.start(payments(), liar)
    with pytest.raises(LocalProtocolError, match="only the platform publishes it"):
        await person(platform, "eve").publish("notification-events", name, {"question": "Approve?"})
    await platform.publish("business-facts", "lie", {})
    await until(platform, lambda: letters)


@pytest.mark.parametrize("when", ["has(context.total) && context.total > 5", "context.total > 5"])
async def test_a_condition_over_the_goal_holds_for_every_asker_and_without_a_goal(
    platform: Platform, when: str
) -> None:
    charged: list[Any] = []
    deputy = Tool("deputy")

    @deputy.on_invoke("work.requested")
    async def work(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        await context.bus.request(PAY, {"amount": 9}, "deputy.paid")
        return {}

    orders = planner([publish("work.requested"), complete({})])
    plan = await order(platform, orders, payments(Approval(when=when), charged), deputy, total=9)
    await plan.result(timeout=PATIENCE)
    assert (await the_wait(platform)).proposed_data == {"amount": 9}
    assert charged == []
    with pytest.raises(Held):
        await person(platform, "ann").request(PAY, {"amount": 1})


async def test_a_repeated_call_of_a_rejected_request_gets_the_rejection(platform: Platform) -> None:
    await platform.start(payments(CFO), planner([], goals=[EventDefinition(event_name="order.received", approval=CFO)]))
    ann, mia = person(platform, "ann"), person(platform, "mia", "cfo")
    with pytest.raises(Held) as held:
        await ann.submit("order.received", {}, idempotency_key="k")
    with pytest.raises(Held) as published_one:
        await ann.publish("action-requests", PAY, {"amount": 9}, idempotency_key="k")
    for wait_id in (held.value.wait_id, published_one.value.wait_id):
        assert await mia.answer(wait_id, {"approved": False}, note="not now") == "accepted"
    with pytest.raises(LocalProtocolError, match=r"mia rejected 'order.received', so it was not published: not now"):
        await ann.submit("order.received", {}, idempotency_key="k")
    with pytest.raises(LocalProtocolError, match="mia rejected"):
        await ann.publish("action-requests", PAY, {"amount": 9}, idempotency_key="k")
    told: Any = await ann.reply(published_one.value.request_id, timeout=PATIENCE)
    assert told["error"]["code"] == "rejected"
    assert (await ann.request(PAY, {"amount": 9}, idempotency_key="k", timeout=PATIENCE)) == told
    with pytest.raises(NotFound):
        await person(platform, "eve").reply(published_one.value.request_id)


async def test_one_key_stands_for_one_request_whether_or_not_it_was_held(platform: Platform) -> None:
    charged: list[Any] = []
    await platform.start(payments(Approval(when="payload.amount > 100"), charged))
    ann = person(platform, "ann")
    with pytest.raises(Held) as held:
        await ann.publish("action-requests", PAY, {"amount": 500}, idempotency_key="k")
    with pytest.raises(LocalProtocolError, match="other data"):
        await ann.publish("action-requests", PAY, {"amount": 5}, idempotency_key="k")
    assert await ann.answer(held.value.wait_id, {"approved": True}) == "accepted"
    await until(platform, lambda: charged)
    assert charged == [500]


async def test_a_request_done_before_its_gate_came_is_not_held(path: Path, clock: VirtualClock) -> None:
    async with running_platform(path, clock, payments()) as platform:
        before = await person(platform, "ann").request(PAY, {"amount": 9}, idempotency_key="k", timeout=PATIENCE)
    async with running_platform(path, clock, payments("always")) as platform:
        ann = person(platform, "ann")
        assert await ann.request(PAY, {"amount": 9}, idempotency_key="k", timeout=PATIENCE) == before
        await ann.publish("action-requests", PAY, {"amount": 9}, idempotency_key="k")
        assert await platform.waits() == []


async def test_an_approval_in_the_same_call_without_its_role_is_refused(path: Path, clock: VirtualClock) -> None:
    async with running_platform(path, clock, payments(CFO)) as platform:
        with pytest.raises(Held):
            await person(platform, "ann").request(PAY, {"amount": 9}, idempotency_key="k")
        ann_as_boss = person(platform, "ann", "boss")
        with pytest.raises(LocalProtocolError, match="ann has boss; one of cfo must answer"):
            await ann_as_boss.request(PAY, {"amount": 9}, idempotency_key="k", approve=True)


async def test_a_payload_is_checked_again_by_its_receivers_schema_at_its_approval(
    path: Path, clock: VirtualClock
) -> None:
    async with running_platform(path, clock, payments("always")) as platform:
        with pytest.raises(Held) as held:
            await person(platform, "ann").request(PAY, {"amount": 9})
    changed = Tool("payments")
    (former,) = [made.version for _, made in payments("always").registration().events]
    needs = {"type": "object", "required": ["currency"]}
    changed.on_invoke(PAY, payload_schema=needs, replaces=former)(lambda request, context: {})
    async with running_platform(path, clock, changed) as platform:
        outcome = await platform.answer(held.value.wait_id, {"approved": True})
        assert (outcome, "currency" in outcome.detail) == ("invalid", True)


async def test_a_task_with_nothing_to_wait_for_but_a_gate_without_a_reply_fails(platform: Platform) -> None:
    forgetful = Worker("forgetful")

    @forgetful.on_task("order.requested")
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        await context.bus.publish("action-requests", PAY, {"amount": 9})

    await platform.start(payments("always"), forgetful)
    reply: Any = await platform.request("order.requested", {}, timeout=PATIENCE)
    assert "nothing to wait for" in reply["error"]["message"]
    assert await platform.waits() == []


async def test_an_open_gate_outlives_the_prune_of_everything_around_it(platform: Platform, clock: VirtualClock) -> None:
    charged: list[Any] = []
    shop, deputy = Agent("shop"), Tool("deputy")

    @shop.on_event("order.placed", topic="business-facts")
    async def placed(event: Any, context: PlatformContext) -> None:
        await context.bus.request(PAY, {"amount": 9}, "shop.paid")

    @deputy.on_invoke("work.requested")
    async def work(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        await context.bus.request(PAY, {"amount": 8}, "deputy.paid")
        return {}

    orders = planner([publish("work.requested"), complete({})])
    plan = await order(platform, orders, payments("always", charged), shop, deputy)
    await plan.result(timeout=PATIENCE)
    await platform.publish("business-facts", "order.placed", {})
    await until(platform, lambda: _has_waits(platform, 2))
    await clock.advance(timedelta(days=2))
    await platform.prune(timedelta(days=1))
    for wait in await platform.waits():
        assert await platform.answer(wait.wait_id, {"approved": True}) == "accepted"
    await until(platform, lambda: len(charged) == 2)
    assert sorted(charged) == [8, 9]


async def _has_waits(platform: Platform, count: int) -> bool:
    return len(await platform.waits()) == count


TYPED = Approval(
    approvers=("cfo",),
    response_schema={
        "type": "object",
        "properties": {"approved": {"const": True}, "cost_centre": {"type": "string"}},
        "required": ["approved", "cost_centre"],
    },
)


async def test_a_bare_approval_in_the_same_call_does_not_open_a_gate_with_a_schema(platform: Platform) -> None:
    charged: list[Any] = []
    await platform.start(payments(TYPED, charged))
    mia = person(platform, "mia", "cfo")
    with pytest.raises(LocalProtocolError, match=r"approve=True: the answer is off its schema: .*cost_centre"):
        await mia.request(PAY, {"amount": 9}, approve=True)
    assert await platform.waits() == []
    with pytest.raises(Held) as held:
        await mia.request(PAY, {"amount": 9}, idempotency_key="k")
    with pytest.raises(LocalProtocolError, match=rf"cost_centre.*answer\('{held.value.wait_id}', ...\)"):
        await mia.request(PAY, {"amount": 9}, idempotency_key="k", approve=True)
    whole = {"approved": True, "cost_centre": "K1"}
    assert await mia.answer(held.value.wait_id, whole) == "accepted"
    assert (await mia.reply(held.value.request_id, timeout=PATIENCE))["success"]
    assert charged == [9]


async def test_the_trusted_roots_own_call_passes_a_gate_with_any_answer_schema(platform: Platform) -> None:
    charged: list[Any] = []
    await platform.start(payments(TYPED, charged))
    assert (await platform.request(PAY, {"amount": 1}, timeout=PATIENCE))["success"]
    with pytest.raises(Held):
        await person(platform, "local").request(PAY, {"amount": 2}, idempotency_key="k")
    assert (await platform.request(PAY, {"amount": 2}, idempotency_key="k", timeout=PATIENCE))["success"]
    assert charged == [1, 2]


async def test_a_gate_outside_of_plans_and_tasks_names_its_request(platform: Platform) -> None:
    shop = Agent("shop")

    @shop.on_event("order.placed", topic="business-facts")
    async def placed(event: Any, context: PlatformContext) -> None:
        await context.bus.request(PAY, {"amount": 9}, "shop.paid")

    await platform.start(payments("always"), shop)
    await platform.publish("business-facts", "order.placed", {})
    question = await the_wait(platform)
    (told,) = await published_events(platform, topic="notification-events")
    assert (question.task_id, question.plan_id, told.data["task_id"]) == (None, None, None)
    assert question.request_id == told.data["request_id"] == told.correlation_id
    assert await platform.services.store.events.event(question.request_id) is None, "it is held"
