"""Forks of an order at each of its decisions: held, acting and dry. People approve every held request, and the acting
forks alone reserve and charge again."""

import asyncio
from typing import Any

from deciding import DecidingModel
from life import Life, live
from people import answer_all

from soorma_ai import ChoreographyPlanner, InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.kernel.runtime.handling.process.signals import until

DECISIONS = (1, 2, 3)
WAYS: dict[str, dict[str, Any]] = {"held": {}, "acting": {"act": True}, "dry": {"dry": True}}
ANY: dict[str, Any] = {"type": "object"}


def decide(told: str) -> dict[str, Any]:
    if "You published payment.charge.requested" in told:
        return {"action": "complete", "result": {"amount": 9}}
    if "You published inventory.reserve.requested" in told:
        return {"action": "publish:payment.charge.requested", "data": {"amount": 9}}
    return {"action": "publish:inventory.reserve.requested", "data": {"order_id": "A1"}}


def agents(life: Life) -> tuple[Tool | ChoreographyPlanner, ...]:
    stock, payments = Tool("stock"), Tool("payments")

    @stock.on_invoke("inventory.reserve.requested", payload_schema=ANY)
    async def reserve(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        life.outside.effect("reserve", request.idempotency_key, order_id=request.data["order_id"])
        return {"reserved": True}

    @payments.on_invoke("payment.charge.requested", payload_schema=ANY, approval="always")
    async def charge(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        life.outside.effect("charge", request.idempotency_key, amount=request.data["amount"])
        return {"charged": request.data["amount"]}

    orders = ChoreographyPlanner("orders", goals=["order.received"], reasoner=DecidingModel(life, decide))
    return stock, payments, orders


async def until_ended(platform: Platform, life: Life) -> None:
    """Return once each plan has ended."""
    services = platform.services
    watcher = services.signals.watch()
    while life.look("SELECT count(*) FROM plan WHERE status NOT IN ('completed', 'failed')")[0][0]:
        await until(watcher, services.clock, 1.0)
    services.signals.unwatch(watcher)


async def story(life: Life) -> None:
    async with life.platform() as platform:
        await platform.start(*agents(life))
        people = asyncio.create_task(answer_all(platform, life, lambda wait: {"approved": True}))
        try:
            plan = await platform.submit("order.received", {"order": "A1"}, idempotency_key="order")
            await plan.result()
            for number in DECISIONS:
                for way, change in WAYS.items():
                    life.point("fork.before")
                    # The note names the fork in each of its questions.
                    name = f"{way} at {number}"
                    await platform.fork(plan.plan_id, number, note=name, key=name, **change)
                    life.point("fork.after")
            await until_ended(platform, life)
        finally:
            people.cancel()


if __name__ == "__main__":
    live(story)
