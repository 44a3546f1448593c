import asyncio
import gc
import json
import os
import resource
import socket
import stat
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from types import FrameType

import pytest

from soorma_ai.adapters.owner.control import LONGEST_LINE, ControlServer, OwnerGone, ask_owner
from soorma_ai.domain.values import JsonObject
from soorma_ai.errors import (
    ConfigError,
    IllegalTransition,
    LimitExceeded,
    LocalProtocolError,
    NotFound,
    PlanCancelled,
    RateLimited,
    RemoteProtocolError,
    SoormaError,
    StoreUnavailable,
    VersionConflict,
)

Handle = Callable[[JsonObject], Awaitable[JsonObject]]


async def echo(request: JsonObject) -> JsonObject:
    return {"heard": request}


def raising(error: Exception) -> Handle:
    async def handle(request: JsonObject) -> JsonObject:
        raise error

    return handle


@asynccontextmanager
async def serving(path: Path, handle: Handle = echo) -> AsyncIterator[Path]:
    server = ControlServer(path, handle)
    await server.start()
    try:
        yield path
    finally:
        await server.close()


@asynccontextmanager
async def raw_line_server(path: Path, answer: bytes) -> AsyncIterator[None]:
    """A peer that reads one line, says `answer` and hangs up."""

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
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
async def reports() -> list[object]:
    """What the event loop is told of errors that nobody caught."""
    told: list[object] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda loop, context: told.append(context.get("exception") or context["message"])
    )
    return told


async def test_many_ask_at_once_and_each_gets_its_own_answer(path: Path) -> None:
    async with serving(path):
        answers = await asyncio.gather(*(ask_owner(path, {"n": n}, timeout=5) for n in range(50)))
    assert answers == [{"heard": {"n": n}} for n in range(50)]


async def waiting_for_ever(request: JsonObject) -> JsonObject:
    await asyncio.Event().wait()
    return {}


def left_behind(path: Path) -> None:
    """A socket whose owner was killed."""
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))


def test_the_socket_is_for_its_user_only_from_the_first_moment(path: Path) -> None:
    """Looked at after every line that runs, under the widest umask."""
    seen: set[int] = set()

    def look(frame: FrameType, event: str, argument: object) -> Callable[..., object]:
        if path.exists():
            seen.add(stat.S_IMODE(path.lstat().st_mode))
        return look

    async def start() -> None:
        server = ControlServer(path, echo)
        sys.settrace(look)
        try:
            await server.start()
        finally:
            sys.settrace(None)
        await server.close()

    before, traced = os.umask(0), sys.gettrace()
    try:
        asyncio.run(start())
    finally:
        os.umask(before)
        sys.settrace(traced)
    assert seen == {0o600}


async def test_a_socket_that_a_killed_owner_left_is_replaced(path: Path) -> None:
    left_behind(path)
    async with serving(path):
        assert await ask_owner(path, {}, timeout=5) == {"heard": {}}


def test_a_file_that_is_no_socket_is_kept_and_a_directory_must_be_there(path: Path) -> None:
    path.write_text("precious")
    for place, fault in ((path, "no socket"), (path.parent / "nowhere" / "db.sock", "cannot be made")):
        with pytest.raises(ConfigError, match=fault):
            asyncio.run(ControlServer(place, echo).start())
    assert path.read_text() == "precious"


async def test_closing_leaves_the_socket_of_the_next_owner(path: Path) -> None:
    first = ControlServer(path, echo)
    await first.start()
    async with serving(path):
        await first.close()
        assert await ask_owner(path, {}, timeout=5) == {"heard": {}}


async def test_closing_takes_the_socket_away_and_closing_twice_or_before_the_start_is_nothing(path: Path) -> None:
    server = ControlServer(path, echo)
    await server.close()
    await server.start()
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    await server.close()
    assert list(path.parent.iterdir()) == []
    await server.close()


class TooOld(ConfigError):
    """Only the owner knows it."""

    code = "too_old"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        *((kind("no such planner: give one of a, b"), kind) for kind in (ConfigError, NotFound, SoormaError)),
        *((kind("stale"), kind) for kind in (IllegalTransition, VersionConflict)),
        (LimitExceeded("max_tokens", "501 of 500"), LimitExceeded),
        (PlanCancelled("p-1", "no longer wanted"), PlanCancelled),
        (RateLimited("slow down", retry_after=timedelta(seconds=2.5)), RateLimited),
        (TooOld("the file is of version 9"), ConfigError),
    ],
)
async def test_an_error_of_our_tree_comes_out_as_the_class_it_had_or_is_derived_from_with_what_it_carries(
    path: Path, error: SoormaError, told: type[SoormaError]
) -> None:
    async with serving(path, raising(error)):
        with pytest.raises(SoormaError) as raised:
            await ask_owner(path, {}, timeout=5)
    carried = {name: value for name, value in vars(error).items() if name != "counts"}  # which only a handling reads
    assert (type(raised.value), str(raised.value)) == (told, str(error))
    assert vars(raised.value).items() >= carried.items()


async def test_a_bug_in_the_owner_is_answered_reported_and_survived(path: Path, reports: list[object]) -> None:
    async def handle(request: JsonObject) -> JsonObject:
        return {"cost": 1 / 0} if request else {"still": "here"}

    async with serving(path, handle):
        with pytest.raises(SoormaError, match="its log says why"):
            await ask_owner(path, {"divide": True}, timeout=5)
        assert await ask_owner(path, {}, timeout=5) == {"still": "here"}
    assert [type(error) for error in reports] == [ZeroDivisionError]


