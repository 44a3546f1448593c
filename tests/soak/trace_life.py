"""One life of a traced process: planners, a worker, tools, a client, and a person with all answers. It kills itself at
a point, or ends when all plans have ended. Its spans are lines of a file, written at once."""

import asyncio
import json
import os
import random
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TextIO

from life import HurriedClock
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider

from soorma_ai import (
    Approval,
    ChoreographyPlanner,
    InvocationContext,
    Platform,
    PlatformContext,
    ResultContext,
    TaskContext,
    Tool,
    Worker,
)
from soorma_ai.errors import SoormaError
from soorma_ai.features.otel import handlings
from soorma_ai.kernel.domain.effects import Ack
from soorma_ai.testing.scripted import ScriptedReasoner, complete, publish, wait

GOALS = ("order.received", "paint.received", "bill.received")
POINTS = ("before the commit", "after the commit", "in a handler", "at any moment")
CHARGE, BILL, COLOUR = "payment.charge.requested", "bill.requested", "colour.chosen"
IN_FLIGHT = 24
LONGEST = 0.5
PATIENCE = 300.0


@dataclass(frozen=True)
class Order:
    """The order for a life: it kills itself at this pass of `point`; without one it lives to the end. `bug` names the
    planted one."""

    folder: Path
    life: int
    plans: int
    point: str = ""
    passes: int = 1
    bug: str = ""

    @property
    def store(self) -> Path:
        return self.folder / "traced.db"

    @property
    def ended(self) -> Path:
        """The numbers of the ended plans, a line each."""
        return self.folder / "ended"


