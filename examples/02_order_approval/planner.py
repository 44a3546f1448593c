"""The planner that takes an order through the shop."""

from decimal import Decimal
from typing import Any

from pydantic import BaseModel, Field

from soorma_ai import ChoreographyPlanner, EventDefinition, Limits, Reasoner

RULES = """\
You fulfil orders of a shop. Reserve the goods, then charge the customer, then ship, in this order.
Whether a payment needs an approval is not yours to decide: publish it, and it will be held if it must be.
If the payment is rejected, or nobody approves it in time, release the reservation and complete with status "rejected".
Ship orders over $5,000 express. Complete with the order id, the status, and what the customer should know.
"""

ORDER_RESULT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string"},
        "status": {"enum": ["shipped", "rejected"]},
        "message": {"type": "string"},
    },
    "required": ["order_id", "status", "message"],
    "additionalProperties": False,
}


class Order(BaseModel):
    order_id: str
    sku: str
    quantity: int = Field(ge=1)
    amount: Decimal = Field(gt=0, description="US dollars")


def order_planner(reasoner: Reasoner | None = None) -> ChoreographyPlanner:
    """Return the planner. A given reasoner decides in place of the model."""
    return ChoreographyPlanner(
        "orders",
        goals=[
            EventDefinition(
                event_name="order.received",
                description="Fulfil an order.",
                payload_schema=Order,
                response_schema=ORDER_RESULT,
            )
        ],
        reasoning_model=None if reasoner else "openai/gpt-4o-mini",
        reasoner=reasoner,
        system_instructions=RULES,
        limits=Limits(max_actions=6),
    )