async def test_a_line_that_is_malformed_or_too_long_is_answered_and_the_next_one_is_heard(path: Path) -> None:
    malformed = dict.fromkeys((b"not json", b"[1, 2]", b"\xff\xfe", b"", b'{"a":' * 20_000), "no JSON object")
    too_long = {b'{"text": "' + b"x" * (2 * LONGEST_LINE) + b'"}': "longer than 4194304 bytes"}
    async with serving(path):
        reader, writer = await asyncio.open_unix_connection(path)
        for line, fault in (malformed | too_long).items():
            writer.write(line + b'\n{"n": 1}\n')
            refused = json.loads(await reader.readline())["error"]
            assert (refused["code"], fault in refused["message"]) == ("remote_protocol", True), line[:20]
            assert json.loads(await reader.readline()) == {"heard": {"n": 1}}
        writer.close()


async def test_four_mebibytes_go_and_come_back_and_more_is_refused(path: Path) -> None:
    async def answer(request: JsonObject) -> JsonObject:
        return {"text": request.get("text", "x" * LONGEST_LINE)}

    text = "x" * (LONGEST_LINE - 100)
    async with serving(path, answer):
        assert await ask_owner(path, {"text": text}, timeout=30) == {"text": text}
        with pytest.raises(LocalProtocolError, match="the request has"):
            await ask_owner(path, {"text": "x" * LONGEST_LINE}, timeout=5)
        with pytest.raises(LocalProtocolError, match="ask for less"):
            await ask_owner(path, {}, timeout=5)


async def test_a_request_that_breaks_off_is_not_carried_out(path: Path) -> None:
    heard: list[JsonObject] = []

    async def handle(request: JsonObject) -> JsonObject:
        heard.append(request)
        return {}

    async with serving(path, handle):
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(b'{"do": "cancel"}')
        writer.write_eof()
        assert await reader.read() == b""
        writer.close()
    assert heard == []


async def test_who_hangs_up_before_the_answer_does_no_harm(path: Path, reports: list[object]) -> None:
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def handle(request: JsonObject) -> JsonObject:
        asked.set()
        await go_on.wait()
        return {"text": "x" * 1_000_000}

    async with serving(path, handle):
        _, writer = await asyncio.open_unix_connection(path)
        writer.write(b"{}\n")
        await asked.wait()
        writer.close()
        await writer.wait_closed()
        go_on.set()
        assert "text" in await ask_owner(path, {}, timeout=5)
    gc.collect()
    assert reports == []


async def test_nobody_at_the_socket_or_one_who_dies_in_the_middle_means_the_owner_is_gone(path: Path) -> None:
    with pytest.raises(OwnerGone):
        await ask_owner(path, {}, timeout=5)
    left_behind(path)
    with pytest.raises(OwnerGone, match="look again who owns the file"):
        await ask_owner(path, {}, timeout=5)
    async with raw_line_server(path, b'{"heard": '):
        with pytest.raises(OwnerGone):
            await ask_owner(path, {}, timeout=5)


async def test_closing_gives_up_the_requests_in_hand(path: Path) -> None:
    asked = asyncio.Event()

    async def handle(request: JsonObject) -> JsonObject:
        asked.set()
        await asyncio.Event().wait()
        return {}

    server = ControlServer(path, handle)
    await server.start()
    question = asyncio.create_task(ask_owner(path, {}, timeout=30))
    await asked.wait()
    await server.close()
    with pytest.raises(OwnerGone):
        await question


async def test_closing_does_not_wait_for_a_connection_that_says_nothing(path: Path) -> None:
    async with serving(path):
        reader, writer = await asyncio.open_unix_connection(path)
    assert await reader.read() == b""
    writer.close()


async def test_an_owner_that_takes_too_long_is_busy_not_gone(path: Path) -> None:
    async with serving(path, waiting_for_ever):
        with pytest.raises(StoreUnavailable, match="no answer in") as slow:
            await ask_owner(path, {}, timeout=0.01)
    assert not isinstance(slow.value, OwnerGone)


async def test_an_owner_that_does_not_even_listen_keeps_nobody_longer_than_asked(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(path))
        deaf.listen()
        with pytest.raises(StoreUnavailable, match="no answer in"):
            await ask_owner(path, {"text": "x" * 4_000_000}, timeout=0.01)


async def test_closing_does_not_wait_for_a_client_that_does_not_read_its_answer(path: Path) -> None:
    async with serving(path):
        reader, writer = await asyncio.open_unix_connection(path, limit=2**10)
        writer.write(b'{"text": "' + b"x" * 4_000_000 + b'"}\n')
        assert await reader.readexactly(1)
    assert len(await reader.read()) < 4_000_000
    writer.close()


async def test_out_of_descriptors_the_owner_lives_on(
    path: Path, reports: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("soorma_ai.adapters.owner.control._PAUSE", 0.0)
    async with serving(path):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with socket.socket(socket.AF_UNIX) as client:
            client.setblocking(False)
            lowest_free = os.dup(client.fileno())
            os.close(lowest_free)
            resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, hard))
            try:
                client.connect(str(path))
                client.send(b"{}\n")
                for _ in range(10):
                    await asyncio.sleep(0)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            assert await asyncio.get_running_loop().sock_recv(client, 100) == b'{"heard":{}}\n'
    assert reports == []


@pytest.mark.parametrize(
    ("line", "kind", "message"),
    [
        (b"hello\n", RemoteProtocolError, "the owner's answer is no JSON object"),
        (b'{"error": {"code": "from_the_future", "message": "no idea"}}\n', SoormaError, "no idea"),
    ],
)
async def test_an_answer_that_nobody_understands_is_an_error(
    path: Path, line: bytes, kind: type[SoormaError], message: str
) -> None:
    async with raw_line_server(path, line):
        with pytest.raises(kind, match=message):
            await ask_owner(path, {}, timeout=5)
