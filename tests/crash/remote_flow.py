"""The order, with its agents in two processes: the planner beside the store, a worker and tools in the other.

The worker takes the goods from a shelf, by another tool, and counts in the plan's memory; the payment is held for
approval. The option `side` is "store" or "agents", `port` the port of the store's server.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import wraps
from typing import Any

from life import FINISHED, HURRY, Brief, HurriedClock, Life, run_life
from order_flow import agents as of_order
from order_flow import answers
from people import answer_all

from soorma_ai import (
    EventEnvelope,
    InvocationContext,
    Platform,
    PlatformContext,
    RemoteAgents,
    ResultContext,
    TaskContext,
    Tool,
    Worker,
)
from soorma_ai.api.clients.transport import AsyncTransport
from soorma_ai.api.server.serve import listen, serve
from soorma_ai.errors import LeaseLost, TransientError
from soorma_ai.features.remote.admit import disposition_of
from soorma_ai.features.remote.elsewhere.calls import RemoteCalls
from soorma_ai.features.remote.leases import AgentLeases
from soorma_ai.features.remote.records import AnyAct, AnyEnding, Lease
from soorma_ai.kernel.ports import Delivery, Work
from soorma_ai.kernel.runtime.handling.execute import validate
from soorma_ai.kernel.runtime.handling.process.signals import until
from soorma_ai.kernel.sql import effects
from soorma_ai.server import app

RESERVE = "inventory.reserve.requested"
_ANY_STATE = """
    SELECT inbox.agent, inbox.owner, inbox.attempt, inbox.redriven, CAST(event.body AS BLOB)
    FROM inbox JOIN event ON event.seq = inbox.event_seq WHERE inbox.seq = ?
"""
HERE, ELSEWHERE = ("orders",), ("payments", "shelf", "stock")


def stock(life: Life) -> tuple[Worker, Tool]:
    desk, shelf = Worker("stock"), Tool("shelf")

    @desk.on_task(RESERVE, payload_schema={"type": "object", "required": ["order_id"]})
    async def reserve(task: TaskContext[Any], context: PlatformContext) -> None:
        task.state["order_id"] = task.data["order_id"]
        await task.delegate("shelf.take.requested", {"order_id": task.data["order_id"]}, "shelf.taken")

    @desk.on_result("shelf.taken")
    async def finish(result: ResultContext, context: PlatformContext) -> None:
        task = await result.restore_task()
        await context.memory.increment("reserved")
        await task.complete({"reserved": task.state["order_id"]})

    @shelf.on_invoke("shelf.take.requested")
    async def take(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        life.outside.effect("reserve", request.idempotency_key, order_id=request.data["order_id"])
        await context.memory.increment("taken")
        return {"taken": request.data["order_id"]}

    return desk, shelf


async def beside_store(life: Life) -> None:
    """Run the planner until the order is done and all queues are empty; the other process works until then."""
    _, _, planner = of_order(life)
    stop, started = asyncio.Event(), asyncio.Event()
    listener = listen("127.0.0.1", life.options["port"], is_open=True)
    async with asyncio.TaskGroup() as serving:
        async with life.platform() as platform:
            serving.create_task(serve(app(platform, rate=None), listener, stop, started.set))
            await platform.start(planner)
            people = asyncio.create_task(answer_all(platform, life, answers, 0.1))
            try:
                await _all_registered(platform)
                plan = await platform.submit("order.received", {"amount": 1, "to": "A"}, idempotency_key="order 1")
                await plan.result()
            finally:
                people.cancel()
        stop.set()


async def _all_registered(platform: Platform) -> None:
    services = platform.services
    watcher = services.signals.watch()
    while len(await platform.registry.query()) < len(HERE) + len(ELSEWHERE):
        await until(watcher, services.clock, 1.0)
    services.signals.unwatch(watcher)


async def without_store(life: Life) -> None:
    """Run the remote agents until killed."""
    _, payments, _ = of_order(life)
    _hurry_calls()
    async with RemoteAgents(f"http://127.0.0.1:{life.options['port']}", clock=HurriedClock()) as remote:
        while True:
            try:
                await remote.start(*stock(life), payments)
                break
            except TransientError:
                await asyncio.sleep(0.1)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: _end(life))
        await asyncio.Event().wait()


def _hurry_calls() -> None:
    """Shorten the retries of calls, and the silence before an agent counts as gone, by the factor of the life's
    clock."""
    monotonic, pause = AsyncTransport.monotonic, AsyncTransport.pause
    AsyncTransport.monotonic = lambda line: monotonic(line) * HURRY
    AsyncTransport.pause = lambda line, seconds: pause(line, seconds / HURRY)


def _end(life: Life) -> None:
    life.save_counts()
    os._exit(FINISHED)


def _with_points(life: Life, name: str, work: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Return the same function with a point before and one after it."""

    @wraps(work)
    async def with_points(*given: Any, **named: Any) -> Any:
        verb = given[-1] if name == "tell" else name
        life.point(f"{verb}.before")
        result = await work(*given, **named)
        life.point(f"{verb}.after")
        return result

    return with_points


def _twice(tell: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """Return a call made twice, as after a lost answer."""

    @wraps(tell)
    async def tell_twice(*given: Any, **named: Any) -> None:
        await tell(*given, **named)
        with suppress(LeaseLost):  # another process may hold the lease by now
            await tell(*given, **named)

    return tell_twice


def _without_fence() -> None:
    """Plant the bug: a report is stored for any delivery, held by another process or already ended."""

    async def commit(self: AgentLeases, lease: Lease, acts: Sequence[AnyAct], ending: AnyEnding) -> None:
        row, database = await self._row(), self._queue.database
        body = await database.read(lambda db: db.execute(_ANY_STATE, (lease.seq,)).fetchone())
        agent, owner, attempt, redriven, event = body
        found = EventEnvelope.from_json(event)
        delivery = Delivery(lease.seq, agent, owner, found, attempt, lease.fence, 0, redriven)
        handling = await self._handling(row, delivery, acts, ending)
        await validate(handling)
        now = self._services.clock.now()

        def store(db: Any) -> None:
            db.execute("UPDATE inbox SET state = 'leased', fence = ? WHERE seq = ?", (lease.fence, lease.seq))
            effects.commit(db, Work(delivery, disposition_of(ending), handling.effects), now)

        await database.publish(store, now)

    AgentLeases.commit = commit


async def story(life: Life) -> None:
    if life.options["side"] == "store":
        if life.bug == "commit without fence":
            _without_fence()
        AgentLeases.commit = _with_points(life, "commit", AgentLeases.commit)
        AgentLeases.lend_to = _with_points(life, "lease", AgentLeases.lend_to)
        await beside_store(life)
    else:
        RemoteCalls.tell = _twice(RemoteCalls.tell)
        for name in ("tell", "lease", "read", "register"):
            setattr(RemoteCalls, name, _with_points(life, name, getattr(RemoteCalls, name)))
        await without_store(life)


def begin(brief: Brief, stderr: str) -> None:
    """Run one life, in a process forked with all modules loaded."""
    os.dup2(os.open(stderr, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    sys.exit(asyncio.run(run_life(story, brief)))
