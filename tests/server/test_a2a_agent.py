"""Another platform's agent as a worker: its skills are requests, and its questions go to people here."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from a2a_kit import PATIENCE, serve_gateway
from http_kit import Keys, caller
from kit import as_time_passes, happens, pass_time, payments, planner, until

from soorma_ai import (
    Approval,
    ConfigError,
    EventDefinition,
    InvocationContext,
    Platform,
    PlatformContext,
    RemoteProtocolError,
    Tool,
)
from soorma_ai.gateways.a2a import A2AAgent
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish

CHARGE = publish("payment.charge.requested", amount=12)
DONE = complete({"paid": 12})
SCHEMA = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
GOAL = EventDefinition(event_name="order.received", description="Sells  things.\nReally.", payload_schema=SCHEMA)
KEYS = Keys(us=caller("partners", "us"))


@pytest.fixture
async def there(tmp_path: Path) -> AsyncGenerator[Platform]:
    async with Platform(f"sqlite:///{tmp_path / 'there.db'}") as opened:
        yield opened


@pytest.fixture
async def here(tmp_path: Path) -> AsyncGenerator[Platform]:
    async with Platform(f"sqlite:///{tmp_path / 'here.db'}") as opened:
        yield opened


async def connect_agent(url: str, **options: Any) -> A2AAgent:
    return await A2AAgent.connect("shop", url, token="us", allow_private=True, **options)


async def test_a_skill_of_another_platforms_agent_is_a_request(there: Platform, here: Platform) -> None:
    async with serve_gateway(there, planner([CHARGE, DONE], goals=[GOAL]), payments(), auth=KEYS) as url:
        await here.start(await connect_agent(url))
        reply = await here.request("shop.order.received", {"order_id": "A1"}, timeout=PATIENCE)
        assert reply["result"] == {"paid": 12}
        known = {one.definition.event_name: one.definition for one in await here.registry.events()}
        told = known["shop.order.received"]
        assert (told.description, told.payload_schema) == ("Sells things. Really.", SCHEMA)
        (plan,) = await there.as_user(tenant_id="partners", user_id="us").plans()
        assert plan.goal_data == {"order_id": "A1"}


async def test_a_question_of_another_platforms_agent_is_asked_of_people_here(there: Platform, here: Platform) -> None:
    async with serve_gateway(there, planner([CHARGE, DONE], goals=[GOAL]), payments(Approval()), auth=KEYS) as url:
        await here.start(await connect_agent(url))
        asked = await here.ask("shop.order.received", {"order_id": "A1"})

        async def question() -> Any:
            return next(iter(await here.waits()), None)

        first = await until(here, question)
        assert "payment.charge.requested" in first.message
        assert await here.answer(first.wait_id, {"approved": "perhaps"}) == "accepted"

        async def another() -> Any:
            return next((one for one in await here.waits() if one.wait_id != first.wait_id), None)

        second = await until(here, another)
        assert "not taken" in second.message
        assert await here.answer(second.wait_id, {"text": "approve"}) == "accepted"
        assert (await here.reply(asked, timeout=PATIENCE))["result"] == {"paid": 12}


async def test_a_failed_task_of_another_platform_is_a_failed_reply(there: Platform, here: Platform) -> None:
    async with serve_gateway(there, planner([[]], goals=[GOAL]), payments(), auth=KEYS) as url:
        await here.start(await connect_agent(url))
        reply: Any = await here.request("shop.order.received", {"order_id": "A1"}, timeout=PATIENCE)
        assert (reply["success"], reply["error"]["code"]) == (False, "failed")


class Finding(A2AAgent):
    """Signals a found task of an earlier try."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.has_found = asyncio.Event()

    async def _find(self, context_id: str) -> Any:
        found = await super()._find(context_id)
        if found is not None:
            self.has_found.set()
        return found


async def test_a_task_longer_than_one_try_is_found_again_by_the_next_try(
    there: Platform, tmp_path: Path, clock: VirtualClock
) -> None:
    has_begun, may_end, charged = asyncio.Event(), asyncio.Event(), list[str]()
    slow = Tool("payments")

    @slow.on_invoke("payment.charge.requested")
    async def charge(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        charged.append(request.request_id)
        has_begun.set()
        await may_end.wait()
        return {}

    async with (
        Platform(f"sqlite:///{tmp_path / 'here.db'}", clock=clock) as here,
        serve_gateway(there, planner([CHARGE, DONE], goals=[GOAL]), slow, auth=KEYS) as url,
    ):
        hour = timedelta(hours=1)
        agent = Finding("shop", url, skills=[GOAL], token="us", allow_private=True, handler_timeout=hour)
        await here.start(agent)
        asked = await here.ask("shop.order.received", {"order_id": "A1"}, timeout=timedelta(days=1))
        await happens(has_begun)
        await pass_time(here, clock, hour)
        finds = asyncio.create_task(agent.has_found.wait())
        await as_time_passes(clock, partial(_is_done, finds))
        may_end.set()
        reply = asyncio.create_task(here.reply(asked, timeout=timedelta(days=1)))
        await as_time_passes(clock, partial(_is_done, reply))
        assert reply.result()["result"] == {"paid": 12}
        assert len(await there.as_user(tenant_id="partners", user_id="us").plans()) == len(charged) == 1


async def _is_done(task: asyncio.Task[Any]) -> bool:
    return task.done()


async def test_an_invalid_token_fails_the_request_at_once(there: Platform, here: Platform) -> None:
    async with serve_gateway(there, planner([DONE], goals=[GOAL]), auth=KEYS) as url:
        await here.start(A2AAgent("shop", url, skills=["order.received"], token="made-up", allow_private=True))
        reply: Any = await here.request("shop.order.received", {"order_id": "A1"}, timeout=PATIENCE)
        assert reply["error"]["code"] == "refused"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("ftp://agents.example", "where the other agent is"),
        ("https://me:secret@agents.example", "where the other agent is"),
        ("http://agents.example", "https"),
    ],
)
def test_an_untrusted_address_of_an_agent_is_refused(url: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        A2AAgent("shop", url, skills=["x"])


async def test_a_private_address_is_refused_and_the_requester_gets_the_failure(here: Platform) -> None:
    await here.start(A2AAgent("shop", "https://127.0.0.1:1", skills=["x"]))
    reply: Any = await here.request("shop.x", {}, timeout=PATIENCE)
    assert "no public address" in reply["error"]["message"]


@asynccontextmanager
async def serve_answer(body: bytes, kind: str = "application/json") -> AsyncGenerator[str]:
    """Run a server with the same answer for every request."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


ELSEWHERE = b"""{"name": "x", "skills": [{"id": "x", "name": "x", "description": "x"}], "supportedInterfaces":
[{"url": "http://127.0.0.1:9/steal", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]}"""


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (ELSEWHERE, "leads to http://127.0.0.1:9/steal"),
        (b"x" * (2**20 + 1), "more than it may"),
        (b"{}", "no skill|no card"),
    ],
)
async def test_a_hostile_card_is_refused(body: bytes, says: str) -> None:
    async with serve_answer(body) as url:
        with pytest.raises((ConfigError, RemoteProtocolError), match=says):
            await connect_agent(url)
