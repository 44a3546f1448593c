"""DBOS does the same work: a workflow with two steps, a decision and a call, for a step; on a PostgreSQL server."""

import asyncio
import json
import sys

from dbos import DBOS

from bench.measure import Lap


@DBOS.step()
async def decide(number: int, steps: int) -> str:
    return "double" if number < steps else "complete"


@DBOS.step()
async def double(number: int) -> dict[str, int]:
    return {"n": number, "v": 2 * number}


@DBOS.workflow()
async def count(steps: int) -> int:
    found = 0
    while await decide(found, steps) == "double":
        found = (await double(found + 1))["n"]
    return found


async def work(plans: int, steps: int, in_flight: int) -> None:
    assert await count(steps) == steps
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    numbers = iter(range(plans))

    async def keep_on() -> None:
        for _ in numbers:
            await count(steps)

    with Lap() as lap:
        await asyncio.gather(*(keep_on() for _ in range(in_flight)))
    print(json.dumps(lap.per(plans * steps)))


if __name__ == "__main__":
    url, *sizes = sys.argv[1:]
    DBOS(config={"name": "bench", "system_database_url": url, "run_admin_server": False, "log_level": "ERROR"})
    DBOS.launch()
    asyncio.run(work(*map(int, sizes)))
    DBOS.destroy()
