"""A shop whose orders come over HTTP: a planner with a state machine, a stock, and a till that a manager watches.

soorma serve agents:agents --role manager        then, in another shell:
sh order.sh http://127.0.0.1:8700
"""

from decimal import Decimal

from pydantic import BaseModel, Field

from soorma_ai import (
    Approval,
    InvocationContext,
    Planner,
    PlatformContext,
    StateAction,
    StateConfig,
    StateTransition,
    Tool,
)


class Item(BaseModel):
    order_id: str
    sku: str


class Reserved(BaseModel):
    reservation: str


class Payment(BaseModel):
    order_id: str
    amount: Decimal = Field(gt=0, description="US dollars")


class Paid(BaseModel):
    receipt: str


class Order(BaseModel):
    order_id: str
    sku: str
    amount: Decimal = Field(gt=0, description="US dollars")


def asking(name: str, event: str, data: dict[str, str], then: str) -> StateConfig:
    """A state that asks an agent, and goes on with its answer."""
    answer = f"{event}.completed"
    return StateConfig(
        state_name=name,
        action=StateAction(event_type=event, response_event=answer, data=data),
        transitions=(
            StateTransition(on_event=answer, to_state=then),
            StateTransition(on_event=f"{event}.failed", to_state="refused"),
        ),
    )


STATES = (
    StateConfig(state_name="start", default_next="reserving"),
    asking(
        "reserving",
        "inventory.reserve.requested",
        {"order_id": "{goal_data.order_id}", "sku": "{goal_data.sku}"},
        "paying",
    ),
    asking(
        "paying",
        "payment.charge.requested",
        {"order_id": "{goal_data.order_id}", "amount": "{goal_data.amount}"},
        "shipped",
    ),
    StateConfig(state_name="shipped", is_terminal=True, result="{results.paying}"),
    StateConfig(state_name="refused", description="the order was refused", is_terminal=True),
)

orders = Planner("orders")
stock, till = Tool("stock"), Tool("till")


@orders.on_goal("order.received", payload_schema=Order, state_machine={state.state_name: state for state in STATES})
async def begin(goal: object, context: PlatformContext) -> None:
    """The machine says it all."""


@stock.on_invoke("inventory.reserve.requested", description="Set goods aside for an order.")
async def reserve(request: InvocationContext[Item], context: PlatformContext) -> Reserved:
    return Reserved(reservation=f"R-{request.data.order_id}")


@till.on_invoke(
    "payment.charge.requested",
    description="Charge the customer.",
    approval=Approval(when="payload.amount > 5000.0", approvers=("manager",)),
)
async def charge(request: InvocationContext[Payment], context: PlatformContext) -> Paid:
    return Paid(receipt=f"receipt-{request.data.order_id}")


agents = (orders, stock, till)
# Where the stock is a process of its own; see stock.py.
beside = (orders, till)
