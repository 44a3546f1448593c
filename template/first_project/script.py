"""Rules in place of a model, over the prompt of a model. Extend them with your planner, or record the model's answers:
see the tests."""

import json
import re
from typing import Any

from soorma_ai.kernel.ports import ModelQuestion
from soorma_ai.testing.scripted import complete, publish


def answer(question: ModelQuestion) -> dict[str, Any]:
    return decide(question.messages[-1].content)


def decide(told: str) -> dict[str, Any]:
    before, _, rest = told.partition("What just happened:")
    now = rest.partition("Actions left")[0]
    order_id = str(_first_object(before)["order_id"])
    if "What has happened so far" not in before:
        return publish("order.look_up.requested", order_id=order_id)
    if "order.look_up.requested was answered" in now:
        return publish("refund.pay.requested", order_id=order_id, amount=_first_object(now)["paid"])
    if "refund.pay.requested was answered" in now:
        return complete({"status": "paid", "message": "Your money is on its way."})
    reason = "there is no such order" if re.search(r"order\.look_up\.requested", now) else "we cannot pay it back"
    return complete({"status": "refused", "message": f"We are sorry: {reason}."})


def _first_object(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.JSONDecoder().raw_decode(text[text.index("{") :])[0]
    return found
