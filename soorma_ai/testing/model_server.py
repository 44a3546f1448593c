"""A scripted model on loopback that speaks the OpenAI wire format, so that tests run the real client over real HTTP."""

import json
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from soorma_ai.domain.values import Json, JsonObject, follow
from soorma_ai.errors import ConfigError

_COMPLETIONS = "/chat/completions"


@dataclass(frozen=True)
class Reply:
    """An answer of the model. `text` goes where it was asked for: into the content, or into a call of the offered tool.

    `tool_calls` are (name, arguments) pairs instead; name None is the first offered tool. `raw` is the whole body as
    it stands. `silent` never answers: the client waits until it gives up or the server closes.
    """

    text: str | None = None
    status: int = 200
    refusal: str | None = None
    finish: str | None = None
    usage: tuple[int, int] | None = (100, 20)
    raw: str | bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    tool_calls: Sequence[tuple[str | None, str]] | None = None
    silent: bool = False


Respond = Callable[[JsonObject], Reply]


def failure(status: int, message: str, *, code: str | None = None, headers: Mapping[str, str] | None = None) -> Reply:
    """Return an error in the shape that providers give it."""
    body: JsonObject = {"error": {"message": message, "type": "error", "param": None, "code": code}}
    return Reply(status=status, raw=json.dumps(body), headers=headers or {})


class ModelServer:
    """A server whose `respond` gets the body of each request, in one thread at a time.

    An exception in it cuts the connection, and is raised again when the server closes. `requests` are the bodies, in
    order of arrival.
    """

    def __init__(self, respond: Respond) -> None:
        self.requests: list[JsonObject] = []
        self._respond = respond
        self._one_at_a_time = threading.Lock()
        self._closing = threading.Event()
        self._faults: list[BaseException] = []
        self._http: _Server | None = None

    @property
    def url(self) -> str:
        if self._http is None:
            raise ConfigError("the model server is not running; use it as a context manager")
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def __enter__(self) -> Self:
        self._closing.clear()
        self._http = _Server(self._answer, self._faults)
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True, name="model-server").start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()
        if self._faults and error is None:
            raise self._faults[0]

    def close(self) -> None:
        """Stop listening and cut the connections that are open: nothing is answered after this."""
        if self._http is not None:
            self._closing.set()
            self._http.stop()
            self._http = None

    def _answer(self, body: JsonObject) -> Reply | None:
        with self._one_at_a_time:
            self.requests.append(body)
            reply = self._respond(body)
        if reply.silent:
            self._closing.wait()
            return None
        return reply


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, answer: Callable[[JsonObject], Reply | None], faults: list[BaseException]) -> None:
        self.answer = answer
        self._faults = faults
        self.connections: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), _Handler)

    def shutdown_request(self, request: socket.socket | tuple[bytes, socket.socket]) -> None:
        if isinstance(request, socket.socket):
            self.connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: socket.socket | tuple[bytes, socket.socket], client_address: object) -> None:
        """Keep what the script raised; a client that hangs up is no fault."""
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, OSError):
            self._faults.append(error)

    def stop(self) -> None:
        self.shutdown()
        self.server_close()
        for connection in list(self.connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # one write per answer

    @property
    def _owner(self) -> _Server:
        assert isinstance(self.server, _Server)
        return self.server

    def setup(self) -> None:
        super().setup()
        self._owner.connections.add(self.connection)

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body: JsonObject = json.loads(self.rfile.read(length) or b"{}")
        if not self.path.partition("?")[0].endswith(_COMPLETIONS):
            self._send(failure(404, f"this server answers only {_COMPLETIONS}, not {self.path}"), {})
            return
        reply = self._owner.answer(body)
        if reply is None:
            self.close_connection = True
        else:
            self._send(reply, body)

    def _send(self, reply: Reply, body: JsonObject) -> None:
        content = reply.raw if reply.raw is not None else json.dumps(_completion(reply, body))
        encoded = content.encode() if isinstance(content, str) else content
        self.send_response(reply.status)
        for name, value in {"content-type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)


def _completion(reply: Reply, body: JsonObject) -> JsonObject:
    tools = body.get("tools")
    calls = reply.tool_calls
    if calls is None and reply.text is not None and tools:
        calls = [(None, reply.text)]
    message: JsonObject = {"role": "assistant", "content": None if calls else reply.text, "refusal": reply.refusal}
    if calls:
        message["tool_calls"] = [_call(number, name, said, tools) for number, (name, said) in enumerate(calls)]
    finish = reply.finish or ("tool_calls" if calls else "stop")
    out: JsonObject = {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": body.get("model", ""),
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
    }
    if reply.usage is not None:
        prompt, completion = reply.usage
        used: JsonObject = {"prompt_tokens": prompt, "completion_tokens": completion}
        out["usage"] = {**used, "total_tokens": prompt + completion}
    return out


def _call(number: int, name: str | None, arguments: str, tools: Json) -> Json:
    first = follow(tools, [0, "function", "name"], "unknown")
    return {"id": f"call_{number}", "type": "function", "function": {"name": name or first, "arguments": arguments}}
