"""One life of a platform with a call of an MCP server: `mcp_life.py FOLDER COMMAND...` ends with a line about its
outcome. A second life goes on with the call of the first."""

import asyncio
import os
import sys
from datetime import timedelta
from pathlib import Path

from soorma_ai import DeadlineExceeded, McpServer, Platform

FOLDER = Path(sys.argv[1])
(FOLDER / "pid").write_text(str(os.getpid()))


async def outcome() -> str:
    where = sys.argv[2] if sys.argv[2].startswith("http") else sys.argv[2:]
    server = McpServer("till", where, trust=FOLDER / "mcp.trust.json", timeout=timedelta(seconds=60))
    async with Platform(f"sqlite:///{FOLDER / 'mcp.db'}") as platform:
        await platform.start(server)
        request = await platform.ask("till.note", {"text": "hi"}, idempotency_key="once")
        while True:
            if asked := await platform.waits():
                return asked[0].reason
            try:
                reply = await platform.reply(request, timeout=0.1)
            except DeadlineExceeded:
                continue
            return "done" if reply["success"] else str(reply["error"])


print(asyncio.run(outcome()))
