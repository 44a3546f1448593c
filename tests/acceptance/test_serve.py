"""`soorma serve` as a process: real sockets, signals and deaths."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import httpx
import pytest
from cli_kit import APPS, SOORMA, Shop
from http_process import ServerProcess, start_server

CHECK = {"goal": "order.check", "data": {"order_id": "o-1"}}
PLACE = {"goal": "order.place", "data": {"order_id": "o-1"}}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Generator[ServerProcess]:
    with start_server(tmp_path_factory.mktemp("serve") / "shop.db", "--role", "manager") as served:
        yield served


def test_a_plan_goes_from_its_goal_to_its_end_over_a_socket(shared: ServerProcess) -> None:
    with httpx.Client(base_url=shared.url, timeout=30) as http:
        plan_id = http.post("/v1/plans", json=PLACE).json()["plan_id"]
        with http.stream("GET", f"/v1/plans/{plan_id}/events") as stream:
            for line in stream.iter_lines():
                if '"notification.human_input"' in line:
                    (wait,) = [one for one in http.get("/v1/waits").json()["items"] if one["plan_id"] == plan_id]
                    said = http.post(f"/v1/waits/{wait['wait_id']}/answer", json={"payload": {"approved": True}})
                    assert said.json()["outcome"] == "accepted"
            assert line == "" or "completed" in line
        end = http.get(f"/v1/plans/{plan_id}/result").json()
    assert (end["status"], end["result"]) == ("completed", {"paid": True})


def test_sigterm_ends_streams_answers_waiting_calls_and_exits_with_0(tmp_path: Path) -> None:
    with start_server(tmp_path / "shop.db") as served:
        plan_id = httpx.post(f"{served.url}/v1/plans", json=PLACE).json()["plan_id"]
        with (
            httpx.stream("GET", f"{served.url}/v1/events/stream?after=0", timeout=60) as stream,
            socket.create_connection(("127.0.0.1", served.port), timeout=60) as waiting,
        ):
            lines = stream.iter_lines()
            assert next(lines) == "retry: 2000"
            waiting.sendall(f"GET /v1/plans/{plan_id}/result?wait=30 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            next(line for line in lines if "notification.human_input" in line)
            assert httpx.get(f"{served.url}/readyz").status_code == 200  # all earlier calls have arrived
            served.process.send_signal(signal.SIGTERM)
            for _ in lines:  # until its end
                pass
            assert waiting.recv(12) == b"HTTP/1.1 202"
        assert served.process.wait(30) == 0


def test_a_key_finds_the_plan_of_a_server_killed_before_its_answer(tmp_path: Path) -> None:
    key = {"Idempotency-Key": "order o-1"}
    with start_server(tmp_path / "shop.db") as served:
        request = httpx.Request("POST", f"{served.url}/v1/plans", json=CHECK, headers=key)
        head = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
        with socket.create_connection(("127.0.0.1", served.port)) as connection:
            connection.sendall(f"POST /v1/plans HTTP/1.1\r\n{head}\r\n".encode() + request.content)
            connection.recv(1)  # the answer has begun, and no byte of it is read
            served.process.kill()
            served.process.wait()
    with start_server(tmp_path / "shop.db") as served, httpx.Client(base_url=served.url, timeout=30) as http:
        made = [http.post("/v1/plans", json=CHECK, headers=key).json()["plan_id"] for _ in range(2)]
        assert len(set(made)) == 1
        assert [plan["plan_id"] for plan in http.get("/v1/plans").json()["items"]] in ([], made[:1])
        assert http.get(f"/v1/plans/{made[0]}/result?wait=20").json()["status"] == "completed"


def test_a_body_declared_too_long_is_refused_before_it_is_sent(shared: ServerProcess) -> None:
    with socket.create_connection(("127.0.0.1", shared.port), timeout=10) as connection:
        connection.sendall(
            b"POST /v1/plans HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Content-Length: 1000000000\r\n\r\n"
        )
        assert b" 413 " in connection.recv(4096)


def test_other_clients_are_served_beside_one_not_reading_its_stream(shared: ServerProcess) -> None:
    with socket.create_connection(("127.0.0.1", shared.port), timeout=10) as silent:
        silent.sendall(b"GET /v1/events/stream?after=0 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        big = {"topic": "business-facts", "event_type": "shop.filled", "data": {"x": "x" * 500_000}}
        with httpx.Client(base_url=shared.url, timeout=30) as http:
            for _ in range(20):
                assert http.post("/v1/events", json=big).status_code == 201
            assert http.get("/readyz").status_code == 200


def test_a_non_local_host_needs_an_authenticator(tmp_path: Path) -> None:
    refused = Shop(tmp_path / "shop.db").process(*SOORMA, "serve", "orders:agents", "--host", "0.0.0.0", "--port", "0")
    assert refused.returncode == 1
    assert "without --auth nobody is asked who they are" in refused.stderr
    assert not (tmp_path / "shop.db").exists()


def test_an_authenticator_identifies_the_caller_by_its_token(tmp_path: Path) -> None:
    with start_server(tmp_path / "shop.db", "--auth", "doors:keys") as served:
        assert httpx.get(f"{served.url}/v1/plans").status_code == 401
        known = httpx.get(f"{served.url}/v1/plans", headers={"authorization": "Bearer maria's"})
        assert (known.status_code, known.json()["items"]) == (200, [])


def test_a_key_is_created_used_and_revoked_on_a_running_server(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop.db")
    with start_server(shop.store, "--auth", "keys") as served, httpx.Client(base_url=served.url) as http:
        made = shop.json("keys", "create", "--user", "maria")
        bearer = {"authorization": f"Bearer {made['token']}"}
        assert http.get("/v1/plans", headers=bearer).status_code == 200
        assert http.get("/v1/plans", headers={"authorization": bearer["authorization"][:-1]}).status_code == 401
        shop.json("keys", "revoke", made["key_id"])
        assert http.get("/v1/plans", headers=bearer).status_code == 401


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--auth", "doors:nothing"], "doors has no 'nothing'"),
        (["--auth", "doors:number"], "it must be an object with"),
        (["--auth", "doors:keys", "--role", "manager"], "--role is for callers without a token"),
    ],
)
def test_contradictory_or_invalid_options_are_refused(tmp_path: Path, options: list[str], said: str) -> None:
    refused = Shop(tmp_path / "shop.db").process(*SOORMA, "serve", "orders:agents", "--port", "0", *options)
    assert refused.returncode in (1, 2)
    assert said in " ".join(refused.stderr.split())


def test_the_package_without_its_server_loads_no_server() -> None:
    loaded = "import json, sys, soorma_ai.apps.cli.commands.serve; print(json.dumps(list(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", loaded], check=True, capture_output=True, text=True, cwd=APPS)
    assert {"starlette", "uvicorn"}.isdisjoint(json.loads(ran.stdout))
