"""The scripted model server answers in the requested shape, fast enough for hundreds of calls."""

import asyncio
import http.client
import json
import time
from typing import Any

import httpx
import pytest

from soorma_ai.errors import ConfigError
from soorma_ai.testing.model_server import ModelServer, Reply

TOOL = {"type": "function", "function": {"name": "Decision", "parameters": {}}}


def post_to(server: ModelServer, body: dict[str, Any], path: str = "/chat/completions") -> httpx.Response:
    return httpx.post(server.url + path, json={"model": "m", "messages": [], **body}, timeout=5)


def test_the_answer_has_the_requested_shape() -> None:
    with ModelServer(lambda _: Reply('{"a": 1}', usage=(7, 5))) as server:
        content = post_to(server, {"response_format": {"type": "json_schema"}}).json()
        called = post_to(server, {"tools": [TOOL]}).json()
    assert content["choices"][0]["message"]["content"] == '{"a": 1}'
    assert content["choices"][0]["finish_reason"] == "stop"
    assert content["usage"] == {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
    (call,) = called["choices"][0]["message"]["tool_calls"]
    assert call["function"] == {"name": "Decision", "arguments": '{"a": 1}'}
    assert called["choices"][0]["finish_reason"] == "tool_calls"
    assert [body["model"] for body in server.requests] == ["m", "m"]


def test_a_raw_reply_is_sent_unchanged() -> None:
    with ModelServer(lambda _: Reply(raw="<html>", status=503, headers={"retry-after": "9"})) as server:
        answer = post_to(server, {})
    assert (answer.status_code, answer.text, answer.headers["retry-after"]) == (503, "<html>", "9")


def test_another_path_is_not_found_and_not_recorded() -> None:
    with ModelServer(lambda _: Reply("x")) as server:
        assert post_to(server, {}, "/embeddings").status_code == 404
    assert server.requests == []


def test_an_exception_of_the_script_reaches_the_test() -> None:
    def respond(_: object) -> Reply:
        raise ZeroDivisionError("in the script")

    with (
        pytest.raises(ZeroDivisionError, match="in the script"),
        ModelServer(respond) as server,
        pytest.raises(httpx.HTTPError),
    ):
        post_to(server, {})


def test_a_closed_server_answers_no_open_connection() -> None:
    with ModelServer(lambda _: Reply("x")) as server:
        host = server.url.removeprefix("http://").partition("/")[0]
        connection = http.client.HTTPConnection(host, timeout=5)
        connection.request("POST", "/v1/chat/completions", json.dumps({"model": "m"}))
        assert connection.getresponse().read()
    with pytest.raises(OSError):
        connection.sock.sendall(b"POST / HTTP/1.1\r\n\r\n")
        assert connection.sock.recv(1) == b"", "no answer comes"
        raise ConnectionResetError
    connection.close()
    with pytest.raises(ConfigError, match="not running"):
        _ = server.url


async def test_it_serves_hundreds_of_calls() -> None:
    async def ask(client: httpx.AsyncClient, worker: int) -> list[str]:
        names = [f"{worker}-{number}" for number in range(100)]
        answers = [await client.post(f"{server.url}/chat/completions", json={"model": name}) for name in names]
        assert [answer.json()["choices"][0]["message"]["content"] for answer in answers] == names
        return names

    with ModelServer(lambda body: Reply(str(body["model"]))) as server:
        async with httpx.AsyncClient(timeout=30) as client:
            started = time.perf_counter()
            await asyncio.gather(*(ask(client, worker) for worker in range(4)))
            took = time.perf_counter() - started
    assert len(server.requests) == 400
    assert took < 8
