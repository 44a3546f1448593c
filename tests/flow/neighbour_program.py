"""A process with a store of its own and a tool. It kills itself at its first pass of a point: `handler`,
or the name of a function, as in `module:function` or `module:Class.function`, when that has returned.

With `asks` as third argument it has a planner in the place of the tool, submits one goal, and prints its result.
"""

import asyncio
import importlib
import json
import os
import signal
import sys
from functools import wraps
from pathlib import Path
from typing import Any

from soorma_ai import ChoreographyPlanner, InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.testing.scripted import ScriptedReasoner, complete, publish

STRUCK, POINT = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "handler"


def strike() -> None:
    if not STRUCK.exists():
        STRUCK.touch()
        os.kill(os.getpid(), signal.SIGKILL)


def plant(point: str) -> None:
    module, _, path = point.partition(":")
    *owners, name = path.split(".")
    owner: Any = importlib.import_module(module)
    for one in owners:
        owner = getattr(owner, one)
    act = getattr(owner, name)

    @wraps(act)
    async def act_and_strike(*given: Any, **named: Any) -> Any:
        done = await act(*given, **named)
        strike()
        return done

    setattr(owner, name, act_and_strike)


def answer() -> None:
    tool = Tool("stock")

    @tool.on_invoke("inventory.reserve.requested")
    def reserve(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        if POINT == "handler":
            strike()
        return {"reserved": request.data["order_id"]}

    tool.run()


def respond(question: Any) -> Any:
    is_answered = "reserved" in question.messages[-1].content
    return complete({"ok": True}) if is_answered else publish("inventory.reserve.requested", order_id="A")


async def ask() -> None:
    minds = ChoreographyPlanner("orders", goals=["order.received"], reasoner=ScriptedReasoner(respond))
    async with Platform() as platform:
        await platform.start(minds)
        plan = await platform.submit("order.received", {}, idempotency_key="one")
        print(json.dumps(await plan.result(timeout=60)), flush=True)
        await asyncio.Event().wait()


def main() -> None:
    if POINT != "handler":
        plant(POINT)
    if sys.argv[3:4] == ["asks"]:
        asyncio.run(ask())
    else:
        answer()


main()
