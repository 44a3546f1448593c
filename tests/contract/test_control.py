"""The control socket of a store's owner: its access, its calls, and the faults it outlives."""

import asyncio
import gc
import os
import resource
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Any

import httpx
import pytest
from kit import payments, planner, the_wait

from soorma_ai import Platform
from soorma_ai.adapters.single_writer.control import ControlSocket, Converse
from soorma_ai.adapters.tokens.api_keys import new_key
from soorma_ai.api.server.local import MOST_BYTES
from soorma_ai.api.tokens import name_token
from soorma_ai.clients.owner import OwnerClient, OwnerGone, ask_owner
from soorma_ai.errors import (
    ConfigError,
    Forbidden,
    LocalProtocolError,
    NotFound,
    ServerUnavailable,
    SoormaError,
    StoreUnavailable,
)
from soorma_ai.features.plan_memory.sessions import SessionService
from soorma_ai.kernel.domain.people import Person
from soorma_ai.testing.scripted import publish

ROOT = Person()
ANN = Person("default", "ann", frozenset())


@asynccontextmanager
async def listening(path: Path, converse: Converse) -> AsyncIterator[None]:
    async def begin() -> Converse:
        return converse

    control = ControlSocket(path, begin)
    await control.start()
    try:
        yield
    finally:
        await control.close()


async def silent(connection: socket.socket) -> None:
    await asyncio.Event().wait()


@asynccontextmanager
async def raw_server(path: Path, answer: bytes) -> AsyncIterator[None]:
    """A peer: reads something, sends `answer` and hangs up."""

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    server = await asyncio.start_unix_server(converse, path)
    try:
        yield
    finally:
        server.close()


@pytest.fixture
def path() -> Iterator[Path]:
    """Short, as a socket's path must be."""
    with tempfile.TemporaryDirectory(prefix="o") as made:
        yield Path(made, "db.sock")


@pytest.fixture
async def platform(path: Path) -> AsyncIterator[Platform]:
    async with Platform(f"sqlite:///{path.with_suffix('')}") as opened:
        yield opened


@pytest.fixture
async def reports() -> list[object]:
    """The reports of uncaught errors to the event loop."""
    told: list[object] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda loop, context: told.append(context.get("exception") or context["message"])
    )
    return told


def leave_socket(path: Path) -> None:
    """Leave a socket as a killed owner does."""
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))


def take_away(path: Path) -> None:
    path.unlink()


async def sessions(client: OwnerClient) -> list[str]:
    return [one.session_id for one in await client.sessions(limit=100)]


async def ask(
    path: Path, do: Callable[[OwnerClient], Awaitable[Any]], person: Person = ROOT, timeout: float = 20
) -> Any:
    return await ask_owner(path, person, do, timeout=timeout)


def test_the_socket_is_for_its_user_only_from_the_first_moment(path: Path) -> None:
    """The mode is checked after every executed line, under the widest umask."""
    seen: set[int] = set()

    def look(frame: FrameType, event: str, argument: object) -> Callable[..., object]:
        if path.exists():
            seen.add(stat.S_IMODE(path.lstat().st_mode))
        return look

    async def start() -> None:
        sys.settrace(look)
        try:
            async with listening(path, silent):
                sys.settrace(None)
        finally:
            sys.settrace(None)

    before, traced = os.umask(0), sys.gettrace()
    try:
        asyncio.run(start())
    finally:
        os.umask(before)
        sys.settrace(traced)
    assert seen == {0o600}


async def test_many_callers_at_once_each_get_their_own_answer(platform: Platform, path: Path) -> None:
    def make(number: int) -> Awaitable[Any]:
        return ask(path, lambda client: client.create_session(f"of {number}"), Person("default", f"user {number}"))

    made = await asyncio.gather(*(make(number) for number in range(30)))
    assert [(one.name, one.user_id) for one in made] == [(f"of {n}", f"user {n}") for n in range(30)]


async def test_a_caller_of_the_socket_is_the_named_person_or_the_root(platform: Platform, path: Path) -> None:
    key, _ = new_key("default", "eve", platform.services.clock.now())
    with pytest.raises(Forbidden):
        await ask(path, lambda client: client.keys.add(key), ANN)
    await ask(path, lambda client: client.keys.add(key))
    assert [one.key_id for one in await platform.keys.ls()] == [key.key_id]
    assert await ask(path, lambda client: client.keys.revoke(key.key_id)) is True
    assert await ask(path, lambda client: client.keys.revoke(key.key_id)) is False
    with pytest.raises(NotFound):
        await ask(path, lambda client: client.keys.revoke("unknown"))
    with pytest.raises(Forbidden):
        await ask(path, lambda client: client.prune(timedelta(days=2), ["failed"]), ANN)
    assert await platform.audit() == []


