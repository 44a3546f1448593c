"""Durable handled events a second, one at a time and with 64 in flight, beside what this disk commits.

An event is handled when it was claimed on disk, its handler ran, and its reply, its inbox row and its outbox row are
committed (WAL, synchronous=FULL). Here each is a client's request, stored before it is sent, and its reply awaited.
Prints one JSON line.

    python bench/handled_events.py [SECONDS]
"""

import asyncio
import json
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

from soorma_ai import InvocationContext, Platform, PlatformContext, Tool

IN_FLIGHT = 64


def raw_commits(folder: Path, seconds: float) -> float:
    db = sqlite3.connect(folder / "raw.db", isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=FULL")
    db.execute("CREATE TABLE row (id INTEGER PRIMARY KEY, body TEXT)")
    count, begin = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - begin) < seconds:
        db.execute("INSERT INTO row (body) VALUES (?)", ("x" * 400,))
        count += 1
    db.close()
    return count / elapsed


async def handled(folder: Path, in_flight: int, seconds: float) -> float:
    echo = Tool("echo", max_in_flight=in_flight)

    @echo.on_invoke("echo.requested")
    async def answer(request: InvocationContext, context: PlatformContext) -> dict[str, object]:
        return {"said": request.data["say"]}

    count = 0
    async with Platform(f"sqlite:///{folder}/handled-{in_flight}.db") as platform:
        await platform.start(echo)
        begin = time.perf_counter()

        async def keep_asking() -> None:
            nonlocal count
            while time.perf_counter() - begin < seconds:
                await platform.request("echo.requested", {"say": "hello"}, timeout=30)
                count += 1

        await asyncio.gather(*(keep_asking() for _ in range(in_flight)))
        return count / (time.perf_counter() - begin)


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        folder = Path(name)
        result = {
            "bench": "handled_events",
            "per_second_1_in_flight": round(asyncio.run(handled(folder, 1, seconds))),
            f"per_second_{IN_FLIGHT}_in_flight": round(asyncio.run(handled(folder, IN_FLIGHT, seconds))),
            "raw_sqlite_commits_per_second": round(raw_commits(folder, seconds)),
        }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
