"""Requests to tools and workers as A2A skills and tasks."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from a2a.types import CancelTaskRequest, GetTaskRequest, Task
from a2a.utils.errors import InvalidParamsError, TaskNotCancelableError, TaskNotFoundError
from a2a_kit import (
    ASKS,
    CANCELED,
    COMPLETED,
    FAILED,
    PATIENCE,
    REJECTED,
    WORKING,
    connect_client,
    request_of,
    send_message,
    serve_gateway,
    state_in,
)
from google.protobuf.json_format import MessageToDict
from http_kit import Keys, caller
from kit import payments, planner, stock, the_wait

from soorma_ai import Approval, Platform, PlatformContext, ResultContext, TaskContext, Worker
from soorma_ai.gateways.a2a import A2AAgent
from soorma_ai.testing.scripted import complete

RESERVE = {"skill": "inventory.reserve.requested"}
CHARGE = {"skill": "payment.charge.requested"}
QUESTION = {"question": "Which color?", "response_event": "color.told", "timeout_seconds": 60}
PAINT = {"skill": "paint.requested"}
BY_MANAGER = Approval(approvers=("manager",), timeout=timedelta(days=1))
KEYS = Keys(maria=caller(), boss=caller("shop", "boss", "manager"), eve=caller("evil", "eve"))


@pytest.fixture
async def platform(tmp_path: Path) -> AsyncGenerator[Platform]:
    async with Platform(f"sqlite:///{tmp_path / 'a2a.db'}") as opened:
        yield opened


def result_of(task: Task) -> Any:
    return MessageToDict(task.artifacts[0].parts[0].data)


def painter(go_on: asyncio.Event) -> Worker:
    worker = Worker("painter")

    @worker.on_task("paint.requested")
    async def paint(task: TaskContext, context: PlatformContext) -> None:
        if task.data.get("color"):
            await go_on.wait()
            await task.complete({"painted": task.data["color"]})
        else:
            await context.bus.publish("notification-events", "notification.human_input", QUESTION)

    @worker.on_result("color.told")
    async def go(result: ResultContext, context: PlatformContext) -> None:
        task = await result.restore_task()
        if task.data.get("coats") == 2 and not task.state.get("coats"):
            task.state["coats"] = 1
            await context.bus.publish("notification-events", "notification.human_input", QUESTION)
            return
        await task.complete({"painted": result.data["color"]})

    return worker


async def test_a_card_has_the_requests_of_tools_and_workers_only_by_the_option(platform: Platform) -> None:
    agents = planner([complete({})]), stock(), painter(asyncio.Event())
    async with serve_gateway(platform, *agents, requests=True) as url, httpx.AsyncClient(base_url=url) as http:
        for card in ("agent-card.json", "agent.json"):
            skills = (await http.get(f"/.well-known/{card}")).json()["skills"]
            assert [one["id"] for one in skills] == ["inventory.reserve.requested", "order.received", "paint.requested"]


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_request_is_a_task_with_its_reply_as_result_and_the_same_message_is_the_same_task(
    platform: Platform, streaming: bool
) -> None:
    async with (
        serve_gateway(platform, stock(), auth=KEYS, requests=True) as url,
        connect_client(url, "maria", streaming=streaming) as client,
    ):
        sent = [await send_message(client, {"order_id": "A1"}, about=RESERVE, message_id="one") for _ in range(2)]
        assert [one.id for one in sent] == [sent[0].id] * 2
        assert sent[0].status.state == COMPLETED and result_of(sent[0]) == {"reserved": "A1"}
        assert sent[0].metadata["request"] == "inventory.reserve.requested"
        found = await client.get_task(GetTaskRequest(id=sent[0].id))
        assert (found.status.state, found.context_id) == (COMPLETED, sent[0].context_id)
        failed = await send_message(client, {"order_id": "none-left"}, about=RESERVE)
        assert failed.status.state == FAILED and failed.status.message.parts[0].text == "no stock"
        with pytest.raises(InvalidParamsError, match="order_id"):
            await send_message(client, {"order": 1}, about=RESERVE)
        assert await platform.plans() == []


async def test_the_approval_of_a_request_is_a_question_of_its_task(platform: Platform) -> None:
    charged: list[Any] = []
    async with (
        serve_gateway(platform, payments(BY_MANAGER, charged), auth=KEYS, requests=True) as url,
        connect_client(url, "maria") as client,
        connect_client(url, "boss") as boss,
    ):
        tasks = [
            await send_message(client, {"amount": amount}, about=CHARGE, message_id=f"charge {amount}")
            for amount in (1, 2, 3)
        ]
        assert {one.status.state for one in tasks} == {ASKS} and charged == []
        shop = platform.as_user(tenant_id="shop", user_id="boss", roles={"manager"})
        for wait in await shop.waits():
            decision = {1: "approve", 2: "reject"}.get((wait.proposed_data or {})["amount"])
            if decision is not None:
                await shop.answer(wait.wait_id, {"approved": decision == "approve"}, decision=decision)
        await client.cancel_task(CancelTaskRequest(id=tasks[2].id))
        ended = [await client.get_task(GetTaskRequest(id=one.id)) for one in tasks[1:]]
        assert [one.status.state for one in ended] == [REJECTED, CANCELED]
        done = await send_message(client, {"amount": 1}, about=CHARGE, message_id="charge 1")
        assert (done.id, done.status.state, charged) == (tasks[0].id, COMPLETED, [1])
        with pytest.raises(TaskNotFoundError):
            async with connect_client(url, "eve") as eve:
                await eve.get_task(GetTaskRequest(id=tasks[0].id))
        with pytest.raises(TaskNotFoundError):
            await boss.cancel_task(CancelTaskRequest(id=tasks[0].id))


async def test_each_question_of_a_worker_is_answered_once_by_a_message(platform: Platform) -> None:
    async with (
        serve_gateway(platform, painter(asyncio.Event()), auth=KEYS, requests=True) as url,
        connect_client(url, "maria") as client,
    ):
        task = await send_message(client, {"coats": 2}, about=PAINT)
        assert task.status.state == ASKS and task.status.message.parts[0].text == "Which color?"
        for _ in range(2):
            asks = await send_message(client, {"color": "red"}, task_id=task.id, message_id="first")
            assert asks.status.state == ASKS, "the same message answers no second question"
        done = await send_message(client, {"color": "blue"}, task_id=task.id, message_id="second")
        assert (done.status.state, result_of(done)) == (COMPLETED, {"painted": "blue"})


async def test_a_skill_of_another_platform_may_be_a_tool_or_a_worker_with_questions(
    platform: Platform, tmp_path: Path
) -> None:
    async with (
        serve_gateway(platform, stock(), painter(asyncio.Event()), auth=KEYS, requests=True) as url,
        Platform(f"sqlite:///{tmp_path / 'here.db'}") as here,
    ):
        await here.start(await A2AAgent.connect("shop", url, token="maria", allow_private=True))
        reply = await here.request("shop.inventory.reserve.requested", {"order_id": "A1"}, timeout=PATIENCE)
        assert reply["result"] == {"reserved": "A1"}
        asked = await here.ask("shop.paint.requested", {"wall": "north"})
        question = await the_wait(here)
        assert question.message == "Which color?"
        assert await here.answer(question.wait_id, {"color": "red"}) == "accepted"
        assert (await here.reply(asked, timeout=PATIENCE))["result"] == {"painted": "red"}


async def test_a_running_request_is_cancelled_once(platform: Platform) -> None:
    go_on = asyncio.Event()
    async with (
        serve_gateway(platform, painter(go_on), auth=KEYS, requests=True) as url,
        connect_client(url, "maria") as client,
    ):
        task = await send_message(client, {"color": "red"}, about=PAINT, at_once=True)
        cancelled = await client.cancel_task(CancelTaskRequest(id=task.id))
        assert cancelled.status.state == CANCELED
        with pytest.raises(TaskNotCancelableError):
            await client.cancel_task(CancelTaskRequest(id=task.id))
        go_on.set()


async def test_a_stream_of_a_request_ends_with_its_reply(platform: Platform) -> None:
    go_on = asyncio.Event()
    async with (
        serve_gateway(platform, painter(go_on), auth=KEYS, requests=True) as url,
        connect_client(url, "maria", streaming=True) as client,
    ):
        states = list[Any]()
        async for one in client.send_message(request_of({"color": "red"}, about=PAINT)):
            states.append(state_in(one))
            if states[-1] == WORKING:
                go_on.set()
        assert states[-1] == COMPLETED and states[0] != COMPLETED


async def test_the_drawn_endpoint_takes_a_request_and_waits_for_its_reply(platform: Platform) -> None:
    async with serve_gateway(platform, stock(), requests=True) as url, httpx.AsyncClient(base_url=url) as http:
        told = {"role": "user", "parts": [{"type": "data", "data": {"order_id": "A1"}}]}
        posted = {"id": "t-1", "message": told, "metadata": RESERVE}
        answers = [(await http.post("/tasks/send", json=posted)).json() for _ in range(2)]
        assert answers[0] == answers[1] and answers[0]["status"] == "completed"
        assert answers[0]["message"]["parts"][0]["data"] == {"reserved": "A1"}
