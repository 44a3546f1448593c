"""A planner with its model at MODEL_URL, and a tool for payments."""

import os
from pathlib import Path
from typing import Any

from soorma_ai import ChoreographyPlanner, InvocationContext, PlatformContext, Tool

AMOUNT = {"type": "object", "properties": {"amount": {"type": "number"}}, "required": ["amount"]}
tool = Tool("payments")


@tool.on_invoke("payment.refund.requested", payload_schema=AMOUNT)
async def refund(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
    _write_down()
    return {"refunded": request.data["amount"]}


def _write_down() -> None:
    with Path(os.environ["PAID"]).open("a", encoding="utf-8") as paid:
        paid.write("paid\n")


agents = [
    tool,
    ChoreographyPlanner(
        "refunds", goals=["refund.wanted"], reasoning_model="openai/gpt-4o", api_base=os.environ.get("MODEL_URL")
    ),
]