async def test_a_question_is_answered_and_a_plan_cancelled_by_the_routes_of_every_server(
    platform: Platform, path: Path
) -> None:
    await platform.start(planner(lambda question: publish("payment.charge.requested", amount=5)), payments("always"))
    plan = await platform.submit("order.received", {"order_id": "A1"})
    wait = await the_wait(platform)
    assert await ask(path, lambda client: client.answer(wait.wait_id, {"approved": "much"})) == "invalid"
    with pytest.raises(NotFound):
        await ask(path, lambda client: client.cancel(plan.plan_id), ANN)
    assert await ask(path, lambda client: client.cancel(plan.plan_id, "no more")) is True
    with pytest.raises(NotFound):
        await ask(path, lambda client: client.redrive(7))


async def test_a_prune_over_the_socket_goes_part_by_part(platform: Platform, path: Path) -> None:
    part = await ask(path, lambda client: client.prune(timedelta(days=2), ["failed", "completed"], batches=3))
    assert (part.plans, part.after) == (0, None)
    with pytest.raises(LocalProtocolError, match="24 hours"):
        await ask(path, lambda client: client.prune(timedelta(hours=2), ["failed"]))


@pytest.mark.parametrize("token", [None, "nobody", name_token(ROOT)[:-8], "e30="])
async def test_a_call_without_a_person_is_refused(platform: Platform, path: Path, token: str | None) -> None:
    async with httpx.AsyncClient(
        transport=httpx.AsyncHTTPTransport(uds=str(path)), base_url="http://localhost"
    ) as http:
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        assert (await http.get("/v1/plans", headers=headers)).status_code == 401
        assert (await http.post("/v1/keys/k/revoke", json={}, headers=headers)).status_code == 401
        assert (await http.get("/v1/plans", headers={"host": "evil.example"})).status_code == 403


async def test_an_owner_without_calls_loads_no_server_and_listens_all_the_same(path: Path) -> None:
    program = (
        "import asyncio, sys\n"
        "from soorma_ai import Platform\n"
        "async def main():\n"
        f"    async with Platform('sqlite:///{path.with_suffix('')}'):\n"
        "        print([name for name in ('starlette', 'uvicorn', 'httpx') if name in sys.modules])\n"
        "asyncio.run(main())\n"
    )
    run = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert run.stdout == "[]\n"


async def test_the_socket_of_a_killed_owner_is_replaced(path: Path) -> None:
    leave_socket(path)
    async with Platform(f"sqlite:///{path.with_suffix('')}"):
        assert await ask(path, sessions) == []


def test_a_file_in_place_of_the_socket_is_kept_and_a_directory_must_be_there(path: Path) -> None:
    async def start(place: Path) -> None:
        async with listening(place, silent):
            pass

    path.write_text("precious")
    for place, fault in ((path, "no socket"), (path.parent / "nowhere" / "db.sock", "cannot be made")):
        with pytest.raises(ConfigError, match=fault):
            asyncio.run(start(place))
    assert path.read_text() == "precious"


async def test_closing_leaves_the_socket_of_the_next_owner(path: Path) -> None:
    async with listening(path, silent):
        take_away(path)
        leave_socket(path)
    assert stat.S_ISSOCK(os.lstat(path).st_mode)


async def test_closing_takes_the_socket_away_and_closing_twice_or_before_the_start_is_nothing(path: Path) -> None:
    async def begin() -> Converse:
        return silent

    control = ControlSocket(path, begin)
    await control.close()
    await control.start()
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    await control.close()
    assert list(path.parent.iterdir()) == []
    await control.close()


