"""A process with a store of its own and a tool, which kills itself the first time that it is asked."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from soorma_ai import InvocationContext, PlatformContext, Tool

ASKED = Path(sys.argv[1])


def main() -> None:
    tool = Tool("stock")

    @tool.on_invoke("inventory.reserve.requested")
    def reserve(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        if not ASKED.exists():
            ASKED.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return {"reserved": request.data["order_id"]}

    tool.run()


main()
