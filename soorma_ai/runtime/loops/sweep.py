"""No plan hangs silently: what nothing would ever move again is found, reported and set going."""

from soorma_ai.errors import TransientError
from soorma_ai.runtime.handling.handling import Services
from soorma_ai.runtime.handling.logs import warn

EVERY_SECONDS = 60.0


async def keep_sweeping(services: Services) -> None:
    while True:
        try:
            await sweep(services)
        except TransientError as error:
            warn("sweep_failed", reason=error)
        await services.clock.sleep(EVERY_SECONDS)


async def sweep(services: Services) -> None:
    swept = await services.store.sweep(services.clock.now())
    if swept.sent_again:
        warn("events_sent_again", count=swept.sent_again, reason="the bus took them, and they did not arrive")
    if swept.unblocked:
        warn("deliveries_unblocked", count=swept.unblocked, reason="they stood in line behind nothing")
        services.signals.wake_agents()
    for plan_id in swept.stranded:
        warn("plan_stranded", plan_id=plan_id, reason="nothing was coming for it; it is handled again")
