"""What decides in the place of a model: a few rules over the prompt that a model would be shown."""

import json
from decimal import Decimal
from typing import Any, TypeAlias

from soorma_ai.kernel.ports import ModelQuestion

EXPRESS_FROM = 5000

# The reasoning and the step, as a model's answer has them.
Decided: TypeAlias = tuple[str, dict[str, Any]]


def answer(question: ModelQuestion) -> dict[str, Any]:
    """Return what a model would answer."""
    reasoning, step = decide(question.messages[-1].content)
    return {"reasoning": reasoning, "step": step}


def decide(told: str) -> Decided:
    before, _, rest = told.partition("What just happened:")
    now = rest.partition("Actions left")[0]
    order = _goal_in(before)
    named = {"order_id": order["order_id"]}
    if "inventory.reserve.requested was answered" in now:
        charge = {**named, "amount": order["amount"]}
        return "The goods are set aside; now the payment.", _publish("payment.charge.requested", charge)
    if "payment.charge.requested was answered" in now:
        speed = "express" if Decimal(order["amount"]) > EXPRESS_FROM else "standard"
        return "Paid, so it can be shipped.", _publish("shipment.requested", {**named, "speed": speed})
    if "rejected payment.charge.requested" in now or "Nobody decided" in now:
        reserved = {**named, "reservation": f"R-{order['order_id']}"}
        return "No approval, so the goods go back.", _publish("inventory.release.requested", reserved)
    if "What has happened so far" not in before:
        goods = {**named, "sku": order["sku"], "quantity": order["quantity"]}
        return "The goods come first.", _publish("inventory.reserve.requested", goods)
    return _end(now, named)


def _end(now: str, named: dict[str, Any]) -> Decided:
    if "shipment.requested was answered" in now:
        return "Everything is done.", _complete(named, "shipped", "Paid and on its way with northbound.")
    if "inventory.release.requested was answered" in now:
        message = "The payment was not approved; nothing was charged and the goods are free again."
        return "The reservation is released.", _complete(named, "rejected", message)
    return "Something failed that I can do nothing about.", _complete(named, "rejected", "It cannot be fulfilled.")


def _goal_in(told: str) -> dict[str, Any]:
    return json.JSONDecoder().raw_decode(told[told.index("{") :])[0]


def _publish(event: str, data: dict[str, Any]) -> dict[str, Any]:
    return {"action": f"publish:{event}", "data": data}


def _complete(named: dict[str, Any], status: str, message: str) -> dict[str, Any]:
    return {"action": "complete", "result": {**named, "status": status, "message": message}}
