"""Rules in the place of a model: from the goal and the last result of a plan to its next step."""

from decimal import Decimal
from typing import Any, TypeAlias

from soorma_ai.kernel.ports import ModelQuestion, QuestionFacts

EXPRESS_FROM = 5000

# The reasoning and the step, as a model's answer has them.
Decided: TypeAlias = tuple[str, dict[str, Any]]


def answer(question: ModelQuestion) -> dict[str, Any]:
    """Return the answer of a model."""
    reasoning, step = decide(question.facts)
    return {"reasoning": reasoning, "step": step}


def decide(facts: QuestionFacts) -> Decided:
    order: dict[str, Any] = facts.goal
    named = {"order_id": order["order_id"]}
    match facts.event, facts.outcome:
        case "", _:
            goods = {**named, "sku": order["sku"], "quantity": order["quantity"]}
            return "The goods come first.", _publish("inventory.reserve.requested", goods)
        case "inventory.reserve.requested", "ok":
            charge = {**named, "amount": order["amount"]}
            return "The goods are set aside; now the payment.", _publish("payment.charge.requested", charge)
        case "payment.charge.requested", "ok":
            speed = "express" if Decimal(order["amount"]) > EXPRESS_FROM else "standard"
            return "Paid, so it can be shipped.", _publish("shipment.requested", {**named, "speed": speed})
        case "payment.charge.requested", "reject" | "expired":
            reserved = {**named, "reservation": f"R-{order['order_id']}"}
            return "No approval, so the goods go back.", _publish("inventory.release.requested", reserved)
        case "shipment.requested", "ok":
            return "Everything is done.", _complete(named, "shipped", "Paid and on its way with northbound.")
        case "inventory.release.requested", "ok":
            message = "The payment was not approved; nothing was charged and the goods are free again."
            return "The reservation is released.", _complete(named, "rejected", message)
        case _:
            return "Nothing can be done about this failure.", _complete(named, "rejected", "It cannot be fulfilled.")


def _publish(event: str, data: dict[str, Any]) -> dict[str, Any]:
    return {"action": f"publish:{event}", "data": data}


def _complete(named: dict[str, Any], status: str, message: str) -> dict[str, Any]:
    return {"action": "complete", "result": {**named, "status": status, "message": message}}
