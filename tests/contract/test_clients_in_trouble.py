"""Clients over HTTP and servers that lose, repeat, break off, lie, or are foreign."""

import asyncio
import gzip
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from client_kit import LOST, BadServer, answer_of, hurried_client, json_of, problem_of, stream_of

from soorma_ai import (
    AsyncClient,
    ConfigError,
    LocalProtocolError,
    NotFound,
    Overloaded,
    RemoteProtocolError,
    ServerUnavailable,
    SoormaError,
)
from soorma_ai.errors import StoreUnavailable
from soorma_ai.kernel.domain.events import EventTopic, Lineage, new_event
from soorma_ai.testing.clock import VirtualClock

PAGE = json_of({"items": [], "next": None})
NOTHING_AT = "http://127.0.0.1:9"  # the port of `discard`, without a listener
MEGABYTE = b"x" * 2**20


def event(number: int) -> str:
    """A server-sent event at this place of the log."""
    made = new_event(
        Lineage(),
        event_id=f"event-{number}",
        source="client",
        topic=EventTopic.BUSINESS_FACTS,
        type="order.lost",
        data={"number": number},
        time=VirtualClock().now(),
    )
    return f"id: {number}\ndata: {made.to_json()}\n\n"


END = f"event: end\ndata: {json.dumps({'status': 'completed'})}\n\n"
GONE = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n"
PLAN = json_of({"plan_id": "plan-1", "goal_id": "goal-1", "status": "active"}, "202 Accepted")
MADE = json_of({"plan_id": "plan-1", "goal_id": "goal-1"}, "201 Created")
SAFE: dict[str, tuple[Callable[[AsyncClient], Awaitable[object]], bytes]] = {
    "plans": (lambda client: client.plans(), PAGE),
    "submit": (lambda client: client.submit("order.received", {}), MADE),
    "publish": (lambda client: client.publish("business-facts", "a", {}), json_of({"event_id": "1"}, "201 Created")),
    "ask": (lambda client: client.ask("a", {}), json_of({"request_id": "1"}, "202 Accepted")),
    "answer": (lambda client: client.answer("wait-1", {}), json_of({"outcome": "accepted"})),
    "discover": (lambda client: client.registry.discover([]), json_of({"agents": [], "unmet": []})),
}
UNSAFE: dict[str, Callable[[AsyncClient], Awaitable[object]]] = {
    "cancel": lambda client: client.cancel("plan-1"),
    "redrive": lambda client: client.redrive(1),
    "discard": lambda client: client.discard(1),
    "store": lambda client: client.memory.store("a", 1, "plan-1"),
    "delete": lambda client: client.memory.delete("a", "plan-1"),
    "deregister": lambda client: client.registry.deregister("stock"),
}


@pytest.mark.parametrize("call", SAFE)
async def test_a_safe_call_is_sent_again_as_the_same_call(call: str) -> None:
    ask, answer = SAFE[call]
    away = problem_of("503 Service Unavailable", "store_unavailable")
    script = (LOST, away, answer_of("502 Bad Gateway", "text/html", "<html>"), answer)
    async with BadServer(*script) as server, hurried_client(server.url) as (client, pauses):
        await ask(client)
    first, *others = server.calls
    assert [other for other in others if other != first] == [] and len(others) == 3
    assert len(pauses) == 3 and 0.125 <= pauses[0] <= 0.25 and 0.5 <= pauses[2] <= 1


async def test_two_submissions_have_two_keys() -> None:
    async with BadServer(MADE) as server, hurried_client(server.url) as (client, _):
        for _ in range(2):
            await client.submit("order.received", {})
    assert server.header(0, "idempotency-key") != server.header(1, "idempotency-key")


