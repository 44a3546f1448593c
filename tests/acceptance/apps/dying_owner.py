"""An owner of a store that is killed while it answers a command: `before` or `after` the command was carried out.

python dying_owner.py before|after
"""

import asyncio
import os
import signal
import sys

from soorma_ai import Platform
from soorma_ai.domain.values import JsonObject


class DyingPlatform(Platform):
    async def _obey(self, request: JsonObject) -> JsonObject:
        if sys.argv[1] == "after":
            await super()._obey(request)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("killed by now")


async def main() -> None:
    async with DyingPlatform(purpose="an application that dies"):
        print("ready", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
