"""An owner of a store that is killed while it answers a command: `before` or `after` the command was carried out.

python dying_owner.py before|after
"""

import asyncio
import os
import signal
import sys

import soorma_ai.assembly
from soorma_ai import Platform
from soorma_ai.domain.values import JsonObject
from soorma_ai.runtime.client.commands import carry_out
from soorma_ai.runtime.handling.handling import Services


async def die(services: Services, request: JsonObject) -> JsonObject:
    if sys.argv[1] == "after":
        await carry_out(services, request)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("killed by now")


async def main() -> None:
    soorma_ai.assembly.carry_out = die
    async with Platform(purpose="an application that dies"):
        print("ready", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
