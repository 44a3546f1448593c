"""Each method of the A2A specification is implemented, with the specification's errors, over both bindings."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import httpx
import pytest
from a2a.client import Client
from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher
from a2a.types import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Part,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import (
    A2AError,
    ContentTypeNotSupportedError,
    InvalidParamsError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from a2a_kit import ASKS, CANCELED, COMPLETED, connect_client, request_of, serve_gateway
from http_kit import Keys, caller
from kit import payments, planner

from soorma_ai import Approval, Platform
from soorma_ai.testing.scripted import complete, publish

KEYS = Keys(maria=caller())
CHARGE, DONE = publish("payment.charge.requested", amount=12), complete({"paid": 12})
URL = "http://127.0.0.1:1/in"
Call = Callable[[Client, str], Awaitable[Any]]


async def last_of(stream: Any) -> Any:
    *_, last = [one async for one in stream]
    return last


def push(task_id: str) -> TaskPushNotificationConfig:
    return TaskPushNotificationConfig(task_id=task_id, id="c", url=URL)


METHODS: Mapping[str, Call] = {
    "SendMessage": lambda c, t: last_of(c.send_message(request_of("approve", task_id=t))),
    "SendStreamingMessage": lambda c, t: last_of(c.send_message(request_of("approve", task_id=t))),
    "GetTask": lambda c, t: c.get_task(GetTaskRequest(id=t)),
    "ListTasks": lambda c, t: c.list_tasks(ListTasksRequest()),
    "CreateTaskPushNotificationConfig": lambda c, t: c.create_task_push_notification_config(push(t)),
    "GetTaskPushNotificationConfig": lambda c, t: c.get_task_push_notification_config(
        GetTaskPushNotificationConfigRequest(task_id=t, id="c")
    ),
    "ListTaskPushNotificationConfigs": lambda c, t: c.list_task_push_notification_configs(
        ListTaskPushNotificationConfigsRequest(task_id=t)
    ),
    "DeleteTaskPushNotificationConfig": lambda c, t: c.delete_task_push_notification_config(
        DeleteTaskPushNotificationConfigRequest(task_id=t, id="c")
    ),
    "GetExtendedAgentCard": lambda c, t: c.get_extended_agent_card(GetExtendedAgentCardRequest()),
    "SubscribeToTask": lambda c, t: last_of(c.subscribe(SubscribeToTaskRequest(id=t))),
    "CancelTask": lambda c, t: c.cancel_task(CancelTaskRequest(id=t)),
}
# Methods without a task of their own.
OF_NO_TASK = {"ListTasks", "GetExtendedAgentCard"}
ON_ENDED: Mapping[str, type[A2AError]] = {
    "SendMessage": UnsupportedOperationError,
    "SendStreamingMessage": UnsupportedOperationError,
    "SubscribeToTask": UnsupportedOperationError,
    "CancelTask": TaskNotCancelableError,
}


def test_the_table_has_each_method_of_the_specification() -> None:
    assert set(METHODS) == set(JsonRpcDispatcher.METHOD_TO_MODEL)


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_each_method_answers_or_refuses_as_specified(platform: Platform, binding: str) -> None:
    agents = planner([CHARGE, CHARGE, DONE]), payments(Approval())
    async with (
        serve_gateway(platform, *agents, auth=KEYS, allow_private=True) as url,
        connect_client(url, "maria", binding=binding) as plain,
        connect_client(url, "maria", binding=binding, streaming=True) as streaming,
    ):
        clients = {name: streaming if "Stream" in name or "Subscribe" in name else plain for name in METHODS}
        for name, call in METHODS.items():
            if name not in OF_NO_TASK:
                with pytest.raises(TaskNotFoundError):
                    await call(clients[name], "no-such-task")
        begun = (await last_of(plain.send_message(request_of({"order_id": "A1"})))).task
        first = await anext(aiter(streaming.subscribe(SubscribeToTaskRequest(id=begun.id))))
        assert (begun.status.state, first.task.id) == (ASKS, begun.id)
        assert (await METHODS["CancelTask"](plain, begun.id)).status.state == CANCELED
        asked = (await last_of(streaming.send_message(request_of({"order_id": "A2"})))).status_update
        assert asked.status.state == ASKS
        task_id = asked.task_id
        for name in [one for one in METHODS if one not in ON_ENDED]:
            await METHODS[name](clients[name], task_id)
        ended = await METHODS["SendMessage"](plain, task_id)
        assert ended.task.status.state == COMPLETED
        for name, error in ON_ENDED.items():
            with pytest.raises(error):
                await METHODS[name](clients[name], task_id)
        with pytest.raises(ContentTypeNotSupportedError):
            await last_of(plain.send_message(request_of(Part(url="https://example.com/x", media_type="image/png"))))
        with pytest.raises(InvalidParamsError):
            await plain.get_task(GetTaskRequest(id=task_id, history_length=-1))


async def test_unknown_methods_versions_and_bodies_get_the_specified_codes(platform: Platform) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "NoSuchMethod", "params": {}}
    version = {"a2a-version": "1.0"}
    async with (
        serve_gateway(platform, planner([DONE]), auth=KEYS) as url,
        httpx.AsyncClient(base_url=url, headers={"authorization": "Bearer maria"}) as http,
    ):

        async def code(body: Any, headers: Mapping[str, str] = version) -> int:
            answer = await http.post("/a2a", json=body, headers={**headers})
            return answer.json()["error"]["code"]

        assert await code(call) == -32601
        assert await code({**call, "method": "GetTask"}, {}) == -32009
        assert await code({"id": 1}) == -32600
        answer = await http.post("/a2a", content=b"{", headers=version)
        assert answer.json()["error"]["code"] == -32700
