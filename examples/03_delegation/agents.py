"""The services of a shop: stock, payments and a carrier. Each does its part of an order, and can undo it."""

from decimal import Decimal

from pydantic import BaseModel, Field

from soorma_ai import InvocationContext, PlatformContext, Reject, Tool

IN_STOCK = 100


class Goods(BaseModel):
    order_id: str
    sku: str
    quantity: int = Field(ge=1)


class Payment(BaseModel):
    order_id: str
    amount: Decimal = Field(gt=0, description="US dollars")
    card: str


class Parcel(BaseModel):
    order_id: str


def shop() -> tuple[Tool, Tool, Tool]:
    stock, payments, carrier = Tool("stock"), Tool("payments"), Tool("carrier")

    @stock.on_invoke("inventory.reserve.requested")
    async def reserve(request: InvocationContext[Goods], context: PlatformContext) -> dict[str, str]:
        if request.data.quantity > IN_STOCK:
            # Whoever asked gets a reply that says so; a worker sees it as `result.success` and `result.error`.
            raise Reject(f"only {IN_STOCK} of {request.data.sku} in stock", code="out_of_stock")
        return {"warehouse": "north"}

    @stock.on_invoke("inventory.release.requested")
    async def release(request: InvocationContext[Parcel], context: PlatformContext) -> dict[str, str]:
        return {"released": request.data.order_id}

    @payments.on_invoke("payment.charge.requested")
    async def charge(request: InvocationContext[Payment], context: PlatformContext) -> dict[str, str]:
        # A payment provider takes `request.idempotency_key`, so that a repeated attempt charges once.
        if request.data.card == "expired":
            raise Reject("the card has expired", code="card_expired")
        return {"receipt": f"receipt-{request.data.order_id}"}

    @payments.on_invoke("payment.refund.requested")
    async def refund(request: InvocationContext[Parcel], context: PlatformContext) -> dict[str, str]:
        return {"refunded": request.data.order_id}

    @carrier.on_invoke("shipment.book.requested")
    async def book(request: InvocationContext[Parcel], context: PlatformContext) -> dict[str, object]:
        return {"carrier": "northbound", "days": 4}

    @carrier.on_invoke("shipment.cancel.requested")
    async def cancel(request: InvocationContext[Parcel], context: PlatformContext) -> dict[str, str]:
        return {"cancelled": request.data.order_id}

    return stock, payments, carrier
