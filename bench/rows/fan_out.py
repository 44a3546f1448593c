"""A worker or planner with many parallel requests and one join. A unit is all of that."""

from pathlib import Path

from bench.measure import Figures, Lap, main
from bench.rows.agents import DOUBLE, HIGH, desk, store_url
from soorma_ai import ChoreographyPlanner, DelegationSpec, Platform, PlatformContext, ResultContext, TaskContext, Worker
from soorma_ai.kernel.ports import ModelQuestion
from soorma_ai.testing.scripted import Item, ScriptedReasoner, complete, publish, publish_all

SUM = "sum.requested"


def summing_worker(width: int) -> Worker:
    worker = Worker("summer")

    @worker.on_task(SUM)
    async def begin(task: TaskContext, context: PlatformContext) -> None:
        parts = [DelegationSpec(DOUBLE, {"n": n}, "number.doubled") for n in range(width)]
        task.state["parts"] = await task.delegate_parallel(parts, timeout=60)

    @worker.on_result("number.doubled")
    async def join(result: ResultContext, context: PlatformContext) -> None:
        task = await result.restore_task()
        found = await task.aggregate_parallel_results(task.state["parts"])
        if found is not None:
            await task.complete({"total": sum(part["result"]["v"] for part in found.values())})

    return worker


def summing_planner(width: int) -> ChoreographyPlanner:
    is_begun = False

    def decide(question: ModelQuestion) -> Item:
        nonlocal is_begun
        is_begun = not is_begun
        model.questions.clear()
        return publish_all(*(publish(DOUBLE, n=n) for n in range(width))) if is_begun else complete({"width": width})

    model = ScriptedReasoner(decide)
    return ChoreographyPlanner("summer", goals=[SUM], reasoner=model, limits=HIGH)


async def measure(folder: Path, *, by: str, width: int, times: int) -> Figures:
    """`by` is "worker" or "planner"."""
    async with Platform(store_url(folder)) as platform:
        await platform.start(desk(), summing_worker(width) if by == "worker" else summing_planner(width))

        async def once() -> None:
            if by == "planner":
                assert await (await platform.submit(SUM, {})).result(timeout=60) == {"width": width}
                return
            reply = await platform.request(SUM, {}, timeout=60)
            assert reply["result"] == {"total": width * (width - 1)}, reply

        await once()
        with Lap() as lap:
            for _ in range(times):
                await once()
    return lap.per(times)


if __name__ == "__main__":
    main(measure)