@pytest.mark.parametrize("call", UNSAFE)
async def test_an_unsafe_call_is_sent_once(call: str) -> None:
    async with BadServer(LOST) as server, hurried_client(server.url) as (client, _):
        with pytest.raises(ServerUnavailable, match="was lost while it answered"):
            await UNSAFE[call](client)
        assert len(server.calls) == 1
    async with BadServer(problem_of("503 Service Unavailable", "store_unavailable")) as server:
        async with hurried_client(server.url) as (client, _):
            with pytest.raises(StoreUnavailable):
                await UNSAFE[call](client)
        assert len(server.calls) == 1


@pytest.mark.parametrize("call", ["cancel", "store"])
async def test_a_refused_or_never_sent_call_is_always_sent_again(call: str) -> None:
    full = problem_of("429 Too Many Requests", "overloaded", retry_after=7)
    script = (full, full, json_of({"cancelled": True}))
    async with BadServer(*script) as server, hurried_client(server.url) as (client, pauses):
        await UNSAFE[call](client)
    assert pauses == [7, 7]
    async with hurried_client(NOTHING_AT, tries=4) as (client, pauses):
        with pytest.raises(ServerUnavailable):
            await UNSAFE[call](client)
    assert len(pauses) == 3


async def test_an_unreachable_server_is_named_with_the_cure() -> None:
    async with hurried_client(NOTHING_AT, tries=1) as (client, _):
        with pytest.raises(
            ServerUnavailable, match=r"http://127\.0\.0\.1:9 cannot be reached .*`soorma serve`"
        ) as away:
            await client.plans()
    assert "geheim" not in str(away.value)


async def test_tries_and_time_are_bounded() -> None:
    away = problem_of("503 Service Unavailable", "store_unavailable")
    async with BadServer(away) as server:
        async with hurried_client(server.url, tries=3) as (client, _):
            with pytest.raises(StoreUnavailable):
                await client.plans()
        assert len(server.calls) == 3
        async with hurried_client(server.url, tries=99, timeout=10) as (client, pauses):
            with pytest.raises(StoreUnavailable):
                await client.plans()
        assert sum(pauses) < 10 and len(pauses) < 10
    async with BadServer(problem_of("429 Too Many Requests", "overloaded", retry_after=3600)) as server:
        async with hurried_client(server.url) as (client, pauses):
            with pytest.raises(Overloaded) as full:
                await client.plans()
        assert (len(server.calls), pauses) == (1, [])
        assert full.value.retry_after is not None and full.value.retry_after.total_seconds() == 3600


async def test_a_missing_or_dripping_answer_is_given_up() -> None:
    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99999\r\n\r\n")
        while not writer.is_closing():
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.02)

    async with BadServer(say_nothing, drip) as server, AsyncClient(server.url, timeout=0.2, tries=1) as client:
        with pytest.raises(ServerUnavailable, match="said nothing"):
            await client.plans()
        with pytest.raises(ServerUnavailable, match="did not end its answer"):
            await client.plans()


