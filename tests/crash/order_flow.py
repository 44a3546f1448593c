"""The order flow as a process that can be killed at any point and started again.

    python order_flow.py FOLDER [POINT:N] [BUG]

A goal is submitted under a key, stock is reserved, a payment is held for approval and charged, a person is asked
for a delivery slot, the plan completes. The world outside is two append-only files: payments and model calls.
"""

import asyncio
import hashlib
import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from soorma_ai import ChoreographyPlanner, InvocationContext, Limits, Platform, PlatformContext, Tool
from soorma_ai.adapters.sqlite import effects, expectations, log
from soorma_ai.adapters.sqlite.store import SqliteStore
from soorma_ai.core.wake import ANSWERED, wake_for
from soorma_ai.domain.effects import Publish
from soorma_ai.domain.waits import Answer, Expectation, ExpectationStatus
from soorma_ai.ports import ModelAnswer, Question, Work
from soorma_ai.testing.failpoints import Failpoints

ORDER = {"order_id": "A1", "amount": 12000}


class World:
    """What no transaction of ours covers. A payment honours its key, as payment providers do."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def note(self, file: str, **row: object) -> None:
        descriptor = os.open(self._folder / file, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        os.write(descriptor, (json.dumps(row) + "\n").encode())
        os.close(descriptor)

    def rows(self, file: str) -> list[dict[str, Any]]:
        path = self._folder / file
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def charge(self, key: str, amount: float) -> str:
        known = any(row["key"] == key for row in self.rows("payments.jsonl"))
        self.note("calls.jsonl", key=key)
        if not known:
            self.note("payments.jsonl", key=key, amount=amount)
        return f"receipt-{amount}"


class Model:
    """Decides by what it is told, so that it goes on after a restart; each answer carries the name of its question."""

    model = "crash-test"
    max_output_tokens = 500

    def __init__(self, world: World, points: Failpoints) -> None:
        self._world = world
        self._points = points

    def check(self) -> None:
        return

    def cost_of(self, prompt_tokens: int, completion_tokens: int) -> float:
        return 0.001

    async def ask(self, question: Question) -> ModelAnswer:
        name = hashlib.sha256(repr(question.messages).encode()).hexdigest()[:16]
        self._points.hit("model.before")
        self._world.note("model.jsonl", asked=name)
        self._points.hit("model.during")
        value: Any = {"reasoning": name, "step": self._step(question.messages[-1].content)}
        self._points.hit("model.after")
        return ModelAnswer(json.dumps(value), value, "", self.model, 100, 20, 0.001, 1.0)

    def _step(self, told: str) -> dict[str, Any]:
        if "refused" in told:
            return {"action": "publish:payment.charge.requested", "data": {"amount": ORDER["amount"]}}
        if "You published payment.charge.requested" in told:
            if "user.replied" in told.split("Events you can publish now")[0]:
                return {"action": "complete", "result": {"order_id": ORDER["order_id"], "paid": True}}
            return {
                "action": "wait",
                "expected_event": "user.replied",
                "message": "Which slot?",
                "timeout_seconds": 600,
            }
        if "You published inventory.reserve.requested" in told:
            return {"action": "publish:payment.charge.requested", "data": {"amount": "a lot"}}
        return {"action": "publish:inventory.reserve.requested", "data": {"order_id": ORDER["order_id"]}}


class AcksFirst(SqliteStore):
    """Planted bug: the delivery is done before its effects are stored."""

    async def commit(self, work: Work, now: datetime) -> None:
        await super().commit(replace(work, effects=()), now)
        await self._write(lambda db: effects.apply(db, work.effects, now))


class PublishesOutside(SqliteStore):
    """Planted bug: the state is stored in one transaction, the events that belong to it in another."""

    async def commit(self, work: Work, now: datetime) -> None:
        events = [effect.event for effect in work.effects if isinstance(effect, Publish)]
        kept = tuple(effect for effect in work.effects if not isinstance(effect, Publish))
        await super().commit(replace(work, effects=kept), now)
        if events:
            await self.send(events, None, now)


class AnswersBlindly(SqliteStore):
    """Planted bug: an answer is recorded without looking whether the question is still open."""

    def _record_answer(self, db: Any, asked: Expectation, answer: Answer, now: datetime) -> bool:
        wake = wake_for(ANSWERED, asked, now)
        db.execute("UPDATE expectation SET status = 'open' WHERE id = ?", (asked.id,))
        expectations.close(db, asked.id, ExpectationStatus.MET, now, met_by=wake.id, answer=answer)
        log.publish_once(db, wake)
        return True


BUGS: dict[str, Callable[[Path], SqliteStore]] = {
    "": SqliteStore,
    "ack_first": AcksFirst,
    "publish_outside": PublishesOutside,
    "answer_without_cas": AnswersBlindly,
}


async def answer_all(platform: Platform, world: World, points: Failpoints) -> None:
    """Two people who answer everything at the same moment, again and again, until told to stop."""
    while True:
        for wait in await platform.waits():
            payload = {"approved": True} if wait.proposed_event else {"text": "Tuesday"}
            points.hit("answer.before")
            outcomes = await asyncio.gather(
                *(platform.answer(wait.wait_id, payload, answer_id=f"{who}:{wait.wait_id}") for who in ("ann", "bob"))
            )
            points.hit("answer.after")
            for who, outcome in zip(("ann", "bob"), outcomes, strict=True):
                world.note("answers.jsonl", wait=wait.wait_id, who=who, outcome=str(outcome))
        await asyncio.sleep(0.002)


async def main(folder: Path, target: str, bug: str) -> None:
    world, points = World(folder), Failpoints(target, folder / "counts.json")
    stock, payments = Tool("stock"), Tool("payments")

    @stock.on_invoke("inventory.reserve.requested", payload_schema={"type": "object", "required": ["order_id"]})
    async def reserve(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        return {"reserved": request.data["order_id"]}

    amount = {"type": "object", "properties": {"amount": {"type": "number"}}, "required": ["amount"]}

    @payments.on_invoke("payment.charge.requested", payload_schema=amount, approval="always")
    async def charge(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        points.hit("payment.before")
        receipt = world.charge(request.idempotency_key, request.data["amount"])
        points.hit("payment.after")
        return {"receipt": receipt}

    planner = ChoreographyPlanner(
        "orders",
        goals=["order.received"],
        external_events=["user.replied"],
        reasoner=Model(world, points),
        limits=Limits(max_actions=2, max_repeats=None),
    )
    store = BUGS[bug](folder / "store.db")
    async with Platform(store=store) as platform:
        points.watch(store.writer.connection)
        await platform.start(planner, stock, payments)
        people = asyncio.create_task(answer_all(platform, world, points))
        points.hit("submit.before")
        plan = await platform.submit("order.received", ORDER, idempotency_key="the order")
        points.hit("submit.after")
        try:
            await plan.result(timeout=8)
        finally:
            people.cancel()
    points.save_counts()


if __name__ == "__main__":
    arguments = [*sys.argv[1:], "", ""]
    asyncio.run(main(Path(arguments[0]), arguments[1], arguments[2]))
