"""Time limit of a client's call, which holds while the store does not answer, too."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from soorma_ai.errors import DeadlineExceeded
from soorma_ai.kernel.ports import Clock

# Seconds after its timeout by which a call says by itself what it waited for.
GRACE = 0.5


@asynccontextmanager
async def within(clock: Clock, seconds: float | None, subject: str) -> AsyncGenerator[None]:
    """End the block so many seconds after it began; None: never. Raise DeadlineExceeded then."""
    if seconds is None:
        yield
        return
    loop = asyncio.get_running_loop()
    limit = asyncio.timeout(None)
    forget = clock.call_later(seconds + GRACE, lambda: limit.reschedule(loop.time()))
    try:
        async with limit:
            yield
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise DeadlineExceeded(
            f"the store did not answer within {seconds:g} s, which {subject} may take: look whether its database is "
            "there; the same idempotency_key finds what was taken"
        ) from error
    finally:
        forget()
