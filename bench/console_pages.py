"""The cost of each page of the console among many open questions and plans: CPU, and bytes.

Prints one JSON line: by page, the median milliseconds of CPU for its answer, the client's part included, and its
kilobytes. One plan and one question are real; the others are copies of their rows.

    python -m bench.console_pages                          10,000 questions, 100,000 plans, 500 decisions
    python -m bench.console_pages '{"questions": 10}'      with other sizes: questions, plans, decisions, times
"""

import asyncio
import json
import sqlite3
import sys
import tempfile
from pathlib import Path
from statistics import median

import httpx

from bench.measure import Lap
from bench.rows.agents import count, count_to, counting, desk, store_url
from bench.rows.parked import GOAL, PAY, paying
from soorma_ai import Platform
from soorma_ai.apps.console import Console
from soorma_ai.server import app

SECRET = "of the measurement, and of nothing else"
Cost = dict[str, float]


async def measure(folder: Path, questions: int, plans: int, decisions: int, times: int) -> dict[str, Cost]:
    long, parked, wait_id = await begin(folder, decisions)
    multiply(folder / "ours.db", parked, wait_id, questions - 1, plans - questions)
    async with Platform(store_url(folder)) as platform:
        await platform.start(desk(), *paying(), counting(count_to(decisions)))
        served = app(platform, site=Console(secret=SECRET), rate=None)
        transport = httpx.ASGITransport(served, client=("127.0.0.1", 1))
        pages = {
            "inbox": "/inbox",
            "the middle of the inbox": f"/inbox?after=wait-{questions // 2}",
            "question": f"/inbox/{wait_id}",
            "plans": "/plans",
            "paused plans": "/plans?status=paused",
            "plans by words": "/plans?search=nothing+has+this+name",
            "plan": f"/plans/{parked}",
            f"plan of {decisions} decisions": f"/plans/{long}",
            "its first steps": f"/plans/{long}?step=0",
            "a decision of it": f"/plans/{long}/decisions/{decisions}",
            "agents": "/agents",
            "dead letters": "/dead-letters",
            "in doubt": "/doubts",
            "choreography": "/choreography",
        }
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return {name: await cost_of(client, path, times) for name, path in pages.items()}


async def cost_of(client: httpx.AsyncClient, path: str, times: int) -> Cost:
    spent: list[float] = []
    size = 0
    for _ in range(times + 1):  # the first one compiles templates, and is not counted
        with Lap() as lap:
            answer = await client.get(path)
        if answer.status_code != httpx.codes.OK.value:
            raise RuntimeError(f"{path} answered {answer.status_code}: {answer.text[-300:]}")
        spent.append(lap.cpu * 1000)
        size = len(answer.content)
    return {"cpu_ms": round(median(spent[1:]), 1), "kb": round(size / 1024, 1)}


async def begin(folder: Path, decisions: int) -> tuple[str, str, str]:
    """Return a plan with this number of decisions, a plan waiting for an approval, and its question."""
    async with Platform(store_url(folder)) as platform:
        await platform.start(desk(), *paying(), counting(count_to(decisions)))
        await count(platform, "long")
        (long,) = await platform.plans()
        parked = await platform.submit(GOAL, {"bill": 7})
        wait = await parked.next_wait()
        if wait is None:
            raise RuntimeError(f"plan {parked.plan_id} asks nobody about {PAY}")
        return long.plan_id, parked.plan_id, wait.wait_id


def multiply(file: Path, plan_id: str, wait_id: str, waiting: int, others: int) -> None:
    """Copy a plan with its question this often, and as an ended plan."""
    with sqlite3.connect(file) as db:
        for table, key, copies in (
            ("plan", "plan_id = :plan", waiting + others),
            ("budget", "root_plan_id = :plan", waiting + others),
            ("expectation", "id = :wait", waiting),
        ):
            columns = [str(name) for _, name, *_ in db.execute(f"PRAGMA table_info({table})") if name != "seq"]
            values = ", ".join(f"replace(replace({name}, :plan, :to_plan), :wait, :to_wait)" for name in columns)
            copy = f"INSERT INTO {table} ({', '.join(columns)}) SELECT {values} FROM {table} WHERE {key}"
            source = {"plan": plan_id, "wait": wait_id}
            db.executemany(
                copy, ({**source, "to_plan": f"plan-{n:034}", "to_wait": f"wait-{n}"} for n in range(copies))
            )
        ended = f"plan-{waiting:034}"
        db.execute("UPDATE plan SET status = 'completed' WHERE plan_id GLOB 'plan-0*' AND plan_id >= ?", (ended,))


def main() -> None:
    sizes = {
        "questions": 10_000,
        "plans": 100_000,
        "decisions": 500,
        "times": 5,
        **json.loads((sys.argv[1:] or ["{}"])[0]),
    }
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps({**sizes, "pages": asyncio.run(measure(Path(folder), **sizes))}))


if __name__ == "__main__":
    main()
