"""Samples of workers."""

from typing import Any

import pytest
from kit import PATIENCE

from seeds.acting import sent_events
from soorma_ai import (
    DelegationSpec,
    InvocationContext,
    Platform,
    PlatformContext,
    Reject,
    ResultContext,
    TaskContext,
    Tool,
    Worker,
)


def tool_with_answer(event_type: str, result: Any) -> Tool:
    tool = Tool(f"answers {event_type}")

    @tool.on_invoke(event_type)
    async def answer(request: InvocationContext, context: PlatformContext) -> Any:
        if request.data.get("order_id") == "none-left":
            raise Reject("no stock", code="out_of_stock")
        return result

    return tool


async def test_a_researcher_delegates_and_completes_with_the_result(platform: Platform) -> None:
    worker = Worker(name="researcher", capabilities=["research"])

    @worker.on_task(event_type="research.requested")
    async def handle_research(task: TaskContext, context: PlatformContext):
        await task.save()

        await task.delegate(
            event_type="web.search.requested", data={"query": task.data["topic"]}, response_event="web.search.completed"
        )

    @worker.on_result(event_type="web.search.completed")
    async def handle_search_result(result: ResultContext, context: PlatformContext):
        task = await result.restore_task()

        if task.is_complete():
            await task.complete(result={"findings": result.data})
        else:
            await task.delegate("web.search.requested", {"query": "more"}, "web.search.completed")

    await platform.start(worker, tool_with_answer("web.search.requested", ["a page"]))
    reply: Any = await platform.request("research.requested", {"topic": "owls"}, timeout=PATIENCE)
    assert (reply["status"], reply["result"]["findings"]["result"]) == ("completed", ["a page"])
    (asked,) = await sent_events(platform, "web.search.requested")
    assert asked.data == {"query": "owls"}


async def test_three_parallel_analyses_become_one_result(platform: Platform) -> None:
    worker = Worker("analyst")

    @worker.on_task(event_type="analyze.requested")
    async def handle_analyze(task: TaskContext, context: PlatformContext):
        group_id = await task.delegate_parallel(
            [
                DelegationSpec("sentiment.analyze", {"text": task.data["text"]}, "sentiment.completed"),
                DelegationSpec("entity.extract", {"text": task.data["text"]}, "entity.completed"),
                DelegationSpec("topic.classify", {"text": task.data["text"]}, "topic.completed"),
            ]
        )

        task.state["pending_group"] = group_id
        await task.save()

    @worker.on_result(event_type="sentiment.completed")
    @worker.on_result(event_type="entity.completed")
    @worker.on_result(event_type="topic.completed")
    async def handle_analysis_result(result: ResultContext, context: PlatformContext):
        task = await result.restore_task()

        task.update_sub_task_result(result.correlation_id, result.data)

        group_id = task.state.get("pending_group")
        aggregated = task.aggregate_parallel_results(group_id)

        if aggregated:
            ids = {info.event_type: info.sub_task_id for info in task.sub_tasks.values()}
            await task.complete(
                result={
                    "sentiment": aggregated[ids["sentiment.analyze"]]["result"],
                    "entities": aggregated[ids["entity.extract"]]["result"],
                    "topics": aggregated[ids["topic.classify"]]["result"],
                }
            )
        else:
            await task.save()

    parts = {"sentiment.analyze": "glad", "entity.extract": ["owl"], "topic.classify": ["birds"]}
    await platform.start(worker, *(tool_with_answer(event_type, result) for event_type, result in parts.items()))
    reply: Any = await platform.request("analyze.requested", {"text": "An owl!"}, timeout=PATIENCE)
    assert reply["result"] == {"sentiment": "glad", "entities": ["owl"], "topics": ["birds"]}
    asked = await sent_events(platform, *parts)
    assert [request.data for request in asked] == [{"text": "An owl!"}] * 3


@pytest.mark.parametrize(
    ("order_id", "result"),
    [
        ("A1", {"status": "processed"}),
        ("none-left", {"status": "failed", "error": {"code": "out_of_stock", "message": "no stock"}}),
    ],
)
async def test_an_order_is_processed_after_the_reservation_of_its_stock(
    platform: Platform, order_id: str, result: Any
) -> None:
    worker = Worker(name="order-processor", capabilities=["orders"])

    @worker.on_task(event_type="order.process.requested")
    async def handle_order(task: TaskContext, context: PlatformContext):
        await task.save()

        await task.delegate(
            event_type="inventory.reserve.requested",
            data={"order_id": task.data["order_id"]},
            response_event="inventory.reserved",
        )

    @worker.on_result(event_type="inventory.reserved")
    async def handle_inventory_result(result: ResultContext, context: PlatformContext):
        task = await result.restore_task()

        if result.success:
            await task.complete({"status": "processed"})
        else:
            await task.complete({"status": "failed", "error": result.data["error"]})

    await platform.start(worker, tool_with_answer("inventory.reserve.requested", {}))
    reply: Any = await platform.request("order.process.requested", {"order_id": order_id}, timeout=PATIENCE)
    assert reply["result"] == result


