"""The protocol's own client for a gateway over a socket, and builders of its messages."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from secrets import token_hex
from typing import Any

import httpx
from a2a.client import Client, ClientConfig, create_client
from a2a.types import (
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    Task,
    TaskState,
)
from google.protobuf.struct_pb2 import Struct

from soorma_ai import Agent, Platform
from soorma_ai.api.server.serve import listen, serve, url_of
from soorma_ai.gateways.a2a import A2AGateway
from soorma_ai.gateways.a2a.parts import part_of
from soorma_ai.server import app

PATIENCE = 20.0
SUBMITTED = TaskState.TASK_STATE_SUBMITTED
WORKING = TaskState.TASK_STATE_WORKING
ASKS = TaskState.TASK_STATE_INPUT_REQUIRED
COMPLETED = TaskState.TASK_STATE_COMPLETED
FAILED = TaskState.TASK_STATE_FAILED
CANCELED = TaskState.TASK_STATE_CANCELED
REJECTED = TaskState.TASK_STATE_REJECTED


@asynccontextmanager
async def serve_gateway(platform: Platform, *agents: Agent, auth: Any = None, **options: Any) -> AsyncGenerator[str]:
    """Serve a platform with an open gateway, and yield its URL."""
    gateway = A2AGateway(**options)
    await platform.start(gateway, *agents)
    listener, until, begun = listen("127.0.0.1", 0, is_open=auth is None), asyncio.Event(), asyncio.Event()
    application = app(platform, auth=auth, doors=[gateway], rate=None)
    serving = asyncio.create_task(serve(application, listener, until, begun.set))
    await asyncio.wait_for(begun.wait(), PATIENCE)
    try:
        yield url_of(listener)
    finally:
        until.set()
        await asyncio.wait_for(serving, PATIENCE)


@asynccontextmanager
async def connect_client(
    url: str, token: str | None = None, *, streaming: bool = False, binding: str = "JSONRPC"
) -> AsyncGenerator[Client]:
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(headers=headers, timeout=PATIENCE, verify=False) as http:
        config = ClientConfig(streaming=streaming, httpx_client=http, supported_protocol_bindings=[binding])
        client = await create_client(url, config)
        yield client


def message(*parts: Any, **fields: Any) -> Message:
    """Build a message of texts and objects; `about` is its metadata."""
    about = Struct()
    about.update(fields.pop("about", {}))
    fields.setdefault("message_id", token_hex(8))
    given = [one if isinstance(one, Part) else part_of(one) for one in parts]
    return Message(role=Role.ROLE_USER, parts=given, metadata=about, **fields)


def request_of(*parts: Any, at_once: bool = False, **fields: Any) -> SendMessageRequest:
    how = SendMessageConfiguration(return_immediately=at_once)
    return SendMessageRequest(message=message(*parts, **fields), configuration=how)


async def send_message(client: Client, *parts: Any, at_once: bool = False, **fields: Any) -> Task:
    """Send one message and return its task at the end of the turn."""
    *_, last = [one async for one in client.send_message(request_of(*parts, at_once=at_once, **fields))]
    if last.HasField("task"):
        return last.task
    return await client.get_task(GetTaskRequest(id=last.status_update.task_id))


def state_in(response: StreamResponse) -> TaskState | None:
    match response.WhichOneof("payload"):
        case "task":
            return response.task.status.state
        case "status_update":
            return response.status_update.status.state
        case _:
            return None
