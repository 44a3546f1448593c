"""Doors: other protocols get the server's authenticated calls, and no call outlives the server or its token."""

import asyncio
from collections.abc import AsyncIterator, Collection
from pathlib import Path
from typing import Any

import pytest
from http_kit import Keys, OpenStream, caller, client_as
from kit import happens

from soorma_ai import Platform
from soorma_ai.agents.mounts import Visit
from soorma_ai.server import app, stop
from soorma_ai.testing.clock import VirtualClock


class Echo:
    """Answers with the caller and the body; /echo/open stays open until it is ended."""

    def __init__(self) -> None:
        self.is_open = asyncio.Event()
        self.went_on = 0

    @property
    def paths(self) -> Collection[str]:
        return ("/echo", "/echo/{how}")

    @property
    def public_paths(self) -> Collection[str]:
        return ("/hello",)

    async def serve(self, visit: Visit, scope: Any, receive: Any, send: Any) -> None:
        path, body = scope["path"], (await receive())["body"]
        if path == "/echo/broken":
            raise RuntimeError("a secret")
        if path != "/echo/held":
            await send({"type": "http.response.start", "status": 200, "headers": []})
        if path in ("/echo/open", "/echo/held"):
            try:
                while True:
                    self.is_open.set()
                    if path == "/echo/open":
                        await send({"type": "http.response.body", "body": b".", "more_body": True})
                    with visit.follow("a plan") as woken:
                        await woken.wait()
            finally:
                self.went_on += 1
        who = visit.client.person.user_id if visit.client else "anybody"
        await send({"type": "http.response.body", "body": who.encode() + b" says " + body})


@pytest.fixture
async def platform(tmp_path: Path, clock: VirtualClock) -> AsyncIterator[Platform]:
    async with Platform(f"sqlite:///{tmp_path / 'doors.db'}", clock=clock) as opened:
        yield opened


async def test_a_door_gets_the_caller_of_the_token_and_the_body(platform: Platform) -> None:
    served = app(platform, auth=Keys(maria=caller()), doors=[Echo()])
    async with client_as(served, "maria") as http:
        assert (await http.post("/echo", content=b"hi")).text == "maria says hi"
        assert (await http.get("/hello")).text == "anybody says "
        assert (await http.post("/hello")).status_code == 405
        assert (await http.post("/echo", content=b"x" * (2**20 + 1))).status_code == 413
    async with client_as(served) as http:
        assert (await http.post("/echo")).status_code == 401
        assert (await http.get("/hello")).status_code == 200


async def test_a_call_from_another_machine_or_origin_is_refused_without_authentication(platform: Platform) -> None:
    async with client_as(app(platform, doors=[Echo()]), address="203.0.113.9") as http:
        assert (await http.post("/echo")).status_code == 403
    async with client_as(app(platform, doors=[Echo()])) as http:
        refused = await http.post("/echo", headers={"origin": "https://evil.example"})
        assert refused.status_code == 403


async def test_an_exception_in_a_door_is_an_error_without_internal_details(platform: Platform) -> None:
    async with client_as(app(platform, doors=[Echo()])) as http:
        answer = await http.post("/echo/broken")
        assert (answer.status_code, "secret" in answer.text) == (500, False)


@pytest.mark.parametrize(("path", "status", "text"), [("/echo/open", 200, "."), ("/echo/held", 503, "ask again")])
async def test_an_open_call_of_a_door_ends_with_the_server(
    platform: Platform, path: str, status: int, text: str
) -> None:
    door = Echo()
    served = app(platform, doors=[door])
    async with OpenStream(served, path) as stream:
        await happens(door.is_open)
        stop(served)
        await stream.ended()
        assert (stream.status, text in stream.text, door.went_on) == (status, True, 1)


async def test_an_open_call_of_a_door_ends_with_its_connection(platform: Platform) -> None:
    door = Echo()
    async with OpenStream(app(platform, doors=[door]), "/echo/open"):
        await happens(door.is_open)
    assert door.went_on == 1


async def test_open_calls_of_doors_are_bounded(platform: Platform) -> None:
    door = Echo()
    served = app(platform, doors=[door], most_streams=1)
    async with OpenStream(served, "/echo/open"), client_as(served) as http:
        await happens(door.is_open)
        refused = await http.post("/echo")
        assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
    async with client_as(served) as http:
        assert (await http.post("/echo", content=b"hi")).text == "local says hi"
