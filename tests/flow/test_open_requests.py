"""Requests of clients: progress, and cancellation."""

import asyncio
from typing import Any

import pytest
from kit import ORDER_ID, PATIENCE, events, payments, stock, until

from soorma_ai import Approval, Held, InvocationContext, Platform, PlatformContext, TaskContext, Tool, Worker
from soorma_ai.context_parts.progress import ActionStatus
from soorma_ai.errors import NotFound
from soorma_ai.kernel.domain.events import completion_of

RESERVE = "inventory.reserve.requested"
CHARGE = "payment.charge.requested"


def counting_tool(begun: list[str], started: asyncio.Event, go_on: asyncio.Event) -> Tool:
    """A tool for one request at a time, each until `go_on`."""
    tool = Tool("stock", max_in_flight=1)

    @tool.on_invoke(RESERVE, payload_schema=ORDER_ID)
    async def reserve(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        begun.append(request.data["order_id"])
        started.set()
        await go_on.wait()
        return {"reserved": request.data["order_id"]}

    return tool


async def test_a_cancelled_request_in_the_queue_fails_and_is_not_begun(platform: Platform) -> None:
    begun, started, go_on = list[str](), asyncio.Event(), asyncio.Event()
    await platform.start(counting_tool(begun, started, go_on))
    first = await platform.ask(RESERVE, {"order_id": "A"})
    await started.wait()
    second = await platform.ask(RESERVE, {"order_id": "B"})
    waiting = asyncio.ensure_future(platform.reply(second, timeout=PATIENCE))
    assert {one.action_id for one in await platform.tracker.requests()} == {first, second}
    assert await platform.cancel_request(second, "a mistake")
    reply = await waiting
    assert (reply["success"], reply["request_id"]) == (False, second)
    assert (reply["error"]["code"], reply["error"]["message"]) == ("cancelled", "a mistake")
    assert [one.action_id for one in await platform.tracker.requests()] == [first]
    go_on.set()
    assert (await platform.reply(first, timeout=PATIENCE))["result"] == {"reserved": "A"}
    third = await platform.request(RESERVE, {"order_id": "C"}, timeout=PATIENCE)
    assert third["success"] and begun == ["A", "C"]
    assert await platform.reply(second, timeout=PATIENCE) == reply
    found = await platform.tracker.request(second)
    assert (found.status, found.error) == (ActionStatus.CANCELLED, "a mistake")


async def test_the_handler_of_a_cancelled_request_goes_on_and_its_reply_counts_no_more(platform: Platform) -> None:
    begun, started, go_on = list[str](), asyncio.Event(), asyncio.Event()
    await platform.start(counting_tool(begun, started, go_on))
    request_id = await platform.ask(RESERVE, {"order_id": "A"})
    await started.wait()
    running = await until(platform, lambda: _status(platform, request_id, ActionStatus.RUNNING))
    assert running
    assert await platform.cancel_request(request_id)
    go_on.set()

    async def has_replied() -> bool:
        return any(e.source == "stock" and e.correlation_id == request_id for e in await events(platform))

    await until(platform, has_replied)
    reply = await platform.reply(request_id, timeout=PATIENCE)
    assert reply["error"]["code"] == "cancelled"


async def test_a_held_request_is_rejected_by_its_cancellation(platform: Platform) -> None:
    charged: list[Any] = []
    await platform.start(payments(Approval(when="true", approvers=("manager",)), charged))
    ann = platform.as_user(tenant_id="default", user_id="ann")
    with pytest.raises(Held) as held:
        await ann.ask(CHARGE, {"amount": 1})
    (listed,) = await ann.tracker.requests()
    assert (listed.action_id, listed.wait_id) == (held.value.request_id, held.value.wait_id)
    assert await ann.cancel_request(held.value.request_id)
    assert (await ann.reply(held.value.request_id, timeout=PATIENCE))["error"]["code"] == "cancelled"
    maria = platform.as_user(tenant_id="default", user_id="maria", roles={"manager"})
    assert await maria.waits() == []
    assert await maria.answer(held.value.wait_id, {"approved": True}) == "duplicate"
    assert await ann.tracker.requests() == [] and charged == []


async def test_a_request_with_a_reply_or_a_cancellation_is_not_cancelled_again(platform: Platform) -> None:
    await platform.start(stock())
    done = await platform.ask(RESERVE, {"order_id": "A"})
    reply = await platform.reply(done, timeout=PATIENCE)
    assert await platform.cancel_request(done) is False
    assert await platform.reply(done, timeout=PATIENCE) == reply
    with pytest.raises(NotFound):
        await platform.cancel_request("no-such-request")


async def test_two_cancellations_at_once_are_one(platform: Platform) -> None:
    begun, started, go_on = list[str](), asyncio.Event(), asyncio.Event()
    await platform.start(counting_tool(begun, started, go_on))
    await platform.ask(RESERVE, {"order_id": "A"})
    await started.wait()
    request_id = await platform.ask(RESERVE, {"order_id": "B"})
    both = [platform.cancel_request(request_id, reason) for reason in ("one", "two")]
    assert sorted(await asyncio.gather(*both)) == [False, True]
    assert [e.type for e in await events(platform) if e.answers == request_id] == [completion_of(RESERVE)]
    go_on.set()


async def test_a_request_shows_the_last_report_of_its_worker(platform: Platform) -> None:
    started, go_on, worker = asyncio.Event(), asyncio.Event(), Worker("painter")

    @worker.on_task("paint.requested")
    async def paint(task: TaskContext, context: PlatformContext) -> None:
        await task.report_progress(0.25, "first coat")
        started.set()
        await go_on.wait()
        await task.complete({})

    await platform.start(worker)
    request_id = await platform.ask("paint.requested", {})
    await started.wait()
    found = await platform.tracker.request(request_id)
    assert found.report is not None
    assert (found.report.progress, found.report.message, found.agents) == (0.25, "first coat", ("painter",))
    go_on.set()
    await platform.reply(request_id, timeout=PATIENCE)
    assert (await platform.tracker.request(request_id)).status is ActionStatus.COMPLETED


async def _status(platform: Platform, request_id: str, wanted: ActionStatus) -> bool:
    return (await platform.tracker.request(request_id)).status is wanted
