"""A client's requests to a tool, a number of them in flight. A unit is `per` requests with their replies."""

import asyncio
from pathlib import Path

from bench.measure import Figures, Lap, main
from bench.rows.agents import ECHO, desk, store_url
from soorma_ai import Platform


async def measure(folder: Path, *, requests: int, in_flight: int, per: int = 1) -> Figures:
    async with Platform(store_url(folder)) as platform:
        await platform.start(desk())
        await ask(platform, in_flight, in_flight)
        with Lap() as lap:
            await ask(platform, requests, in_flight)
    return lap.per(requests / per)


async def ask(platform: Platform, requests: int, in_flight: int) -> None:
    numbers = iter(range(requests))

    async def keep_asking() -> None:
        for _ in numbers:
            reply = await platform.request(ECHO, {"say": "hello"}, timeout=60)
            assert reply["success"], reply

    await asyncio.gather(*(keep_asking() for _ in range(in_flight)))


if __name__ == "__main__":
    main(measure)
