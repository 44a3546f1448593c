"""The services of a shop: stock, payments and shipping. Each could run in a process of its own."""

from datetime import timedelta
from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, Field

from soorma_ai import Approval, InvocationContext, PlatformContext, Reject, TaskContext, Tool, Worker


class Reservation(BaseModel):
    order_id: str
    sku: str
    quantity: int = Field(ge=1)


class Reserved(BaseModel):
    reservation: str
    warehouse: str


class Release(BaseModel):
    order_id: str
    reservation: str


class Payment(BaseModel):
    order_id: str
    amount: Decimal = Field(gt=0, description="US dollars")


class Paid(BaseModel):
    receipt: str


class Shipment(BaseModel):
    order_id: str
    speed: Literal["standard", "express"] = "standard"


class ManagerAnswer(BaseModel):
    """Form of the manager's answer."""

    approved: bool
    note: str = ""


def manager_approval(timeout: timedelta) -> Approval:
    """An answer out of time counts as a no."""
    return Approval(
        when="payload.amount > 5000.0",
        approvers=("manager",),
        timeout=timeout,
        message="An order over $5,000 wants to be paid.",
        response_schema=ManagerAnswer.model_json_schema(),
    )


def shop(approval: Approval) -> tuple[Tool, Tool, Worker]:
    stock, payments, shipping = Tool("stock"), Tool("payments"), Worker("shipping")

    @stock.on_invoke("inventory.reserve.requested", description="Set goods aside for an order.")
    async def reserve(request: InvocationContext[Reservation], context: PlatformContext) -> Reserved:
        if request.data.quantity > 100:
            raise Reject(f"only 100 of {request.data.sku} in stock", code="out_of_stock")
        return Reserved(reservation=f"R-{request.data.order_id}", warehouse="north")

    @stock.on_invoke("inventory.release.requested", description="Give up a reservation that is not needed any more.")
    async def release(request: InvocationContext[Release], context: PlatformContext) -> dict[str, str]:
        return {"released": request.data.reservation}

    @payments.on_invoke(
        "payment.charge.requested", description="Charge the customer.", approval=approval, irreversible=True
    )
    async def charge(request: InvocationContext[Payment], context: PlatformContext) -> Paid:
        # A payment provider takes `request.idempotency_key`, so that a repeated attempt charges once.
        return Paid(receipt=f"receipt-{request.data.order_id}")

    @shipping.on_task("shipment.requested", description="Hand a paid order to the carrier.")
    async def ship(task: TaskContext[Shipment], context: PlatformContext) -> None:
        days = 1 if task.data.speed == "express" else 4
        await context.bus.announce("order.shipped", {"order_id": task.data.order_id})
        await task.complete({"carrier": "northbound", "days": days})

    return stock, payments, shipping
