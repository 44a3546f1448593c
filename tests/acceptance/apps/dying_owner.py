"""An owner of a store, killed during a command: `before` or `after` its effect.

python dying_owner.py before|after
"""

import asyncio
import os
import signal
import sys

from starlette.requests import Request
from starlette.types import ASGIApp

import soorma_ai.api.server.local
from soorma_ai import Platform
from soorma_ai.api.operation import Operation
from soorma_ai.api.server.application import Dispatcher


class DyingDesk(Dispatcher):
    async def respond(self, operation: Operation, request: Request) -> ASGIApp:
        if sys.argv[1] == "after":
            await super().respond(operation, request)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("killed by now")


async def main() -> None:
    soorma_ai.api.server.local.Dispatcher = DyingDesk
    async with Platform(purpose="an application that dies"):
        print("ready", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
