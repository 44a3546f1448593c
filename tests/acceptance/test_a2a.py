"""A2A over `soorma serve`: its own client outlives the death of the server, while people answer by the command line."""

import asyncio
import signal
from contextlib import suppress
from pathlib import Path

import pytest
from a2a.client.errors import A2AClientError
from a2a.types import GetTaskRequest, SubscribeToTaskRequest
from a2a.utils.errors import UnsupportedOperationError
from a2a_kit import ASKS, COMPLETED, connect_client, request_of, send_message, state_in
from cli_kit import SOORMA, Shop
from http_process import start_server

APP = "partners:agents"


async def run_soorma(store: Path, *words: str) -> str:
    """Return the output of another process with this command."""
    done = await asyncio.to_thread(Shop(store).process, *SOORMA, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


async def test_a_task_outlives_a_killed_server_and_continues_by_an_answer_at_the_shell(tmp_path: Path) -> None:
    store = tmp_path / "shop.db"
    with start_server(store, app=APP) as first:
        async with connect_client(first.url, streaming=True) as client:
            turn = [one async for one in client.send_message(request_of({"order_id": "A1"}, message_id="order A1"))]
            assert state_in(turn[-1]) == ASKS
            task_id = turn[0].task.id
            stream = client.subscribe(SubscribeToTaskRequest(id=task_id))
            assert state_in(await anext(stream)) == ASKS
            first.process.send_signal(signal.SIGKILL)
            with pytest.raises(A2AClientError):
                await anext(stream)
            port = first.port
    with start_server(store, "--port", str(port), app=APP) as second:
        async with connect_client(second.url, streaming=True) as client:
            stream = client.subscribe(SubscribeToTaskRequest(id=task_id))
            begun = await anext(stream)
            assert (begun.task.status.state, begun.task.id) == (ASKS, task_id)
            wait_id = begun.task.status.message.message_id
            assert "accepted" in await run_soorma(store, "approve", wait_id)
            came = [begun, *[one async for one in stream]]
            assert state_in(came[-1]) == COMPLETED
            again = await send_message(client, {"order_id": "A1"}, message_id="order A1")
            assert (again.id, again.status.state) == (task_id, COMPLETED)


async def test_a_waiting_client_gets_the_end_of_a_task_answered_in_another_process(tmp_path: Path) -> None:
    store = tmp_path / "shop.db"
    with start_server(store, app=APP) as served:
        async with connect_client(served.url) as client:
            about = {"skill": "order.deliver"}
            task = await send_message(client, {"order_id": "A2"}, about=about)
            assert task.status.state == ASKS
            answer = '{"day": "monday", "floor": 2, "is_gift": false}'
            assert "accepted" in await run_soorma(store, "answer", task.status.message.message_id, "--data", answer)
            async with connect_client(served.url, streaming=True) as other:
                with suppress(UnsupportedOperationError):  # the task may have ended
                    _ = [one async for one in other.subscribe(SubscribeToTaskRequest(id=task.id))]
            ended = await client.get_task(GetTaskRequest(id=task.id))
            assert (ended.status.state, [one.role for one in ended.history]) == (COMPLETED, [1, 2, 1])
