"""Agents for the measured work, with a scripted model."""

import re
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from soorma_ai import ChoreographyPlanner, InvocationContext, Limits, Platform, PlatformContext, Reasoner, Tool
from soorma_ai.kernel.ports import ModelQuestion
from soorma_ai.testing.scripted import Item, ScriptedReasoner, complete, publish

GOAL, DOUBLE, ECHO = "count.wanted", "double.requested", "echo.requested"
INSTRUCTIONS = "Double the numbers from 1 on, one after the other, then say how many there were."
# All limits are checked, at a height beyond every measured plan.
HIGH = Limits(
    max_actions=100_000,
    max_llm_calls=100_000,
    max_tokens=1_000_000_000,
    max_cost_usd=1_000_000.0,
    deadline=timedelta(days=7),
    max_parallel=1_000,
)
IN_MEMORY = "sqlite:///:memory:"
_MARK = re.compile(r'"mark": ?"([^"]+)"')


def store_url(folder: Path, kept: str = "file") -> str:
    """Return the URL of a store in a folder, created if it is missing."""
    folder.mkdir(exist_ok=True)
    return IN_MEMORY if kept == "memory" else f"sqlite:///{folder}/ours.db"


def fields(**types: str) -> Any:
    """Return the JSON Schema of an object with just these fields, all required."""
    properties = {name: {"type": type} for name, type in types.items()}
    return {"type": "object", "properties": properties, "required": [*types], "additionalProperties": False}


def desk(answer_bytes: int = 0) -> Tool:
    """Return a tool to double numbers, with a text of this size beside each, and an echo of its request."""
    tool = Tool("desk", "Doubles numbers.")
    given, gives = fields(n="integer"), fields(n="integer", v="integer", text="string")

    @tool.on_invoke(DOUBLE, description="Double a number.", payload_schema=given, response_schema=gives)
    async def double(request: InvocationContext, context: PlatformContext) -> dict[str, object]:
        number = request.data["n"]
        return {"n": number, "v": 2 * number, "text": f"{number:04}" * (answer_bytes // 4)}

    say = fields(say="string")

    @tool.on_invoke(ECHO, description="Say it again.", payload_schema=say, response_schema=say)
    async def echo(request: InvocationContext, context: PlatformContext) -> dict[str, object]:
        return {"say": request.data["say"]}

    return tool


def counting(reasoner: Reasoner, name: str = "counter") -> ChoreographyPlanner:
    return ChoreographyPlanner(
        name, goals=[GOAL], reasoner=reasoner, limits=HIGH, max_in_flight=64, system_instructions=INSTRUCTIONS
    )


def count_to(steps: int, at_step: Callable[[int, ModelQuestion], None] | None = None) -> ScriptedReasoner:
    """Return a model that doubles the numbers from 1 to `steps`, for any number of plans at once.

    A plan is known by the mark in its goal. `at_step` gets the next number, and its question.
    """
    asked: Counter[str] = Counter()

    def decide(question: ModelQuestion) -> Item:
        # A test double's record of questions is useless here, and would count as memory of ours.
        model.questions.clear()
        found = _MARK.search(question.messages[-1].content)
        mark = found[1] if found else ""
        asked[mark] += 1
        number = asked[mark]
        if at_step is not None:
            at_step(number, question)
        if number <= steps:
            return publish(DOUBLE, n=number)
        del asked[mark]
        return complete({"doubled": steps})

    model = ScriptedReasoner(decide)
    return model


async def count(platform: Platform, mark: object) -> None:
    """Take one plan from its goal to its end."""
    plan = await platform.submit(GOAL, {"mark": str(mark)})
    await plan.result(timeout=600)
