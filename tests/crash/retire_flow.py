"""A retired model: orders are parked for an approval, another model takes its place, the orders go on, and the model is
restored. With the option `shadow`, a third model is asked about each decision."""

import asyncio
import json
from typing import Any

from deciding import DecidingModel
from life import Life, live
from people import answer_all

from soorma_ai import Change, ChoreographyPlanner, InvocationContext, Limits, Platform, PlatformContext, Tool
from soorma_ai.kernel.ports import ModelAnswer, ModelQuestion
from soorma_ai.kernel.runtime.handling.process.signals import until

ORDERS = (1, 2, 3)
AMOUNT: dict[str, Any] = {"type": "object", "properties": {"amount": {"type": "number"}}, "required": ["amount"]}


def amount_in(told: str) -> int:
    return int(told.partition('{"amount":')[2].partition("}")[0])


def decide(told: str) -> dict[str, Any]:
    amount = amount_in(told)
    if "You published payment.charge.requested" not in told:
        return {"action": "publish:payment.charge.requested", "data": {"amount": amount}}
    return {"action": "complete", "result": {"amount": amount}}


class OldModel(DecidingModel):
    model = provider = "old"


class NewModel(DecidingModel):
    model = provider = "new"


class ShadowModel(DecidingModel):
    model = provider = "shadow"

    async def ask(self, question: ModelQuestion) -> ModelAnswer:
        step = decide(question.messages[-1].content)
        self.life.point("shadow.told")
        value: Any = {"reasoning": "shadow", "step": step}
        return ModelAnswer(json.dumps(value), value, "", self.model, 100, 20, 0.001, 1.0)


def agents(life: Life) -> tuple[Tool | ChoreographyPlanner, ...]:
    payments = Tool("payments")

    @payments.on_invoke("payment.charge.requested", payload_schema=AMOUNT, approval="always")
    async def charge(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        life.outside.effect("charge", request.idempotency_key, amount=request.data["amount"])
        return {"charged": request.data["amount"]}

    limits = Limits(max_actions=2, max_repeats=None)
    orders = ChoreographyPlanner("orders", goals=["order.received"], reasoner=OldModel(life, decide), limits=limits)
    others: list[DecidingModel] = [NewModel(life, decide)]
    if life.options.get("shadow"):
        others.append(ShadowModel(life, decide))
        orders.shadow(Change(model="shadow"), share=1.0, max_usd_a_day=0.05)
    bringing = [ChoreographyPlanner(one.model, goals=[f"{one.model}.goal"], reasoner=one) for one in others]
    return payments, orders, *bringing


async def until_parked(platform: Platform, life: Life) -> None:
    """Return once each order is parked, or was."""
    services = platform.services
    watcher = services.signals.watch()
    while life.look("SELECT count(*) FROM expectation WHERE kind = 'gate'")[0][0] < len(ORDERS):
        await until(watcher, services.clock, 1.0)
    services.signals.unwatch(watcher)


def completed(life: Life) -> int:
    return life.look("SELECT count(*) FROM plan WHERE status = 'completed'")[0][0]


MONEY = """
    SELECT (SELECT coalesce(sum(CAST(json_extract(body, '$.usd') AS DOUBLE PRECISION)), 0) FROM trial_call),
        (SELECT coalesce(sum(usd), 0) FROM shadow_budget),
        (SELECT count(*) - count(DISTINCT question) FROM trial_call)
"""


def check_money(life: Life) -> None:
    """Raise for a dollar counted twice, and for a question asked twice. The calls go on, so one statement reads all."""
    ((calls, budget, twice),) = life.look(MONEY)
    if abs(calls - budget) > 1e-9 or twice or budget > 0.05:
        raise AssertionError(f"calls for {calls} US dollars, a budget of {budget}, {twice} questions asked again")


async def story(life: Life) -> None:
    async with life.platform() as platform:
        check_money(life)
        await platform.start(*agents(life))
        life.point("submit.before")
        plans = [await platform.submit("order.received", {"amount": n}, idempotency_key=f"order {n}") for n in ORDERS]
        await until_parked(platform, life)
        if completed(life) < len(ORDERS):
            life.point("retire.before")
            await platform.retire_model("old", "new")
            life.point("retire.after")
        people = asyncio.create_task(answer_all(platform, life, lambda wait: {"approved": True}))
        try:
            for plan in plans:
                await plan.result()
        finally:
            people.cancel()
        if any(one.replacement for one in await platform.models()):
            life.point("restore.before")
            await platform.restore_model("old")
        life.point("restore.after")
        check_money(life)


if __name__ == "__main__":
    live(story)
