"""An MCP server with the orders of the maker. An order costs money, and cannot be taken back."""

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
from pydantic import BaseModel

server = MCPServer("orders", log_level="WARNING")


class Receipt(BaseModel):
    receipt: str
    total: int


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
async def place_order(number: str, quantity: int, price: int) -> Receipt:
    """Order spare parts by the part's number, at its price in dollars."""
    return Receipt(receipt=f"receipt-{number}", total=quantity * price)


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def delivery_days(number: str) -> dict[str, int]:
    """Tell the days until the delivery of a part."""
    return {"days": 3}


server.run()
