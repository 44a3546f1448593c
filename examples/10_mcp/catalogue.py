"""An MCP server with the catalogue of a maker of spare parts."""

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import BaseModel

server = MCPServer("catalogue", log_level="WARNING")


class Part(BaseModel):
    number: str
    name: str
    price: int


PARTS = {
    "kettle": Part(number="K7", name="lid of a kettle", price=9),
    "lathe": Part(number="L2", name="spindle of a lathe", price=480),
}


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def find_part(machine: str) -> Part:
    """Find the spare part for a machine, with its price in dollars."""
    part = PARTS.get(machine)
    if part is None:
        raise ToolError(f"there is no part for {machine}")
    return part


server.run()
