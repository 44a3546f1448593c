"""An MCP server on the official package, for tests: `mcp_program.py FOLDER [PORT]`.

Each call is a line of FOLDER/calls. FOLDER/description, if it is there, is the description of `pay`. FOLDER/mode makes
calls of `pay` end badly.
"""

import asyncio
import os
import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

FOLDER = Path(sys.argv[1])
server = MCPServer("till")


def said(name: str, otherwise: str) -> str:
    path = FOLDER / name
    return path.read_text() if path.exists() else otherwise


def write_down(call: str) -> None:
    with (FOLDER / "calls").open("a") as calls:
        calls.write(f"{call}\n")


write_down("start")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def balance(account: str) -> dict[str, int]:
    """Tells the balance of an account."""
    write_down(f"balance {account}")
    return {"balance": 7}


@server.tool(annotations=ToolAnnotations(destructive_hint=False))
async def note(text: str) -> str:
    """Writes a note."""
    write_down(f"note {text}")
    return f"noted {text}"


@server.tool(description=said("description", "Pays an amount."))
async def pay(amount: int) -> dict[str, int]:
    write_down(f"pay {amount}")
    match said("mode", ""):
        case "die":
            os._exit(1)
        case "stall":
            await asyncio.Event().wait()
        case "fail":
            raise ToolError("no money")
    return {"paid": amount}


if len(sys.argv) > 2:
    server.run("streamable-http", port=int(sys.argv[2]))
else:
    if said("mode", "") == "mute":
        sys.stdin.read()
    server.run()
