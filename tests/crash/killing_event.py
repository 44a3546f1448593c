"""An event fatal to the process of its handler, with a harmless event in hand at the same time."""

import asyncio
import os
import signal
from typing import Any

from life import Life, live

from soorma_ai import InvocationContext, Platform, PlatformContext, Tool

PATIENT = 3600.0


async def story(life: Life) -> None:
    printer = Tool("printer")

    @printer.on_invoke("label.print.requested")
    async def jam(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        life.outside.note("killed", attempt=request.attempt)
        os.kill(os.getpid(), signal.SIGKILL)
        return {}

    @printer.on_invoke("label.show.requested")
    async def show(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        await asyncio.sleep(0.02)
        return {"shown": True}

    async def ask(platform: Platform, event: str) -> None:
        reply = await platform.request(event, {}, timeout=PATIENT, idempotency_key=event)
        failure = reply.get("error")
        life.outside.note("reply", event=event, code=failure["code"] if isinstance(failure, dict) else "ok")

    async with life.platform() as platform:
        await platform.start(printer)
        await asyncio.gather(*(ask(platform, event) for event in ("label.show.requested", "label.print.requested")))


if __name__ == "__main__":
    live(story)
