"""A process without any feature. Its planner asks a tool; the tool's first call kills the process.

python tests/flow/extensions_program.py FILE first|again
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from soorma_ai import ChoreographyPlanner, InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.adapters.sqlite.store import SqliteStore
from soorma_ai.testing.scripted import ScriptedReasoner, complete, publish

FILE, LIFE = Path(sys.argv[1]), sys.argv[2]


def respond(question: Any) -> Any:
    came = "The goal came" in question.messages[-1].content
    return publish("thing.do", number=1) if came else complete({"ok": True})


async def main() -> None:
    minds, hands = ChoreographyPlanner("minds", goals=["work.given"], reasoner=ScriptedReasoner(respond)), Tool("hands")

    @hands.on_invoke("thing.do")
    async def do(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        if LIFE == "first":
            os.kill(os.getpid(), signal.SIGKILL)
        return {"done": True}

    async with Platform(store=SqliteStore(FILE)) as platform:
        await platform.start(minds, hands)
        plan = await platform.submit("work.given", {}, idempotency_key="one")
        result = await plan.result(timeout=60)
        print(json.dumps({"result": result, "plans": len(await platform.plans())}))


asyncio.run(main())
