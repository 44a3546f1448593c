"""A process with a store of its own and a tool, which kills itself the first time that it comes to a point: `handler`,
or the name of a function, as in `module:function` or `module:Class.function`, when that has returned."""

import importlib
import os
import signal
import sys
from functools import wraps
from pathlib import Path
from typing import Any

from soorma_ai import InvocationContext, PlatformContext, Tool

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


def main() -> None:
    tool = Tool("stock")

    @tool.on_invoke("inventory.reserve.requested")
    def reserve(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        if POINT == "handler":
            strike()
        return {"reserved": request.data["order_id"]}

    if POINT != "handler":
        plant(POINT)
    tool.run()


main()
