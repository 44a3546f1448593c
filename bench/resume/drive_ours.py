"""Our program: a planner drafts, asks a person for an amount, and pays it.

python -m bench.resume.drive_ours STORE LEDGER begin|answer|recover|fork|story RUN ...
"""

import asyncio
import re
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bench.resume.ledger import DRAFT, PAY, act, drive, wait_for_start
from soorma_ai import (
    ChoreographyPlanner,
    EventDefinition,
    EventTopic,
    InvocationContext,
    Platform,
    PlatformContext,
    Tool,
)
from soorma_ai.adapters.single_writer.lock import owner_of
from soorma_ai.clients.owner import ask_owner
from soorma_ai.errors import SoormaError
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.states import HUMAN_INPUT
from soorma_ai.kernel.ports import ModelQuestion
from soorma_ai.testing.scripted import Item, ScriptedReasoner, complete, publish, wait

GOAL, DRAFTED, PAID, ANSWERED = "refund.wanted", "draft.requested", "pay.requested", "amount.given"
PATIENCE = 30.0
_RUN = re.compile(r'"run": ?"([^"]+)"')
_AMOUNT = re.compile(r'"amount": ?(\d+)')


def decide(question: ModelQuestion) -> Item:
    """Decide by the history in the prompt alone, as a model does."""
    text = question.messages[-1].content
    run = _RUN.findall(text)[0]
    amounts = _AMOUNT.findall(text)
    if "drafted for" not in text:
        return publish(DRAFTED, run=run)
    if not amounts:
        return wait(ANSWERED, "How much?")
    if "paid for" not in text:
        return publish(PAID, run=run, amount=int(amounts[-1]))
    return complete({"paid": int(amounts[-1])})


def agents(ledger: Path) -> tuple[ChoreographyPlanner, Tool]:
    given = EventDefinition(event_name=ANSWERED, topic=EventTopic.BUSINESS_FACTS, payload_schema=_fields("amount"))
    planner = ChoreographyPlanner("refunds", goals=[GOAL], reasoner=ScriptedReasoner(decide), external_events=[given])
    tool = Tool("desk", "Drafts and pays.")

    @tool.on_invoke(DRAFTED, payload_schema=_fields(run="string"))
    async def draft(request: InvocationContext, context: PlatformContext) -> dict[str, str]:
        act(ledger, DRAFT, request.data["run"], request.request_id)
        return {"text": f"drafted for {request.data['run']}"}

    @tool.on_invoke(PAID, payload_schema=_fields("amount", run="string"))
    async def pay(request: InvocationContext, context: PlatformContext) -> dict[str, str]:
        act(ledger, PAY, request.data["run"], request.request_id, request.data["amount"])
        return {"text": f"paid for {request.data['run']}"}

    return planner, tool


def _fields(*numbers: str, **types: str) -> dict[str, Any]:
    found = {**{name: {"type": "integer"} for name in numbers}, **{name: {"type": one} for name, one in types.items()}}
    return {"type": "object", "properties": found, "required": [*found], "additionalProperties": False}


class Ours:
    """The verbs of one process. Beside the owner of a file it asks the owner."""

    def __init__(self, store: str, ledger: Path) -> None:
        self._store = store
        self._ledger = ledger

    @asynccontextmanager
    async def _platform(self) -> AsyncGenerator[Platform]:
        async with Platform(self._store) as platform:
            await platform.start(*agents(self._ledger))
            yield platform

    async def begin(self, run: str) -> dict[str, object]:
        async with self._platform() as platform:
            return await _go_on(platform, run)

    recover = story = begin

    async def answer(self, run: str, amount: str, racers: str) -> dict[str, object]:
        given = {"amount": int(amount)}
        owner = owner_of(Path(self._store.removeprefix("sqlite:///"))) if "sqlite" in self._store else None
        if owner is not None:
            return await ask_owner(
                owner.socket, Person(), lambda client: _race(client, run, given, int(racers)), timeout=PATIENCE
            )
        async with self._platform() as platform:
            told = await _race(platform, run, given, int(racers))
            return told | await _go_on(platform, run)

    async def fork(self, run: str, amount: str) -> dict[str, object]:
        async with self._platform() as platform:
            plan = await platform.submit(GOAL, {"run": run}, idempotency_key=run)
            fork = await platform.fork(plan.plan_id, 2, act=True)
            handle = await platform.follow(fork.plan_id)
            while (asked := await handle.next_wait()) is not None:
                is_gate = asked.proposed_event is not None
                await platform.answer(asked.wait_id, {"approved": True} if is_gate else {"amount": int(amount)})
            return {"result": await handle.result(timeout=PATIENCE)}


async def _go_on(platform: Platform, run: str) -> dict[str, object]:
    """Wait for the question or the end of a run, begun where it is new."""
    plan = await platform.submit(GOAL, {"run": run}, idempotency_key=run)
    asked = await asyncio.wait_for(plan.next_wait(), PATIENCE)
    return {"waits": asked.wait_id} if asked else {"result": await plan.result(timeout=PATIENCE)}


async def _race(client: Any, run: str, given: dict[str, int], racers: int) -> dict[str, object]:
    """Give so many answers at once to the first question of a run."""
    plan = await client.submit(GOAL, {"run": run}, idempotency_key=run)
    page = await client.events(plan_id=plan.plan_id)
    wait_id = next(one.event.data["wait_id"] for one in page.events if one.event.type == HUMAN_INPUT)
    await asyncio.to_thread(wait_for_start)

    async def answer() -> str:
        try:
            return str(await client.answer(wait_id, given))
        except SoormaError as error:
            return type(error).__name__

    return {"told": sorted(await asyncio.gather(*(answer() for _ in range(racers))))}


if __name__ == "__main__":
    store, ledger, *words = sys.argv[1:]
    ours = Ours(store, Path(ledger))
    verbs: dict[str, Callable[..., Awaitable[dict[str, object]]]] = {
        "begin": ours.begin,
        "recover": ours.recover,
        "story": ours.story,
        "answer": ours.answer,
        "fork": ours.fork,
    }
    asyncio.run(drive(verbs, words))