class SpanLines(SpanProcessor):
    """Writes each span as a line, in one system call, and counts the open ones."""

    def __init__(self, order: Order) -> None:
        self._file = os.open(order.folder / f"{order.life}.spans", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.open = self.most_open = 0

    def on_start(self, span: object, parent_context: object = None) -> None:
        self.open += 1
        self.most_open = max(self.open, self.most_open)

    def on_end(self, span: ReadableSpan) -> None:
        self.open -= 1
        told = {
            "name": span.name,
            "trace": span.context.trace_id,
            "id": span.context.span_id,
            "parent": [span.parent.trace_id, span.parent.span_id] if span.parent else None,
            "links": [[link.context.trace_id, link.context.span_id] for link in span.links],
            "attributes": dict(span.attributes or {}),
        }
        os.write(self._file, json.dumps(told).encode() + b"\n")


class Blow:
    """Kills the process at a pass of a point."""

    def __init__(self, order: Order) -> None:
        self._order, self._left = order, order.passes

    def at(self, point: str) -> None:
        if point == self._order.point:
            self._left -= 1
            if not self._left:
                os.kill(os.getpid(), signal.SIGKILL)

    def begin(self) -> None:
        if self._order.point == "at any moment":
            moment = random.Random(self._order.life).uniform(0.0, LONGEST)
            threading.Timer(moment, os.kill, (os.getpid(), signal.SIGKILL)).start()


def live(order: Order) -> None:
    """Run one life, in a process forked with all modules loaded."""
    os.environ["SOORMA_OTEL"] = "on"
    plant(order.bug)
    lines, provider = SpanLines(order), TracerProvider()
    provider.add_span_processor(lines)
    trace.set_tracer_provider(provider)
    asyncio.run(_work(order, Blow(order)))
    (order.folder / "open").write_text(json.dumps([lines.open, lines.most_open]))


async def _work(order: Order, blow: Blow) -> None:
    url = f"sqlite:///{order.store}"
    async with Platform(url, clock=HurriedClock(), purpose="the traces") as platform:
        _strike_around_commits(platform, blow)
        await platform.start(*planners(), clerk(), payments(blow))
        blow.begin()
        answering = asyncio.create_task(answer_all(platform))
        gone = {int(line) for line in order.ended.read_text().split()} if order.ended.exists() else set[int]()
        room, following = asyncio.Semaphore(IN_FLIGHT), set[asyncio.Task[None]]()
        with order.ended.open("a", buffering=1) as ended:
            for number in range(order.plans):
                if number not in gone:
                    await room.acquire()
                    following.add(asyncio.create_task(follow(platform, number, ended, room)))
            for _ in range(IN_FLIGHT):
                await room.acquire()
        answering.cancel()
        with suppress(asyncio.CancelledError):
            await answering


def _strike_around_commits(platform: Platform, blow: Blow) -> None:
    queue = platform.services.store.queue
    commit = queue.commit

    async def commit_and_strike(work: Any, now: Any) -> None:
        blow.at("before the commit")
        await commit(work, now)
        blow.at("after the commit")

    queue.commit = commit_and_strike


async def follow(platform: Platform, number: int, ended: TextIO, room: asyncio.Semaphore) -> None:
    """Submit a plan, and note its end."""
    plan = await platform.submit(GOALS[number % 3], {"number": number}, idempotency_key=f"plan-{number}")
    with suppress(SoormaError):
        await plan.result(timeout=PATIENCE)
    ended.write(f"{number}\n")
    room.release()


async def answer_all(platform: Platform) -> None:
    watcher = platform.services.signals.watch()
    while True:
        for asked in await platform.waits(limit=50):
            with suppress(SoormaError):
                if asked.expected_event == COLOUR:
                    await platform.answer(asked.wait_id, {"colour": "red"})
                else:
                    await platform.answer(asked.wait_id, {"approved": True}, decision="approve")
        await watcher.wait()
        watcher.clear()


def planners() -> list[ChoreographyPlanner]:
    """Return three planners: with a gated request, with a question, and with a worker that makes a gated request."""

    def asking(first: Any, sign: str) -> ScriptedReasoner:
        def decide(question: Any) -> Any:
            model.questions.clear()
            return complete({"ok": True}) if sign in question.messages[-1].content else first

        model = ScriptedReasoner(decide)
        return model

    minds = asking(publish(CHARGE, amount=7), '"charged"'), asking(wait(COLOUR, "Which?"), '"red"'), None
    minds = (*minds[:2], asking(publish(BILL, amount=7), '"billed"'))
    return [
        ChoreographyPlanner(
            goal.partition(".")[0], goals=[goal], reasoner=mind, external_events=[COLOUR], max_in_flight=IN_FLIGHT
        )
        for goal, mind in zip(GOALS, minds, strict=True)
    ]


def payments(blow: Blow) -> Tool:
    tool = Tool("payments")
    schema = {"type": "object", "properties": {"amount": {"type": "number"}}, "required": ["amount"]}

    @tool.on_invoke(CHARGE, payload_schema=schema, approval=Approval(approvers=(), timeout=timedelta(days=9)))
    async def charge(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        blow.at("in a handler")
        return {"charged": request.data["amount"]}

    return tool


def clerk() -> Worker:
    worker = Worker("clerk")

    @worker.on_task(BILL)
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        await task.delegate(CHARGE, {"amount": 7}, "clerk.charge.answered")

    @worker.on_result("clerk.charge.answered")
    async def end(result: ResultContext, context: PlatformContext) -> None:
        await (await result.restore_task()).complete({"billed": result.success})

    return worker


def _tell_before_the_commit() -> None:
    prepare, write = handlings.TraceWriter.prepare, handlings.TraceWriter.committed

    def prepare_and_write(self: Any, handling: Any, effects: Any) -> Any:
        prepared = prepare(self, handling, effects)
        write(self, handling, Ack(), prepared, ())
        return prepared

    handlings.TraceWriter.prepare = prepare_and_write
    handlings.TraceWriter.committed = lambda *given: None


def _draw_ids() -> None:
    handlings.derived_span_id = lambda *names: random.SystemRandom().getrandbits(64)


def _link_nothing() -> None:
    handlings._links = lambda handling, event: []


def _pass_nothing_on() -> None:
    handlings._with_context = lambda effect, contexts, present: effect


BUGS: dict[str, Callable[[], None]] = {
    "spans before the commit": _tell_before_the_commit,
    "random ids": _draw_ids,
    "no links": _link_nothing,
    "no context in events": _pass_nothing_on,
}


def plant(bug: str) -> None:
    if bug:
        BUGS[bug]()
