"""Bounds by address and by tenant, and clients without reading."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx
import pytest
from http_kit import Keys, OpenStream, caller, client_as
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from soorma_ai import InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.api.server.connections import ConnectionBounds
from soorma_ai.api.server.proxies import TrustedProxies
from soorma_ai.api.server.serve import listen, serve, url_of
from soorma_ai.errors import ConfigError
from soorma_ai.server import app

LOOPBACK = TrustedProxies(["127.0.0.1"])
MUCH = 20_000_000


class HeldCalls:
    """Calls of `/hold`, open until released."""

    def __init__(self) -> None:
        self.let_go = asyncio.Event()
        self.come = asyncio.Semaphore(0)

    async def answer(self, request: Request) -> Response:
        self.come.release()
        await self.let_go.wait()
        return PlainTextResponse("held")


async def _who(request: Request) -> Response:
    assert request.client is not None
    return PlainTextResponse(f"{request.url.scheme} {request.client.host}")


class LargeAnswer:
    """An answer too large for the buffers of the sockets."""

    def __init__(self) -> None:
        self.is_over = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for more_body in (True, False):
            await send({"type": "http.response.body", "body": b"x" * MUCH, "more_body": more_body})
        self.is_over.set()


@pytest.fixture
def holding() -> HeldCalls:
    return HeldCalls()


@pytest.fixture
def served(platform: Platform, holding: HeldCalls) -> Starlette:
    made = app(platform)
    made.router.routes += [Route("/hold", holding.answer), Route("/who", _who)]
    return made


@asynccontextmanager
async def running(served: Starlette, bounds: ConnectionBounds) -> AsyncGenerator[httpx.AsyncClient]:
    """Serve the application on a socket, and yield its client."""
    listener, until, started = listen("127.0.0.1", 0, is_open=True), asyncio.Event(), asyncio.Event()
    task = asyncio.create_task(serve(served, listener, until, started.set, bounds))
    await started.wait()
    try:
        async with httpx.AsyncClient(base_url=url_of(listener), timeout=20) as http:
            yield http
    finally:
        until.set()
        await task


def by_way_of(*hosts: str) -> dict[str, str]:
    return {"X-Forwarded-For": ", ".join(hosts), "X-Forwarded-Proto": "https"}


async def test_each_address_forwarded_by_a_trusted_proxy_has_a_bound_of_its_own(
    served: Starlette, holding: HeldCalls
) -> None:
    async with running(served, ConnectionBounds(100, 2, proxies=LOOPBACK)) as http:
        held = [asyncio.create_task(http.get("/hold", headers=by_way_of("10.0.0.9"))) for _ in range(2)]
        for _ in held:
            await holding.come.acquire()
        refused = await http.get("/who", headers=by_way_of("10.0.0.9"))
        assert (refused.status_code, refused.json()["code"], refused.headers["retry-after"]) == (
            503,
            "overloaded",
            "10",
        )
        assert (await http.get("/who", headers=by_way_of("10.0.0.8"))).text == "https 10.0.0.8"
        assert (await http.get("/who")).text == "http 127.0.0.1"
        holding.let_go.set()
        assert [one.text for one in await asyncio.gather(*held)] == ["held", "held"]
        assert (await http.get("/who", headers=by_way_of("10.0.0.9"))).status_code == 200


async def test_a_forged_forwarding_header_does_not_change_the_clients_address(served: Starlette) -> None:
    async with running(served, ConnectionBounds(100, 2, proxies=LOOPBACK)) as http:
        # The proxy appends the address of its client to the header sent by the client.
        assert (await http.get("/who", headers=by_way_of("1.1.1.1", "10.0.0.9"))).text == "https 10.0.0.9"


async def test_without_a_trusted_proxy_the_forwarding_header_is_ignored(served: Starlette) -> None:
    for proxies in (TrustedProxies(), TrustedProxies(["10.0.0.0/8"])):
        async with running(served, ConnectionBounds(100, 2, proxies=proxies)) as http:
            assert (await http.get("/who", headers=by_way_of("10.0.0.9"))).text == "http 127.0.0.1"


def test_a_proxy_is_named_by_address_or_network() -> None:
    assert "10.1.2.3" in TrustedProxies(["10.0.0.0/8"]) and "11.1.2.3" not in TrustedProxies(["10.0.0.0/8"])
    with pytest.raises(ConfigError, match=r"'nginx' does not appear to be.*give addresses and networks"):
        TrustedProxies(["nginx"])


async def test_a_client_not_reading_its_answer_is_disconnected(served: Starlette) -> None:
    sending = LargeAnswer()
    served.router.routes.append(Route("/much", sending))
    async with running(served, ConnectionBounds(100, 50, stalled_seconds=0.1)) as http:
        with socket.create_connection((http.base_url.host, http.base_url.port or 0)) as one:
            one.sendall(b"GET /much HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await asyncio.wait_for(sending.is_over.wait(), 20)
        assert (await http.get("/who")).status_code == 200


async def test_the_bound_of_a_tenants_streams_holds_across_its_keys(platform: Platform) -> None:
    keys = Keys(maria=caller("shop", "maria"), jo=caller("shop", "jo"), eve=caller("mall", "eve"))
    served = app(platform, auth=keys, most_streams_of_tenant=1)

    def stream(token: str) -> OpenStream:
        return OpenStream(served, "/v1/events/stream", authorization=f"Bearer {token}")

    async with stream("maria") as first, stream("eve") as other:
        for one in (first, other):
            await one.until(lambda one=one: "retry" in one.text)
        async with client_as(served, "jo") as http:
            refused = await http.get("/v1/events/stream")
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "10")
            assert refused.json()["detail"] == "1 streams of your tenant are open: close one first"
    async with stream("jo") as anew:
        await anew.until(lambda: "retry" in anew.text)


async def test_each_tenant_has_its_own_bound_of_calls_in_hand(platform: Platform) -> None:
    slow, begun, let_go = Tool("slow", tenant_id="shop"), asyncio.Event(), asyncio.Event()

    @slow.on_invoke("slow.requested")
    async def answer(request: InvocationContext, context: PlatformContext) -> dict[str, bool]:
        begun.set()
        await let_go.wait()
        return {"done": True}

    await platform.start(slow)
    keys = Keys(maria=caller("shop", "maria"), jo=caller("shop", "jo"), eve=caller("mall", "eve"))
    served = app(platform, auth=keys, most_calls_of_tenant=1)
    async with client_as(served, "maria") as maria, client_as(served, "jo") as jo, client_as(served, "eve") as eve:
        waiting = asyncio.create_task(
            maria.post("/v1/requests?wait=30", json={"event_type": "slow.requested", "data": {}})
        )
        await begun.wait()
        refused = await jo.get("/v1/plans")
        assert (refused.status_code, refused.json()["code"]) == (429, "overloaded")
        assert (await eve.get("/v1/plans")).status_code == 200
        let_go.set()
        assert (await waiting).status_code == 200
        assert (await jo.get("/v1/plans")).status_code == 200
