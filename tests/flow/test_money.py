"""Money is exact from the caller to the handler: decimals through schemas, gates, decisions and replies."""

from decimal import Decimal

import pytest
from kit import PATIENCE, planner, wait_for_end
from pydantic import BaseModel, Field

from soorma_ai import Approval, Held, InvocationContext, LocalProtocolError, Platform, PlatformContext, Tool
from soorma_ai.testing.scripted import complete, publish

EXACT = "4999.990000000000000000000000000000001"
LIMIT = Approval(when="payload.amount > 5000.0")


class Payment(BaseModel):
    amount: Decimal = Field(gt=0)


class Paid(BaseModel):
    charged: Decimal


def till(charged: list[Decimal]) -> Tool:
    tool = Tool("till")

    @tool.on_invoke("payment.charge.requested", approval=LIMIT)
    async def charge(request: InvocationContext[Payment], context: PlatformContext) -> Paid:
        charged.append(request.data.amount)
        return Paid(charged=request.data.amount)

    return tool


async def test_a_decimal_reaches_a_handler_and_its_caller_without_loss(platform: Platform) -> None:
    charged: list[Decimal] = []
    tool = Tool("scale")

    @tool.on_invoke("weight.wanted")
    async def weigh(request: InvocationContext[Payment], context: PlatformContext) -> Paid:
        charged.append(request.data.amount)
        return Paid(charged=request.data.amount)

    await platform.start(tool)
    for data in ({"amount": Decimal(EXACT)}, Payment(amount=Decimal(EXACT)), {"amount": EXACT}):
        assert (await platform.request("weight.wanted", data, timeout=PATIENCE))["result"] == {"charged": EXACT}
    assert charged == [Decimal(EXACT)] * 3


async def test_a_gate_compares_money_by_value_and_asks_about_more_digits_than_it_can_compare(
    platform: Platform,
) -> None:
    charged: list[Decimal] = []
    await platform.start(till(charged))
    lena = platform.as_user(tenant_id="default", user_id="lena")
    await lena.request("payment.charge.requested", {"amount": Decimal("900.00")}, timeout=PATIENCE)
    for amount in ("5000.01", EXACT):
        with pytest.raises(Held):
            await lena.request("payment.charge.requested", {"amount": Decimal(amount)}, timeout=PATIENCE)
    assert charged == [Decimal("900.00")]


async def test_a_float_in_the_place_of_money_is_refused_with_the_cure(platform: Platform) -> None:
    await platform.start(till([]))
    with pytest.raises(LocalProtocolError, match=r'900\.5 is a number .* give its digits as text, such as "900\.5"'):
        await platform.request("payment.charge.requested", {"amount": 900.5}, timeout=PATIENCE)


async def test_a_decision_with_a_float_is_asked_again_with_the_cure(platform: Platform) -> None:
    charged: list[Decimal] = []
    script = [publish("payment.charge.requested", amount=amount) for amount in (900.5, "900.50")]
    orders = planner([*script, complete()])
    await platform.start(orders, till(charged))
    plan = await platform.submit("order.received", {})
    await plan.result(timeout=PATIENCE)
    assert charged == [Decimal("900.50")]
    plan_view = await wait_for_end(platform, plan.plan_id)
    assert "a decimal is wanted" in plan_view.decisions[0].refusal