async def test_a_bug_in_the_owner_is_answered_and_survived(
    platform: Platform, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def breaks(service: SessionService, **options: Any) -> Any:
        raise ZeroDivisionError

    with monkeypatch.context() as planted:
        planted.setattr(SessionService, "sessions", breaks)
        with pytest.raises(SoormaError, match="its log says why"):
            await ask(path, sessions)
    assert await ask(path, sessions) == []


async def test_four_mebibytes_are_taken_and_more_is_refused(platform: Platform, path: Path) -> None:
    def told(size: int) -> Callable[[OwnerClient], Awaitable[str]]:
        return lambda client: client.publish("business-facts", "told", {"text": "x" * size})

    event_id = await ask(path, told(MOST_BYTES - 1_000))
    assert await platform.services.store.events.event(event_id) is not None
    with pytest.raises(SoormaError, match="longer than 4194304 bytes"):
        await ask(path, told(MOST_BYTES))
    assert await ask(path, sessions) == []


def posted(body: bytes, length: int | None = None) -> bytes:
    lines = (
        b"POST /v1/memory/sessions HTTP/1.1",
        b"host: localhost",
        b"content-type: application/json",
        b"authorization: Bearer " + name_token(ROOT).encode(),
        b"content-length: " + str(len(body) if length is None else length).encode(),
    )
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


async def test_a_broken_off_request_is_not_carried_out(platform: Platform, path: Path) -> None:
    reader, writer = await asyncio.open_unix_connection(path)
    writer.write(posted(b'{"session_id": "talk"}', 23))
    writer.close()
    await writer.wait_closed()
    await reader.read()
    assert await ask(path, sessions) == []


async def test_a_client_that_hangs_up_before_the_answer_does_no_harm_and_its_call_is_done(
    platform: Platform, path: Path, reports: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, go_on, made, create = asyncio.Event(), asyncio.Event(), asyncio.Event(), SessionService.create_session

    async def slowly(service: SessionService, *given: Any, **named: Any) -> Any:
        asked.set()
        await go_on.wait()
        session = await create(service, *given, **named)
        made.set()
        return session

    monkeypatch.setattr(SessionService, "create_session", slowly)
    _, writer = await asyncio.open_unix_connection(path)
    writer.write(posted(b'{"session_id": "talk"}'))
    await asked.wait()
    writer.close()
    await writer.wait_closed()
    go_on.set()
    await asyncio.wait_for(made.wait(), 5)
    assert await ask(path, sessions) == ["talk"]
    gc.collect()
    assert reports == []


async def test_an_absent_or_dying_peer_at_the_socket_means_the_owner_is_gone(path: Path) -> None:
    with pytest.raises(OwnerGone):
        await ask(path, sessions)
    leave_socket(path)
    with pytest.raises(OwnerGone, match="look again who owns the file"):
        await ask(path, sessions)
    take_away(path)
    for said in (b"", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n[]"):
        async with raw_server(path, said):
            with pytest.raises(OwnerGone):
                await ask(path, sessions)


async def test_the_socket_of_another_user_is_refused_with_the_reason(path: Path) -> None:
    async def refused(client: OwnerClient) -> None:
        try:
            raise PermissionError(13, "Permission denied")
        except PermissionError as error:
            raise ServerUnavailable("http://localhost cannot be reached") from error

    with pytest.raises(ConfigError, match="belongs to another user"):
        await ask(path, refused)


async def test_closing_gives_up_the_requests_in_hand(
    path: Path, monkeypatch: pytest.MonkeyPatch, reports: list[object]
) -> None:
    asked = asyncio.Event()

    async def never(service: SessionService, **options: Any) -> Any:
        asked.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(SessionService, "sessions", never)
    async with Platform(f"sqlite:///{path.with_suffix('')}"):
        question = asyncio.create_task(ask(path, sessions))
        await asked.wait()
    with pytest.raises(OwnerGone):
        await question
    gc.collect()
    assert reports == []


@pytest.mark.parametrize("said", [b"", b"GET /v1/plans HTTP/1.1\r\n", posted(b'{"se', 22)])
async def test_closing_waits_for_no_incomplete_request(path: Path, said: bytes) -> None:
    async with Platform(f"sqlite:///{path.with_suffix('')}"):
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(said)
        assert await ask(path, sessions) == []
    assert await reader.read() == b""
    writer.close()


async def test_closing_ends_a_followed_stream(path: Path) -> None:
    async def follow(client: OwnerClient) -> None:
        async for _ in client.events_stream(after=0):
            came.set()

    came = asyncio.Event()
    async with Platform(f"sqlite:///{path.with_suffix('')}") as platform:
        await platform.publish("business-facts", "told", {})
        following = asyncio.create_task(ask(path, follow))
        await came.wait()
    with pytest.raises(OwnerGone):
        await following


async def test_a_slow_owner_is_busy_not_gone(platform: Platform, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(service: SessionService, **options: Any) -> Any:
        await asyncio.Event().wait()

    await ask(path, sessions)
    monkeypatch.setattr(SessionService, "sessions", never)
    with pytest.raises(StoreUnavailable, match="no answer in") as slow:
        await ask(path, sessions, timeout=0.05)
    assert not isinstance(slow.value, OwnerGone)


async def test_an_owner_that_never_accepts_keeps_a_caller_no_longer_than_its_timeout(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(path))
        deaf.listen()
        with pytest.raises(StoreUnavailable, match="no answer in"):
            await ask(path, sessions, timeout=0.05)


async def test_an_unreadable_answer_is_an_error(path: Path) -> None:
    async with raw_server(path, b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5\r\n\r\nhello"):
        with pytest.raises(SoormaError, match="none that this version reads"):
            await ask(path, sessions)


async def test_out_of_descriptors_the_owner_lives_on(
    platform: Platform, path: Path, reports: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("soorma_ai.adapters.single_writer.control._PAUSE", 0.0)
    assert await ask(path, sessions) == []
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with socket.socket(socket.AF_UNIX) as client:
        client.setblocking(False)
        lowest_free = os.dup(client.fileno())
        os.close(lowest_free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, hard))
        try:
            client.connect(str(path))
            client.send(posted(b"{}"))
            for _ in range(10):
                await asyncio.sleep(0)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert (await asyncio.get_running_loop().sock_recv(client, 12)) == b"HTTP/1.1 201"
    assert reports == []
