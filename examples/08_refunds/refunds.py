"""Refunds of a shop. Small ones are paid at once; for larger ones a lead is asked, reminded, and has a deadline."""

from datetime import timedelta
from decimal import Decimal

from pydantic import BaseModel, Field

from soorma_ai import (
    Agent,
    Approval,
    ChoreographyPlanner,
    EventDefinition,
    EventEnvelope,
    InvocationContext,
    Limits,
    PlatformContext,
    Reasoner,
    Reject,
    Tool,
)

LIMIT = Decimal("100.00")
REMIND_AFTER, DEADLINE = timedelta(days=1), timedelta(days=2)

RULES = """\
You handle requests for refunds. Look up the order first. An order older than 30 days is not refunded: decline it.
Else publish the refund with the price of the order. Whether a person must approve it is not yours to decide.
If it was rejected, or nobody decided in time, decline. Complete with the order id, the status, and one sentence for the
customer.
"""


class Wish(BaseModel):
    """Request of a customer."""

    order_id: str
    reason: str


class OrderNumber(BaseModel):
    order_id: str


class Purchase(BaseModel):
    price: Decimal
    days_ago: int


class Refund(BaseModel):
    order_id: str
    amount: Decimal = Field(gt=0, description="US dollars")


class Paid(BaseModel):
    receipt: str


class Verdict(BaseModel):
    """Result of a refund: the planner's answer."""

    order_id: str
    status: str = Field(pattern="^(refunded|declined)$")
    message: str


PURCHASES = {"A1": Purchase(price=Decimal("40.00"), days_ago=3), "A2": Purchase(price=Decimal("900.00"), days_ago=12)}

OVER_THE_LIMIT = Approval(
    when=f"payload.amount > {LIMIT}",
    approvers=("lead",),
    timeout=DEADLINE,
    reminders=(REMIND_AFTER,),
    message="A refund over the limit wants to be paid.",
)


def make_planner(reasoner: Reasoner | None = None) -> ChoreographyPlanner:
    """Return the planner. A test gives it a `reasoner` that follows a script."""
    return ChoreographyPlanner(
        "refunds",
        goals=[EventDefinition(event_name="refund.wanted", payload_schema=Wish, response_schema=Verdict)],
        reasoning_model=None if reasoner else "openai/gpt-4o-mini",
        reasoner=reasoner,
        system_instructions=RULES,
        limits=Limits(max_actions=4),
    )


def make_orders() -> Tool:
    orders = Tool("orders")

    @orders.on_invoke("order.find.requested", description="Tell the price and the age of an order.")
    async def find(request: InvocationContext[OrderNumber], context: PlatformContext) -> Purchase:
        purchase = PURCHASES.get(request.data.order_id)
        if purchase is None:
            raise Reject(f"there is no order {request.data.order_id}", code="unknown_order")
        return purchase

    return orders


def make_payments(paid: dict[str, Decimal]) -> Tool:
    """Return the tool that pays. `paid` stands for a payment provider; it pays once for each key."""
    payments = Tool("payments")

    @payments.on_invoke("refund.pay.requested", description="Pay an order's price back.", approval=OVER_THE_LIMIT)
    async def pay(request: InvocationContext[Refund], context: PlatformContext) -> Paid:
        paid.setdefault(request.idempotency_key, request.data.amount)
        return Paid(receipt=f"receipt-{request.data.order_id}")

    return payments


def make_bell(rung: list[str]) -> Agent:
    """Return the agent that hears of reminders. It could as well send mail."""
    bell = Agent("bell")

    @bell.on_event("plan.wait.reminded", "notification-events")
    async def ring(event: EventEnvelope, context: PlatformContext) -> None:
        rung.append(str(event.data["question"]))

    return bell
