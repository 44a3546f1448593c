"""The minimal loop with a model: the same requests, each sent, its answer read, its tool called, a row committed.

Nothing is checked, and nothing survives a kill. The requests are recordings of a plan of ours.
"""

import json
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx

from bench.measure import Figures, Lap, main
from bench.rows.agents import count, count_to, counting, desk, store_url
from bench.rows.model import MODEL, PRICE, running
from soorma_ai import Platform
from soorma_ai.adapters.models import LiteLLMReasoner
from soorma_ai.kernel.domain.values import Json, JsonObject
from soorma_ai.kernel.ports import ModelQuestion
from soorma_ai.testing.model_server import ModelServer, Reply
from soorma_ai.testing.scripted import complete

Ask = Callable[[int], Awaitable[Any]]


async def measure(folder: Path, *, by: str, plans: int, steps: int) -> Figures:
    """`by` is "httpx", with the bodies unchanged, or "adapter", with bodies made by our planner's adapter. A unit is a
    step; a plan has one more request than steps."""
    questions = await record_questions(folder, steps)
    with running(steps) as url:
        reasoner = LiteLLMReasoner(MODEL, api_base=url, api_key="none", price=PRICE)
        if by == "adapter":

            async def ask_adapter(number: int) -> Json:
                return (await reasoner.ask(questions[number])).value

            return await walk(folder, ask_adapter, plans, len(questions))
        bodies = await record_bodies(questions)
        async with httpx.AsyncClient() as client:

            async def ask_httpx(number: int) -> Json:
                answer = await client.post(f"{url}/chat/completions", json=bodies[number])
                found: Json = json.loads(answer.json()["choices"][0]["message"]["content"])
                return found

            return await walk(folder, ask_httpx, plans, len(questions))


async def record_questions(folder: Path, steps: int) -> list[ModelQuestion]:
    """Return the questions of a plan with this number of steps, up to its last one."""
    asked: list[ModelQuestion] = []
    reasoner = count_to(steps, lambda _, question: asked.append(question))
    async with Platform(store_url(folder, "memory")) as platform:
        await platform.start(desk(), counting(reasoner))
        await count(platform, 0)
    return asked


async def record_bodies(questions: list[ModelQuestion]) -> list[JsonObject]:
    with ModelServer(lambda _: Reply(json.dumps(complete()))) as server:
        reasoner = LiteLLMReasoner(MODEL, api_base=server.url, api_key="none", price=PRICE)
        for question in questions:
            await reasoner.ask(question)
        return list(server.requests)


async def walk(folder: Path, ask: Ask, plans: int, questions: int) -> Figures:
    db = sqlite3.connect(folder / "loop.db", isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("CREATE TABLE step (seq INTEGER PRIMARY KEY, plan INTEGER, said TEXT, result TEXT)")

    async def step(plan: int, number: int) -> None:
        said = await ask(number)
        number_asked = said["step"].get("data", {}).get("n", 0)
        result = json.dumps({"n": number_asked, "v": 2 * number_asked})
        db.execute("INSERT INTO step (plan, said, result) VALUES (?, ?, ?)", (plan, json.dumps(said), result))

    for number in range(questions):
        await step(-1, number)
    with Lap() as lap:
        for plan in range(plans):
            for number in range(questions):
                await step(plan, number)
    db.close()
    return lap.per(plans * (questions - 1))


if __name__ == "__main__":
    main(measure)
