"""A process with handlers deaf to cancellation."""

import asyncio
import logging
import threading
from contextlib import suppress

from soorma_ai import InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.kernel.runtime.loops import supervisor

supervisor.DRAIN_SECONDS = 0.1

began = threading.Semaphore(0)
tool = Tool("stubborn")


@tool.on_invoke("swallow.requested")
async def swallow(request: InvocationContext, context: PlatformContext) -> None:
    began.release()
    while True:
        with suppress(BaseException):
            await asyncio.sleep(60)


@tool.on_invoke("never.requested")
def never(request: InvocationContext, context: PlatformContext) -> None:
    began.release()
    threading.Event().wait()


async def main() -> None:
    async with Platform("sqlite://") as platform:
        await platform.start(tool)
        for event in ("swallow.requested", "never.requested"):
            await platform.publish("action-requests", event, {})
        for _ in range(2):
            await asyncio.to_thread(began.acquire)


logging.basicConfig()
asyncio.run(main())
print("ended")