@pytest.mark.parametrize(
    ("said", "kind", "words"),
    [
        (
            answer_of("500 Internal Server Error", "text/html", "<h1>oops</h1>"),
            RemoteProtocolError,
            "500 and text/html",
        ),
        (answer_of("404 Not Found", "text/html", "<h1>nginx</h1>"), RemoteProtocolError, "give the URL of a Soorma"),
        (answer_of("200 OK", "text/html", "<h1>hello</h1>"), RemoteProtocolError, "none that this version reads"),
        (json_of({"something": "else"}), RemoteProtocolError, "items: Field required"),
        (json_of({"items": [1], "next": None}), RemoteProtocolError, "items/0"),
        (answer_of("200 OK", "application/json", b"[" * 50_000), RemoteProtocolError, "none that this version reads"),
        (problem_of("500 Internal Server Error", "internal"), SoormaError, "said"),
        (problem_of("404 Not Found", "not_found", retry_after=[1], wait_id={}), NotFound, "said"),
        (problem_of("422 Unprocessable", "invalid", faults=[]), LocalProtocolError, "said"),
        (b"\x16\x03\x01 no HTTP\r\n\r\n", ServerUnavailable, "was lost"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{", ServerUnavailable, "was lost"),
        (b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 100_000, ServerUnavailable, "was lost"),
        (
            answer_of("200 OK", "application/json", gzip.compress(MEGABYTE), content_encoding="gzip"),
            RemoteProtocolError,
            "gzip",
        ),
        (GONE, RemoteProtocolError, "none that this version reads"),
    ],
)
async def test_an_invalid_answer_of_a_server_is_an_error_of_its_class(
    said: bytes, kind: type[SoormaError], words: str
) -> None:
    async with BadServer(said) as server, hurried_client(server.url, tries=1) as (client, _):
        with pytest.raises(kind, match=words) as raised:
            await client.plans()
    assert issubclass(type(raised.value), kind) and len(str(raised.value)) < 1_000
    assert "geheim" not in str(raised.value)


async def test_an_answer_without_end_is_left_as_soon_as_it_shows() -> None:
    sent = 0

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 104857600\r\n\r\n")
        for _ in range(100):
            writer.write(MEGABYTE)
            await writer.drain()
            sent += 1

    async with BadServer(pour) as server, hurried_client(server.url, most_bytes=4 * 2**20) as (client, _):
        with pytest.raises(RemoteProtocolError, match="ask for less"):
            await client.plans()
    assert sent < 20 and len(server.calls) == 1


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
async def test_a_token_does_not_follow_a_redirect(status: str) -> None:
    async with BadServer(PAGE) as elsewhere:
        to_elsewhere = answer_of(status, "text/html", "", location=f"{elsewhere.url}/v1/plans")
        async with BadServer(to_elsewhere) as server, hurried_client(server.url) as (client, _):
            for call in (client.plans(), client.submit("order.received", {}), client.cancel("plan-1")):
                with pytest.raises(RemoteProtocolError, match="give the URL itself"):
                    await call
            with pytest.raises(RemoteProtocolError, match="give the URL itself"):
                await anext(client.events_stream())
        assert elsewhere.calls == []
        assert server.header(0, "authorization") == "Bearer geheim"


@pytest.mark.parametrize(
    "options", [{"timeout": 0}, {"timeout": -1}, {"timeout": "soon"}, {"tries": 0}, {"most_bytes": 0}]
)
def test_bounds_without_room_for_a_call_are_refused(options: Any) -> None:
    with pytest.raises(ConfigError):
        AsyncClient(NOTHING_AT, **options)


def test_a_client_never_prints_its_token() -> None:
    with pytest.raises(ConfigError) as refused:
        AsyncClient(NOTHING_AT, token="geheim\n")
    assert "geheim" not in str(refused.value) + repr(AsyncClient(NOTHING_AT, token="geheim"))


def session(name: str) -> dict[str, Any]:
    at = "2026-01-01T00:00:00Z"
    about = {"plan_count": 0, "user_id": "local", "name": None, "metadata": {}}
    return {"session_id": name, "created_at": at, "last_activity": at, **about}


async def test_a_long_list_is_read_page_by_page_up_to_its_limit() -> None:
    first, last = {"items": [session("a"), session("b")], "next": "b"}, {"items": [session("c")], "next": None}
    script = (json_of(first), json_of(last), json_of(first))
    async with BadServer(*script) as server, hurried_client(server.url) as (client, _):
        assert [one.session_id for one in await client.sessions(limit=700)] == ["a", "b", "c"]
        assert [one.session_id for one in await client.sessions(limit=2)] == ["a", "b"]
    asked = [call.split()[1].removeprefix("/v1/memory/sessions?") for call in server.calls]
    assert asked == ["limit=500", "after=b&limit=500", "limit=2"]


async def test_a_list_with_circular_pages_ends() -> None:
    async with BadServer(json_of({"items": [], "next": "again"})) as server, hurried_client(server.url) as (client, _):
        assert await client.registry.query() == []
        assert len(server.calls) == 1


async def test_a_broken_stream_goes_on_after_its_last_whole_event() -> None:
    half = event(3)[:-20]
    script = [
        PLAN,
        stream_of("retry: 2000\nid: 0\n\n" + event(1) + event(2) + half),
        LOST,
        problem_of("503 Service Unavailable", "not_ready"),
        stream_of("id: 2\n\n" + event(2) + event(3)),
        stream_of(event(4) + END + event(5)),
    ]
    async with BadServer(*script) as server, hurried_client(server.url) as (client, _):
        plan = await client.follow("plan-1")
        came = [one.data["number"] async for one in plan.events()]
    assert came == [1, 2, 3, 4]
    assert [server.header(number, "last-event-id") for number in range(1, 6)] == [None, "2", "2", "2", "3"]


async def test_a_stream_of_the_log_lost_before_its_first_event_misses_nothing() -> None:
    script = (stream_of("id: 57\n\n"), stream_of(event(58)), GONE)
    async with BadServer(*script) as server, hurried_client(server.url) as (client, _):
        came = [row.seq async for row in client.events_stream()]
    assert came == [58]
    assert [server.header(number, "last-event-id") for number in range(3)] == [None, "57", "58"]


async def test_a_stream_begins_behind_a_place() -> None:
    async with BadServer(stream_of(event(7) + event(8)), GONE) as server, hurried_client(server.url) as (client, _):
        assert [row.seq async for row in client.events_stream(after=7)] == [8]
    assert server.calls[0].startswith("GET /v1/events/stream?after=7 ")


async def test_a_stream_lost_again_and_again_is_given_up() -> None:
    async with BadServer(stream_of("id: 57\n\n")) as server, hurried_client(server.url, tries=5) as (client, pauses):
        with pytest.raises(ServerUnavailable, match="ended its stream"):
            await anext(client.events_stream())
    assert (len(server.calls), len(pauses)) == (5, 4)


@pytest.mark.parametrize(
    ("said", "kind", "words"),
    [
        (problem_of("404 Not Found", "not_found"), NotFound, "said"),
        (answer_of("200 OK", "text/html", "<h1>"), RemoteProtocolError, "which is no stream of events"),
        (answer_of("500 Internal Server Error", "text/html", "<h1>"), RemoteProtocolError, "500 and text/html"),
        (stream_of("id: 1\ndata: {}\n\n"), RemoteProtocolError, "not a CloudEvents"),
        (stream_of("id: x\ndata: {}\n\n"), RemoteProtocolError, "as a place of its log"),
        (stream_of("data: {}\n\n"), RemoteProtocolError, "as a place of its log"),
        (stream_of("data: " + "x" * (17 * 2**20)), RemoteProtocolError, "longer than"),
    ],
)
async def test_an_invalid_stream_is_an_error_of_its_class(said: bytes, kind: type[SoormaError], words: str) -> None:
    async with BadServer(said) as server, hurried_client(server.url) as (client, _):
        with pytest.raises(kind, match=words):
            await anext(client.events_stream())
    assert len(server.calls) == 1


async def test_a_long_wait_is_many_short_ones_and_outlives_a_restart() -> None:
    end = json_of({"plan_id": "plan-1", "goal_id": "goal-1", "status": "completed", "result": 7})
    script = (PLAN, PLAN, PLAN, LOST, LOST, PLAN, end)
    async with BadServer(*script) as server, hurried_client(server.url) as (client, pauses):
        assert await (await client.follow("plan-1")).result(timeout=600) == 7
    assert [call.split()[1] for call in server.calls[1:]] == ["/v1/plans/plan-1/result?wait=30.000"] * 6
    assert pauses[:2] == [0.5, 0.5], "a server that ends waits for nothing, and is not asked without pause"
