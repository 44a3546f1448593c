"""Two tools: order look-up and payment. Either could run in its own process."""

from datetime import timedelta
from decimal import Decimal

from pydantic import BaseModel, Field
from soorma_ai import Approval, InvocationContext, PlatformContext, Reject, Tool

# In place of a database.
PAID = {"A1": Decimal("240.00"), "B2": Decimal("35.00")}


class OrderNamed(BaseModel):
    order_id: str


class Order(BaseModel):
    order_id: str
    paid: Decimal


class Refund(BaseModel):
    order_id: str
    amount: Decimal = Field(gt=0, description="US dollars")


class Receipt(BaseModel):
    receipt: str


orders, till = Tool("orders"), Tool("till")


@orders.on_invoke("order.look_up.requested", description="Say what was paid for an order.")
async def look_up(request: InvocationContext[OrderNamed], context: PlatformContext) -> Order:
    if request.data.order_id not in PAID:
        raise Reject(f"there is no order {request.data.order_id}", code="no_order")
    return Order(order_id=request.data.order_id, paid=PAID[request.data.order_id])


@till.on_invoke(
    "refund.pay.requested",
    description="Pay money back to a customer.",
    approval=Approval(
        when="payload.amount > 100.0",
        approvers=("manager",),
        timeout=timedelta(days=2),
        message="A refund over $100 wants to be paid.",
    ),
    irreversible=True,
)
async def pay(request: InvocationContext[Refund], context: PlatformContext) -> Receipt:
    # A payment provider takes `request.idempotency_key`, so that a repeated attempt pays once.
    return Receipt(receipt=f"refund-{request.data.order_id}")
