"""A small shop: a planner, a stock and a till, and a model with decisions computed from its prompt.

`agents` is the argument of `soorma run orders:agents`; `shop()` returns the same.
"""

from typing import Any

from soorma_ai import ChoreographyPlanner, EventDefinition, InvocationContext, PlatformContext, Tool, Worker
from soorma_ai.kernel.ports import ModelQuestion
from soorma_ai.testing.scripted import ScriptedReasoner

AMOUNT = {
    "type": "object",
    "properties": {"amount": {"type": "number", "exclusiveMinimum": 0}},
    "required": ["amount"],
    "additionalProperties": False,
}
SLOT = {
    "type": "object",
    "properties": {
        "day": {"enum": ["monday", "tuesday"], "description": "When the parcel is to come."},
        "floor": {"type": "integer", "minimum": 0},
        "is_gift": {"type": "boolean"},
        "note": {"type": "string"},
    },
    "required": ["day", "floor"],
    "additionalProperties": False,
}

RESERVE = {"reasoning": "Nothing can be sold before it is reserved.", "step": {"action": "publish:stock.reserve"}}
CHARGE = {"reasoning": "The stock is there, so the buyer pays.", "step": {"action": "publish:payment.charge"}}
CHARGE_BADLY = {"reasoning": "The stock is there, so the buyer pays.", "step": {"action": "publish:payment.chrage"}}
ASK = {"reasoning": "Only the buyer knows.", "step": {"action": "wait", "expected_event": "slot.chosen"}}


def decide(question: ModelQuestion) -> dict[str, Any]:
    told = question.messages[1].content
    refused = len(question.messages) > 2
    if "Goal: order.break" in told:
        return _with(CHARGE_BADLY, data={"amount": 1})
    if "stock.reserve answered" not in told and "stock.reserve was answered" not in told:
        return _with(RESERVE, data={"sku": "A-1"})
    if "Goal: order.check" in told:
        return _done("It is in stock.", in_stock=True)
    if "Goal: order.deliver" in told:
        return _done("A slot is chosen.", slot="chosen") if question.facts.event == "slot.chosen" else _ask()
    if "payment.charge was answered" in told:
        return _done("It is paid.", paid=True)
    if "rejected payment.charge" in told:
        return _done("A person said no.", paid=False)
    return _with(CHARGE if refused else CHARGE_BADLY, data={"amount": 120.5})


def _with(decision: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {**decision, "step": {**decision["step"], **fields}}


def _ask() -> dict[str, Any]:
    return _with(ASK, message="When shall the parcel come?", timeout_seconds=3600)


def _done(reasoning: str, **result: Any) -> dict[str, Any]:
    return {"reasoning": reasoning, "step": {"action": "complete", "result": result}}


planner = ChoreographyPlanner(
    "orders",
    "Sells things.",
    goals=["order.place", "order.check", "order.deliver", "order.break"],
    external_events=[EventDefinition(event_name="slot.chosen", topic="business-facts", payload_schema=SLOT)],
    reasoner=ScriptedReasoner(decide, model="scripted/shop"),
)
stock = Tool("stock")
till = Worker("till")


@stock.on_invoke("stock.reserve")
async def reserve(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
    await context.bus.announce("stock.low", {"sku": request.data["sku"]})
    return {"reserved": request.data["sku"]}


@till.on_task("payment.charge", payload_schema=AMOUNT, approval="always")
async def charge(task: Any, context: PlatformContext) -> None:
    await task.complete({"receipt": f"r-{task.data['amount']}"})


agents = [planner, stock, till]


def shop() -> list[Any]:
    return agents


nothing = "no agents"
