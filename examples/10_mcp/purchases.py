"""Purchases of spare parts: a planner over the tools of two MCP servers."""

import sys
from pathlib import Path

from pydantic import BaseModel, Field

from soorma_ai import ChoreographyPlanner, EventDefinition, Limits, McpServer

HERE = Path(__file__).parent

RULES = """\
You buy spare parts. Find the part for the machine, then order it at its price. An order asks a person by itself.
If it was rejected, nothing is bought. Complete with the status and one sentence for the customer.
"""


class Need(BaseModel):
    """Request of a workshop."""

    machine: str
    quantity: int = Field(gt=0)


class Purchase(BaseModel):
    """Result of a purchase."""

    status: str = Field(pattern="^(ordered|declined)$")
    message: str


def make_planner() -> ChoreographyPlanner:
    return ChoreographyPlanner(
        "purchases",
        goals=[EventDefinition(event_name="part.needed", payload_schema=Need, response_schema=Purchase)],
        reasoning_model="openai/gpt-4o-mini",
        system_instructions=RULES,
        limits=Limits(max_actions=4),
    )


def make_server(name: str) -> McpServer:
    """Return the agent for a server. Its confirmed tools are in `mcp.trust.json`, by `soorma mcp confirm`."""
    return McpServer(name, [sys.executable, str(HERE / f"{name}.py")], trust=HERE / "mcp.trust.json")


agents = (make_planner(), make_server("catalogue"), make_server("orders"))
