"""Hostile clients of `soorma serve`, on real sockets: silent connections, slow headers, streams without end.

`SOORMA_TEST_CONNECTIONS=4100` runs it with this number of silent connections, and the file limit of a common server.
"""

import os
import resource
import select
import socket
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
from cli_kit import SOORMA, Shop
from http_process import ServerProcess, start_server

SILENT = int(os.environ.get("SOORMA_TEST_CONNECTIONS", "400"))
FILES = 256 if SILENT <= 400 else SILENT
SLOW = 500 if SILENT > 400 else 150
STREAMS = 2_000 if SILENT > 400 else 60
HALF_A_REQUEST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "


@pytest.fixture(autouse=True)
def files() -> Generator[None]:
    """Let this process hold its side of the connections."""
    before = soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 3 * SILENT)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@contextmanager
def connections(
    served: ServerProcess, number: int, *, host: str = "127.0.0.1", said: bytes = b""
) -> Generator[list[socket.socket]]:
    with ExitStack() as stack:
        opened: list[socket.socket] = []
        for _ in range(number):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", served.port), 30, (host, 0)))
            opened.append(one)
            if said:
                one.sendall(said)
        yield opened


def is_served(served: ServerProcess, times: int = 5) -> bool:
    """Tell whether new connections are answered, each within a few seconds."""
    return all(httpx.get(f"{served.url}/readyz", timeout=5).status_code == 200 for _ in range(times))


def until_closed(opened: list[socket.socket], seconds: float = 30) -> list[bytes]:
    """Return the bytes of each connection until the server closed it."""
    got = dict.fromkeys(opened, b"")
    left, end = set(opened), time.monotonic() + seconds
    poll = select.poll()
    by_number = {one.fileno(): one for one in opened}
    for one in opened:
        poll.register(one, select.POLLIN)
    while left and time.monotonic() < end:
        for number, _ in poll.poll(1_000):
            one = by_number[number]
            try:
                found = one.recv(65_536)
            except ConnectionResetError:
                found = b""
            got[one] += found
            if not found:
                left.discard(one)
                poll.unregister(one)
    assert not left, f"{len(left)} of {len(opened)} connections are still open"
    return [got[one] for one in opened]


def test_silent_connections_up_to_the_file_limit_leave_room_for_other_clients(tmp_path: Path) -> None:
    with start_server(tmp_path / "shop.db", files=FILES) as served, connections(served, SILENT, host="127.0.0.2"):
        assert is_served(served)
        with connections(served, SILENT, host="127.0.0.3"):
            assert is_served(served)


def test_silent_connections_of_one_address_leave_room_for_its_other_clients(tmp_path: Path) -> None:
    with start_server(tmp_path / "shop.db", files=FILES) as served, connections(served, SILENT):
        assert is_served(served)


def test_a_silent_connection_is_closed_in_time_without_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOORMA_HEADER_TIMEOUT", "1")
    with start_server(tmp_path / "shop.db") as served, connections(served, 20) as opened:
        assert set(until_closed(opened)) == {b""}


def test_slow_headers_are_cut_off_in_time_and_other_clients_are_served_throughout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOORMA_HEADER_TIMEOUT", "2")
    with start_server(tmp_path / "shop.db") as served, connections(served, SLOW, said=HALF_A_REQUEST) as opened:
        end = time.monotonic() + 1
        while time.monotonic() < end:  # a byte now and then is no progress
            for one in opened:
                one.sendall(b"x")
            assert is_served(served, 1)
        assert all(found.startswith(b"HTTP/1.1 408 ") for found in until_closed(opened))


def test_an_idle_connection_is_closed_after_its_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOORMA_KEEP_ALIVE", "1")
    said = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with start_server(tmp_path / "shop.db") as served, connections(served, 5, said=said) as opened:
        assert all(found.startswith(b"HTTP/1.1 200 ") for found in until_closed(opened))


def test_a_body_continued_after_its_answer_holds_no_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOORMA_HEADER_TIMEOUT", "1")
    said = b"POST /v1/plans HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999\r\n\r\n"
    with start_server(tmp_path / "shop.db") as served, connections(served, 1, said=said) as (one,):
        assert one.recv(12) == b"HTTP/1.1 413"
        one.sendall(b"x")  # ends the time limit between two requests
        until_closed([one])


def test_an_address_with_too_many_calls_is_refused_and_other_addresses_are_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOORMA_MAX_CONNECTIONS_OF_ADDRESS", "4")
    said = b"GET /v1/events/stream HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with start_server(tmp_path / "shop.db") as served, connections(served, 4, host="127.0.0.2", said=said) as streams:
        assert all(one.recv(12) == b"HTTP/1.1 200" for one in streams)
        with connections(served, 1, host="127.0.0.2") as refused:
            (found,) = until_closed(refused)
            assert found.startswith(b"HTTP/1.1 503 ") and b'"code":"overloaded"' in found
        assert is_served(served)


def test_streams_of_one_tenant_leave_room_for_other_tenants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    most = 16 if STREAMS <= 60 else 500
    monkeypatch.setenv("SOORMA_MAX_STREAMS_OF_TENANT", str(most))
    with ExitStack() as stack:
        files = None if STREAMS > 60 else FILES
        served = stack.enter_context(start_server(tmp_path / "shop.db", "--auth", "keys", files=files))
        tokens = [_key(tmp_path / "shop.db", "loud", number) for number in range(max(4, STREAMS // 100))]
        other = {"Authorization": f"Bearer {_key(tmp_path / 'shop.db', 'quiet', 1)}"}
        answers: list[bytes] = []
        for number in range(STREAMS):
            said = _stream(tokens[number % len(tokens)])
            (one,) = stack.enter_context(connections(served, 1, host=f"127.0.0.{2 + number % 4}", said=said))
            answers.append(one.recv(12))
        assert answers == [b"HTTP/1.1 200"] * most + [b"HTTP/1.1 429"] * (STREAMS - most)
        with httpx.stream("GET", f"{served.url}/v1/events/stream", headers=other, timeout=10) as stream:
            assert stream.status_code == 200 and next(stream.iter_lines()) == "retry: 2000"
        loud = {"Authorization": f"Bearer {tokens[0]}"}
        assert httpx.get(f"{served.url}/v1/plans", headers=loud).status_code == 200
        refused = httpx.get(f"{served.url}/v1/events/stream", headers=loud)
        assert refused.status_code == 429 and "of your tenant" in refused.json()["detail"]


def _key(store: Path, tenant: str, number: int) -> str:
    """Return the token of a new key of an operator."""
    made = Shop(store).json("keys", "create", "--tenant", tenant, "--user", f"u{number}", "--role", "operator")
    return made["token"]


def _stream(token: str) -> bytes:
    return f"GET /v1/events/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode()


def test_more_connections_than_files_are_refused_at_the_start(tmp_path: Path) -> None:
    command = 'ulimit -n 256; SOORMA_MAX_CONNECTIONS=1000 exec "$@"'
    serve = (*SOORMA, "serve", "orders:agents", "--port", "0")
    done = Shop(tmp_path / "shop.db").process("sh", "-c", command, "sh", *serve)
    assert done.returncode != 0
    assert "1000 connections need 1125 open files, and this process may have 256" in done.stderr
