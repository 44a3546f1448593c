"""Parts requested at once, by a plan and by a worker's task, and answered at once: their results stand in line, and are
handled in runs. The worker's effect for each result is booked in the ledger.

The option `kills` is the number of a part. Handling its result kills the process.
"""

import asyncio
import os
import signal
from typing import Any

from deciding import DecidingModel
from life import Life, live

from soorma_ai import (
    ChoreographyPlanner,
    DelegationSpec,
    InvocationContext,
    Limits,
    Platform,
    PlatformContext,
    ResultContext,
    TaskContext,
    Tool,
    Worker,
)
from soorma_ai.kernel.ports import ModelQuestion
from soorma_ai.kernel.runtime import flow
from soorma_ai.testing.scripted import publish, publish_all

WIDTH = 6
PART, SUM = "part.requested", "sum.requested"
# After a restart the number of remaining parts is unknown, so they end together only as a rule.
LONG_ENOUGH = 0.02


def decide(told: str) -> dict[str, Any]:
    if f"You published {SUM}" in told:
        return {"action": "complete", "result": {"sum": sum(range(WIDTH))}}
    if "have come to an end" in told:
        return {"action": f"publish:{SUM}", "data": {}}
    step: dict[str, Any] = publish_all(*(publish(PART, n=n) for n in range(WIDTH)))["step"]
    return step


class Model(DecidingModel):
    """Names a question by its decision, since its results come in any order."""

    def name_of(self, question: ModelQuestion, step: dict[str, Any]) -> str:
        return str(step["action"])


def parts(life: Life) -> Tool:
    tool = Tool("parts")
    in_hand: list[asyncio.Future[None]] = []

    async def all_in_hand() -> None:
        """Wait until all parts of one request are in hand, and continue in their order of arrival."""
        in_hand.append(asyncio.get_running_loop().create_future())
        if len(in_hand) < WIDTH:
            await in_hand[-1]
            return
        for waits in in_hand:
            waits.set_result(None)
        in_hand.clear()
        await asyncio.sleep(0)

    @tool.on_invoke(PART)
    async def make(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        # All parts end together, and their results stand in line.
        await (all_in_hand() if life.outside.life == 1 else asyncio.sleep(LONG_ENOUGH))
        life.outside.effect("part", request.idempotency_key, n=request.data["n"])
        return {"n": request.data["n"]}

    return tool


def clerk(life: Life) -> Worker:
    worker = Worker("clerk")

    @worker.on_task(SUM)
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        specs = [DelegationSpec(PART, {"n": n}, "part.done") for n in range(WIDTH)]
        task.state["parts"], task.state["came"] = await task.delegate_parallel(specs), 0

    @worker.on_result("part.done")
    async def join(result: ResultContext, context: PlatformContext) -> None:
        task = await result.restore_task()
        if result.result["n"] == life.options.get("kills"):
            life.outside.note("killed", attempt=task.attempt)
            os.kill(os.getpid(), signal.SIGKILL)
        life.outside.effect("count", context.idempotency_key, n=result.result["n"])
        task.state["came"] += 1
        found = await task.aggregate_parallel_results(task.state["parts"])
        if found is not None:
            total = sum(part["result"]["n"] for part in found.values())
            await task.complete({"sum": total, "came": task.state["came"]})

    return worker


def watch_runs(life: Life, platform: Platform) -> None:
    """Make each commit of a run two points, in the queue of any tenant."""
    kind: Any = type(platform.services.store.queue)
    commit = kind.commit

    async def commit_with_points(queue: Any, work: Any, now: Any) -> Any:
        label = f"run.{work.delivery.agent}"
        if work.following:
            life.point(f"{label}.before")
        arrival = await commit(queue, work, now)
        if work.following:
            life.point(f"{label}.after")
        return arrival

    kind.commit = commit_with_points


async def story(life: Life) -> None:
    flow.LONGEST_SECONDS = 3600.0  # a limit no slow machine reaches
    planner = ChoreographyPlanner(
        "sums", goals=["sum.wanted"], reasoner=Model(life, decide), limits=Limits(max_actions=WIDTH + 1)
    )
    async with life.platform() as platform:
        watch_runs(life, platform)
        await platform.start(parts(life), clerk(life), planner)
        life.point("submit.before")
        plan = await platform.submit("sum.wanted", {}, idempotency_key="sum")
        await plan.result()


if __name__ == "__main__":
    live(story)
