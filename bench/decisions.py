"""Cost of a decision among N events: tokens of its request, and the time from a goal to its result.

A plan publishes nothing and completes with its first decision, given by a script, so only our own work is measured.
The events have ten fields, like requests of real agents; half of a request is their schemas. Four characters count as
one token. `same` is the share of the second decision's request equal, byte for byte, to the beginning of the first
one's: a provider need not read it again. `shared` is the share of a first decision's request equal to the beginning of
another plan's, of the same planner with another goal: schema, system, user. `over_http_ms` is the time from the goal to
its result with the decision of a server on this machine, in OpenAI's wire format. Prints one JSON line.

    python bench/decisions.py [EVENTS ...]
"""

import asyncio
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from soorma_ai import ChoreographyPlanner, InvocationContext, Limits, Platform, PlatformContext, Tool
from soorma_ai.kernel.ports import ModelQuestion
from soorma_ai.testing.model_server import ModelServer, Reply
from soorma_ai.testing.scripted import ScriptedReasoner, complete, publish

WORDS = ("order", "invoice", "parcel", "room", "ticket", "flight", "account", "contract", "sensor", "report", "song")
DEEDS = ("create", "cancel", "find", "list", "move", "count", "check", "print", "send", "open", "close", "merge")
ROUNDS = 20


def tools(count: int) -> list[Tool]:
    async def answer(request: InvocationContext, context: PlatformContext) -> dict[str, object]:
        return {"done": True}

    made = [Tool(f"desk-{number}") for number in range(min(count, 10))]
    for number in range(count):
        thing, deed = WORDS[number % len(WORDS)], DEEDS[number // len(WORDS) % len(DEEDS)]
        fields = {f"{thing}_{n}": {"type": "string", "description": f"Part {n} of it."} for n in range(10)}
        schema: Any = {"type": "object", "properties": fields, "required": [*fields][:7], "additionalProperties": False}
        words = f"Use this to {deed} a {thing} of branch {number}; tells what came of it."
        made[number % len(made)].on_invoke(f"{thing}.{deed}.{number}", description=words, payload_schema=schema)(answer)
    return made


def spell_request(question: ModelQuestion) -> list[str]:
    """Return a request in a provider's order of reading."""
    schema = json.dumps(question.schema, separators=(",", ":"))
    return [schema, *(message.content for message in question.messages)]


def alike(one: str, other: str) -> int:
    """Return the length of their common beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


async def measure(folder: Path, count: int) -> dict[str, object]:
    thing: Any = {f"{WORDS[0]}_{n}": "x" for n in range(10)}
    asked = publish(f"{WORDS[0]}.{DEEDS[0]}.0", data=thing)
    models = [ScriptedReasoner([complete({})] * (ROUNDS + 1)), ScriptedReasoner([asked, complete({}), complete({})])]
    planners = [
        ChoreographyPlanner(f"planner-{n}", goals=[f"goal.{n}"], reasoner=model, limits=Limits(max_tokens=None))
        for n, model in enumerate(models)
    ]
    took: list[float] = []
    async with Platform(f"sqlite:///{folder}/{count}.db") as platform:
        await platform.start(*tools(count), *planners)
        for _ in range(ROUNDS + 1):
            begin = time.perf_counter()
            await (await platform.submit("goal.0", {"order": "Please create the order of branch 0"})).result(timeout=60)
            took.append(1000 * (time.perf_counter() - begin))
        await (await platform.submit("goal.1", {"order": "Please create the order of branch 0"})).result(timeout=60)
        await (await platform.submit("goal.1", {"order": "Cancel the flight of branch 17"})).result(timeout=60)
    over_http = await measure_over_http(folder, count)
    first, second, other = (spell_request(question) for question in models[1].questions)
    whole = sum(map(len, second))
    same = sum(alike(one, other) for one, other in zip(first, second, strict=True))
    return {
        "tokens": whole // 4,
        "same": round(same / whole, 3),
        "shared": round(alike("".join(first), "".join(other)) / len("".join(other)), 3),
        "first_ms": round(took[0], 1),
        "goal_to_result_ms": round(statistics.median(took[1:]), 1),
        "over_http_ms": round(over_http, 1),
    }


async def measure_over_http(folder: Path, count: int) -> float:
    """Return the milliseconds from a goal to its result, the median of ROUNDS after the first."""
    said = Reply(json.dumps(complete({})))
    took: list[float] = []
    with ModelServer(lambda _: said) as server:
        planner = ChoreographyPlanner(
            "planner", goals=["goal"], reasoning_model="openai/gpt-4o-mini", api_base=server.url, api_key="none"
        )
        async with Platform(f"sqlite:///{folder}/http-{count}.db") as platform:
            await platform.start(*tools(count), planner)
            for _ in range(ROUNDS + 1):
                begin = time.perf_counter()
                await (await platform.submit("goal", {"order": "Create the order of branch 0"})).result(timeout=60)
                took.append(1000 * (time.perf_counter() - begin))
    return statistics.median(took[1:])


def main() -> None:
    counts = [int(given) for given in sys.argv[1:]] or [10, 43, 50, 200, 2_000, 10_000]
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        found = {str(count): asyncio.run(measure(Path(name), count)) for count in counts}
    print(json.dumps({"bench": "decisions", "events": found}))


if __name__ == "__main__":
    main()