async def test_an_order_is_fulfilled_after_answers_of_both_services(platform: Platform) -> None:
    worker = Worker("fulfiller")

    @worker.on_task(event_type="order.fulfill.requested")
    async def handle_fulfill(task: TaskContext, context: PlatformContext):
        await task.save()

        group_id = await task.delegate_parallel(
            [
                DelegationSpec(
                    event_type="inventory.reserve.requested",
                    data={"order_id": task.data["order_id"]},
                    response_event="inventory.done",
                ),
                DelegationSpec(
                    event_type="payment.process.requested",
                    data={"amount": task.data["total"]},
                    response_event="payment.done",
                ),
            ]
        )

        task.state["parallel_group"] = group_id
        await task.save()

    @worker.on_result(event_type="inventory.done")
    @worker.on_result(event_type="payment.done")
    async def handle_parallel_result(result: ResultContext, context: PlatformContext):
        task = await result.restore_task()

        task.update_sub_task_result(result.sub_task_id, result.data)
        await task.save()

        group_id = task.state["parallel_group"]
        all_results = await task.aggregate_parallel_results(group_id)

        if all_results:
            await task.complete({"results": all_results})

    stock, bank = (
        tool_with_answer("inventory.reserve.requested", "set aside"),
        tool_with_answer("payment.process.requested", "paid"),
    )
    await platform.start(worker, stock, bank)
    reply: Any = await platform.request("order.fulfill.requested", {"order_id": "A1", "total": 7}, timeout=PATIENCE)
    results = reply["result"]["results"].values()
    assert [(one["success"], one["result"]) for one in results] == [(True, "set aside"), (True, "paid")]
    asked = await sent_events(platform, "inventory.reserve.requested", "payment.process.requested")
    assert [request.data for request in asked] == [{"order_id": "A1"}, {"amount": 7}]


async def test_task_context_save_restore(platform: Platform) -> None:
    worker = Worker("keeper")

    @worker.on_task("keep.requested")
    async def keep(task: TaskContext, context: PlatformContext) -> None:
        task.state["kept"] = 7
        await task.save()

        restored = await TaskContext.restore(task.task_id, context)
        assert restored.task_id == task.task_id
        await task.delegate("part.requested", {}, "part.done")

    @worker.on_result("part.done")
    async def go_on(result: ResultContext, context: PlatformContext) -> None:
        restored = await TaskContext.restore(result.sub_task_id, context)
        await restored.complete(restored.state)

    await platform.start(worker, tool_with_answer("part.requested", {}))
    reply: Any = await platform.request("keep.requested", {}, timeout=PATIENCE)
    assert reply["result"] == {"kept": 7}


async def test_worker_delegates_to_sub_agent(platform: Platform) -> None:
    worker = Worker("parent")

    @worker.on_task(event_type="parent.task")
    async def handler(task, ctx):
        await task.delegate(event_type="sub.task", data={"key": "value"}, response_event="sub.done")

    @worker.on_result("sub.done")
    async def end(result: ResultContext, context: PlatformContext) -> None:
        await (await result.restore_task()).complete(result.result)

    await platform.start(worker, tool_with_answer("sub.task", "done"))
    await platform.request("parent.task", {}, timeout=PATIENCE)
    (asked,) = await sent_events(platform, "sub.task")
    assert (asked.topic, asked.data, asked.response_event) == ("action-requests", {"key": "value"}, "sub.done")


async def test_a_worker_completes_its_task_itself(platform: Platform) -> None:
    worker = Worker("hands")

    @worker.on_task("process")
    async def handle(task, ctx):
        await task.complete({"result": "done"})

    await platform.start(worker)
    reply: Any = await platform.request("process", {}, timeout=PATIENCE)
    assert reply["result"] == {"result": "done"}


async def test_a_sub_task_is_delegated_and_not_published(platform: Platform) -> None:
    worker = Worker("hands")

    @worker.on_task("process")
    async def handle(task: TaskContext, context: PlatformContext) -> None:
        await task.delegate(event_type="sub.task", data={"n": 1}, response_event="sub.task.done")

    @worker.on_result("sub.task.done")
    async def end(result: ResultContext, context: PlatformContext) -> None:
        await (await result.restore_task()).complete(result.result)

    await platform.start(worker, tool_with_answer("sub.task", "done"))
    reply: Any = await platform.request("process", {}, timeout=PATIENCE)
    assert reply["result"] == "done"


def test_only_events_with_a_handler_are_consumed() -> None:
    worker = Worker("hands", capabilities=["carrying"], events_produced=["carried"])
    assert worker.events_consumed == []

    @worker.on_task(event_type="carry.requested")
    async def carry(task: TaskContext, context: PlatformContext) -> None: ...

    @worker.on_result(event_type="lift.done")
    async def lifted(result: ResultContext, context: PlatformContext) -> None: ...

    assert worker.events_consumed == ["carry.requested", "lift.done"]
    assert worker.events_produced == ["carried"]
