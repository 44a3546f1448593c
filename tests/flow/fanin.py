"""A hundred results at once, in any order, some of them twice: their plan or task goes on once, with all of them.

python tests/flow/fanin.py [ORDERS]     that many seeded orders for plans, and as many for workers (default 1000)
"""

import asyncio
import random
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from kit import planner, published_events, until, wait_for_requests

from soorma_ai import DelegationSpec, EventTopic, Limits, Platform, PlatformContext, ResultContext, TaskContext, Worker
from soorma_ai.kernel.domain.events import SYSTEM, EventEnvelope
from soorma_ai.kernel.domain.registry import AgentKind, EventDefinition, EventRole, Registration, Subscription
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish, publish_all

BRANCHES = 100
TWICE = 30
# Orders in the gate.
ORDERS = 3
WIDE = Limits(max_actions=1000, max_parallel=1000)
PART = "part.requested"


async def register_parts(platform: Platform) -> None:
    """Register a taker of the requests. It never answers: the answers are made here."""
    taken = EventDefinition(event_name=PART)
    parts = Registration(
        "parts",
        AgentKind.TOOL,
        events=((EventRole.TAKES, taken),),
        subscriptions=(Subscription(EventTopic.ACTION_REQUESTS, PART),),
    )
    await platform.services.store.registry.register([parts], platform.services.clock.now())


def reply_to(request: EventEnvelope, **data: Any) -> EventEnvelope:
    changed = {
        "id": f"reply-{request.id}",
        "source": SYSTEM,
        "topic": EventTopic.ACTION_RESULTS,
        "type": request.response_event,
        "data": data or {"success": True, "result": request.data},
    }
    return request.model_copy(update=changed)


async def arrive(platform: Platform, replies: Sequence[EventEnvelope], at_once: int = 13) -> None:
    for n in range(0, len(replies), at_once):
        await platform.services.store.queue.arrive(replies[n : n + at_once], platform.services.clock.now())
        platform.services.signals.wake_agents()


def shuffle(replies: list[EventEnvelope], rng: random.Random) -> list[EventEnvelope]:
    several = [*replies, *rng.sample(replies, min(TWICE, len(replies)))]
    rng.shuffle(several)
    return several


async def join_of_a_plan(platform: Platform, seed: int, need: int | None = None) -> None:
    rng = random.Random(seed)
    minds = planner(
        [publish_all(*(publish(PART, n=n) for n in range(BRANCHES)), need=need), complete({"done": True})], limits=WIDE
    )
    await register_parts(platform)
    await platform.start(minds)
    plan = await platform.submit("order.received", {})
    replies = [reply_to(request) for request in await wait_for_requests(platform, PART, BRANCHES)]
    await arrive(platform, shuffle(replies, rng), rng.randint(1, 40))
    assert await plan.result(timeout=60) == {"done": True}
    details = await platform.plan(plan.plan_id)
    (joined,) = [step for step in details.steps if step.kind == "joined"]
    assert joined.fires and joined.join_id == joined.expectation_id
    assert len(minds.reasoner.questions) == 2, "the model was asked once for the goal and once for the join"  # type: ignore[union-attr]
    came = [step for step in details.steps if step.kind == "replied"]
    assert len(came) == (need or BRANCHES)
    assert {step.place for step in came} == {step.data["n"] for step in came}  # type: ignore[call-overload,index]


def gathering_worker(specs: list[DelegationSpec], name: str = "clerk") -> Worker:
    """A worker: asks for all of them at once, and completes with the results."""
    worker = Worker(name)

    @worker.on_task("order.requested")
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        task.state["group"] = await task.delegate_parallel(specs)
        await task.save()

    @worker.on_result("part.done")
    @worker.on_result("other.done")
    async def join(result: ResultContext, context: PlatformContext) -> None:
        task = await result.restore_task()
        everything = await task.aggregate_parallel_results(task.state["group"])
        if everything is not None:
            await task.complete({"parts": list(everything.values())})

    return worker


async def join_of_a_worker(platform: Platform, seed: int) -> None:
    rng = random.Random(seed)
    await register_parts(platform)
    await platform.start(gathering_worker([DelegationSpec(PART, {"n": n}, "part.done") for n in range(BRANCHES)]))
    task_id = await platform.publish("action-requests", "order.requested", {})
    replies = [reply_to(request) for request in await wait_for_requests(platform, PART, BRANCHES)]
    await arrive(platform, shuffle(replies, rng), rng.randint(1, 40))

    async def has_ended() -> bool:
        return await platform.services.store.plans.task("clerk", task_id) is None

    await until(platform, has_ended)
    (answer,) = await answers(platform, task_id)
    assert [part["result"]["n"] for part in answer.data["result"]["parts"]] == list(range(BRANCHES))


async def answers(platform: Platform, task_id: str) -> list[Any]:
    results = await published_events(platform, topic="action-results")
    return [event for event in results if event.data.get("task_id") == task_id]


async def in_order(orders: int) -> None:
    for what, joins in (("plans", _plan), ("workers", join_of_a_worker)):
        begun = time.perf_counter()
        for seed in range(orders):
            await _one(joins, seed)
            if sys.stderr.isatty():
                print(f"\r{what}: {seed + 1} of {orders}", end="", file=sys.stderr)
        took = time.perf_counter() - begun
        print(f"{what}: {orders} orders of {BRANCHES} results, each joined once, in {took:.0f} s")


async def _one(joins: Callable[[Platform, int], Awaitable[None]], seed: int) -> None:
    try:
        async with Platform("sqlite://", clock=VirtualClock()) as platform:
            await joins(platform, seed)
    except BaseException:
        print(f"seed {seed} failed", file=sys.stderr)
        raise


async def _plan(platform: Platform, seed: int) -> None:
    """Every third waits for some of them only."""
    need = random.Random(seed).randint(1, BRANCHES - 1) if seed % 3 == 2 else None
    await join_of_a_plan(platform, seed, need)


if __name__ == "__main__":
    asyncio.run(in_order(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
