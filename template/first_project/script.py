"""Rules in place of a model. Extend them with your planner, or record the model's answers: see the tests."""

from typing import Any

from soorma_ai.kernel.ports import ModelQuestion, QuestionFacts
from soorma_ai.testing.scripted import complete, publish


def answer(question: ModelQuestion) -> dict[str, Any]:
    return decide(question.facts)


def decide(facts: QuestionFacts) -> dict[str, Any]:
    result: Any = facts.result
    order_id = facts.goal["order_id"]
    match facts.event, facts.outcome:
        case "", _:
            return publish("order.look_up.requested", order_id=order_id)
        case "order.look_up.requested", "ok":
            return publish("refund.pay.requested", order_id=order_id, amount=result["paid"])
        case "refund.pay.requested", "ok":
            return complete({"status": "paid", "message": "Your money is on its way."})
        case "order.look_up.requested", _:
            return complete({"status": "refused", "message": "We are sorry: there is no such order."})
        case _:
            return complete({"status": "refused", "message": "We are sorry: we cannot pay it back."})
