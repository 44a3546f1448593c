"""Questions of many kinds on one platform."""

from datetime import timedelta
from typing import Any

import pytest
from console_kit import ORDER, Payment, ask, shop
from kit import planner, until

from soorma_ai import Agent, Approval, InvocationContext, Platform, PlatformContext, TaskContext, Tool, Worker
from soorma_ai.errors import Held
from soorma_ai.testing.scripted import complete, publish, wait

LONGEST = "<b>bold</b> \u202ereversed " + "W" * 300_000
WIDE = {f"field_{number:02}_of_the_payload": f"value {number} " + "w" * 80 for number in range(40)}
NESTED = {"customer": {"name": "Ada", "address": {"city": "Turin", "streets": ["Via Po", "Via Roma"]}}, "ok": None}
LIMIT: Any = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "note": {"type": "string"}, "limit": {"type": "integer"}},
    "required": ["approved", "limit"],
}
DAY: Any = {"type": "object", "properties": {"day": {"enum": ["monday", "tuesday"]}}, "required": ["day"]}
MANAGERS = ("manager",)
REASONING = "The goods are reserved and the supplier is known. " * 40


def desk() -> Tool:
    tool = Tool("desk")

    @tool.on_invoke("record.change.requested", approval="always")
    async def change(request: InvocationContext[Any], context: PlatformContext) -> dict[str, Any]:
        return {}

    limited = Approval(approvers=MANAGERS, response_schema=LIMIT, timeout=timedelta(minutes=30))

    @tool.on_invoke("credit.raise.requested", payload_schema=Payment, approval=limited)
    async def raise_credit(request: InvocationContext[Any], context: PlatformContext) -> dict[str, Any]:
        return {}

    return tool


def clerk() -> Worker:
    worker = Worker("clerk")

    @worker.on_task("visit.plan.requested")
    async def plan_visit(task: TaskContext[Any], context: PlatformContext) -> None:
        asked = {"response_event": "visit.answered", "timeout_seconds": 600, "approvers": ["manager"], **task.data}
        await context.bus.publish("notification-events", "notification.human_input", asked)

    @worker.on_result("visit.answered")
    async def answered(result: Any, context: PlatformContext) -> None:
        await (await result.restore_task()).complete(result.data)

    return worker


def planners() -> tuple[Agent, ...]:
    """Return a planner with a long reason, and a planner waiting for an event."""
    paying = {**publish("payment.charge.requested", data={**ORDER, "order_id": "4799"}), "reasoning": REASONING}
    waiting = [wait("colour.chosen", "Which colour shall it be?"), complete({})]
    return (
        planner([paying, complete({})], name="analyst", goals=["invoice.received"]),
        planner(waiting, name="painter", goals=["wall.bought"], external_events=["colour.chosen"]),
    )


async def hold(platform: Platform, event: str, data: dict[str, Any]) -> str:
    eve = platform.as_user(tenant_id="default", user_id="eve")
    with pytest.raises(Held) as held:
        await eve.request(event, data, timeout=1)
    return held.value.wait_id


async def questions_of_many_kinds(platform: Platform) -> dict[str, str]:
    """Return the ids of questions by their names; an operator and manager may answer all."""
    await platform.start(*shop(), desk(), clerk(), *planners())
    approved = await ask(platform, amount=1500.0)
    assert await platform.answer(approved, {"approved": True}) == "accepted"
    ids = {
        "changes since the last approval": await ask(platform, payee="ACME Ltd", amount=2500.0),
        "longest payload": await ask(platform, payee=LONGEST, order_id='"><img src=x>'),
        "longest sentence": await ask(platform, payee=" ".join(["long"] * 900)),
        "forty long fields": await hold(platform, "record.change.requested", WIDE),
        "nested payload": await hold(platform, "record.change.requested", NESTED),
        "empty payload": await hold(platform, "record.change.requested", {}),
        "answer with a field": await hold(platform, "credit.raise.requested", ORDER),
        "claimed by another": await ask(platform, order_id="4714"),
    }
    await platform.as_user(tenant_id="default", user_id="bob", roles={"manager"}).inbox.claim(ids["claimed by another"])
    for name, goal in (("of a plan", "order.received"), ("long reason", "invoice.received"), ("wait", "wall.bought")):
        await platform.submit(goal, {"order_id": "4711"})
        ids[name] = await _new_wait(platform, ids)
    for name, schema in (("choice", {"response_schema": DAY}), ("yes or no", {})):
        asked = {"question": f"Shall we visit Ada: {name}?", **schema}
        await platform.publish("action-requests", "visit.plan.requested", asked)
        ids[name] = await _new_wait(platform, ids)
    return ids


async def _new_wait(platform: Platform, known: dict[str, str]) -> str:
    async def find() -> str:
        found = [one.wait_id for one in await platform.waits(limit=100) if one.wait_id not in known.values()]
        return found[0] if found else ""

    return await until(platform, find)
