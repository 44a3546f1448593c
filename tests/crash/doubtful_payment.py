"""A payment without idempotency keys (a second call is a second payment), and a person asked for its outcome.

The option `says` is the person's answer about a payment without a known end.
"""

import asyncio
from typing import Any

from life import Life, live

from soorma_ai import InvocationContext, Platform, PlatformContext, Tool

PATIENT = 3600.0


async def story(life: Life) -> None:
    bank = Tool("bank", effects=life.options.get("effects", "at_most_once"))

    @bank.on_invoke("payment.charge.requested")
    async def charge(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        call = context.handling.services.clock.new_id()
        life.outside.effect("charge", call, amount=request.data["amount"])
        return {"paid": True}

    async def answer_all(platform: Platform) -> None:
        while True:
            for wait in await platform.waits():
                life.outside.note("asked", reason=wait.reason)
                life.point("answer.before")
                await platform.answer(wait.wait_id, life.options["says"])
            await platform.services.clock.sleep(0.05)

    async with life.platform() as platform:
        await platform.start(bank)
        person = asyncio.create_task(answer_all(platform))
        life.point("request.before")
        reply = await platform.request(
            "payment.charge.requested", {"amount": 5}, timeout=PATIENT, idempotency_key="the payment"
        )
        person.cancel()
        life.outside.note("reply", success=reply["success"])


if __name__ == "__main__":
    live(story)
