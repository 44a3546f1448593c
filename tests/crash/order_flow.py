"""Orders: stock is reserved, a payment is held for approval and charged, a courier misses its deadline, a person is
asked for a delivery slot, the plan completes. Several orders run at once."""

import asyncio
import json
from typing import Any

from deciding import DecidingModel
from life import Life, live
from people import answer_all

from soorma_ai import ChoreographyPlanner, InvocationContext, Limits, PlatformContext, Tool, Wait
from soorma_ai.errors import ModelUnavailable
from soorma_ai.kernel.ports import ModelAnswer, ModelQuestion

COURIER = "courier.confirmed"
AMOUNT: dict[str, Any] = {"type": "object", "properties": {"amount": {"type": "number"}}, "required": ["amount"]}


def decide(told: str) -> dict[str, Any]:
    goal = json.loads(told.partition('{"amount":')[2].partition(",")[0] or "0")
    if "user.replied" in told:
        return {"action": "complete", "result": {"amount": goal, "paid": True}}
    if f"The wait for {COURIER} ended" in told:
        return {"action": "wait", "expected_event": "user.replied", "message": "Which slot?", "timeout_seconds": 3600}
    if "You published payment.charge.requested" in told:
        return {"action": "wait", "expected_event": COURIER, "message": "When?", "timeout_seconds": 1}
    if "You published inventory.reserve.requested" in told:
        return {"action": "publish:payment.charge.requested", "data": {"amount": "a lot"}}
    return {"action": "publish:inventory.reserve.requested", "data": {"order_id": f"order {goal}"}}


def decide_or_correct(told: str) -> dict[str, Any]:
    """Decide for a prompt or a re-ask. A re-ask holds the refusal alone, so the payload cannot name the order."""
    if "not carried out" in told:
        return {"action": "publish:payment.charge.requested", "data": {"amount": 100}}
    return decide(told)


class UnavailableAtFirst(DecidingModel):
    """Is unavailable until the asking plan rests on disk."""

    async def ask(self, question: ModelQuestion) -> ModelAnswer:
        is_first = "You published" not in question.messages[-1].content
        if is_first and not self.life.look("SELECT 1 FROM plan WHERE status != 'running'"):
            self.life.point("model.away")
            raise ModelUnavailable("no line")
        return await super().ask(question)


def agents(life: Life) -> tuple[Tool, Tool, ChoreographyPlanner]:
    stock, payments = Tool("stock"), Tool("payments")

    @stock.on_invoke("inventory.reserve.requested", payload_schema={"type": "object", "required": ["order_id"]})
    async def reserve(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        life.outside.effect("reserve", request.idempotency_key, order_id=request.data["order_id"])
        return {"reserved": request.data["order_id"]}

    @payments.on_invoke("payment.charge.requested", payload_schema=AMOUNT, approval="always")
    async def charge(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        life.outside.effect("charge", request.idempotency_key, amount=request.data["amount"])
        return {"receipt": f"receipt-{request.data['amount']}"}

    planner = ChoreographyPlanner(
        "orders",
        goals=["order.received"],
        external_events=["user.replied", COURIER],
        reasoner=(UnavailableAtFirst if life.options.get("away") else DecidingModel)(life, decide_or_correct),
        limits=Limits(max_actions=2, max_repeats=None),
    )
    return stock, payments, planner


def answers(wait: Wait) -> dict[str, Any] | None:
    """Answer every question except the courier's."""
    if wait.expected_event == COURIER:
        return None
    return {"text": "Tuesday"} if wait.proposed_event is None else {"approved": True}


async def story(life: Life) -> None:
    orders = range(1, life.options.get("orders", 1) + 1)
    async with life.platform() as platform:
        await platform.start(*agents(life))
        people = asyncio.create_task(answer_all(platform, life, answers))
        try:
            life.point("submit.before")
            plans = [
                await platform.submit("order.received", {"amount": n, "to": "A"}, idempotency_key=f"order {n}")
                for n in orders
            ]
            life.point("submit.after")
            for plan in plans:
                await plan.result()
        finally:
            people.cancel()


if __name__ == "__main__":
    live(story)
