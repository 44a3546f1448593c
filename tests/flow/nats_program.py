"""A process that pursues five plans over NATS, and kills itself around the commit of a received batch."""

import asyncio
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from soorma_ai import ChoreographyPlanner, InvocationContext, Platform, PlatformContext, Tool, assembly
from soorma_ai.adapters.sqlite.store import SqliteStore
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Arrival
from soorma_ai.kernel.sql.parts import SqlQueue
from soorma_ai.kernel.sql.storage import FeatureSet
from soorma_ai.testing.scripted import ScriptedReasoner, complete, publish

FOLDER, URL, MOMENT, ARRIVAL = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])


class MortalQueue(SqlQueue):
    came = 0

    async def arrive(self, events: Sequence[EventEnvelope], now: datetime) -> Arrival:
        self.came += 1
        self.point("came")
        arrival = await super().arrive(events, now)
        self.point("committed")
        return arrival

    def point(self, moment: str) -> None:
        if (moment, self.came) == (MOMENT, ARRIVAL):
            os.kill(os.getpid(), signal.SIGKILL)


class MortalStore(SqliteStore):
    def __init__(self, path: Path | None, features: FeatureSet) -> None:
        super().__init__(path, features)
        self.queue = MortalQueue(self.database)


def respond(question: Any) -> Any:
    came = "The goal came" in question.messages[-1].content
    return publish("thing.do", number=1) if came else complete({"ok": True})


async def main() -> None:
    assembly.SqliteStore = MortalStore
    minds, hands = ChoreographyPlanner("minds", goals=["work.given"], reasoner=ScriptedReasoner(respond)), Tool("hands")

    @hands.on_invoke("thing.do")
    async def do(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        return {"done": True}

    async with Platform(f"sqlite:///{FOLDER / 'store.db'}", URL) as platform:
        await platform.start(minds, hands)
        plans = [
            await platform.submit("work.given", {"number": number}, idempotency_key=f"goal-{number}")
            for number in range(5)
        ]
        for plan in plans:
            await plan.result(timeout=40)
        stored = [row.event for row in await platform.services.store.events.events(limit=1000)]
        ids = Counter(event.causation_id for event in stored if event.type == "work.given.completed")
        told = {
            "statuses": [(await platform.plan(plan.plan_id)).status for plan in plans],
            "dead": len(await platform.dead_letters()),
            "doubled": [event_id for event_id, count in ids.items() if count > 1],
            "requests": sum(event.type == "thing.do" for event in stored),
        }
    print(json.dumps(told))


asyncio.run(main())
