"""Scripted model on loopback with the wire formats of OpenAI, Anthropic, Gemini and Ollama, by the requested path:
tests run the real client over real HTTP."""

import json
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from msgspec import Struct, field

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.values import Json, JsonObject, follow

_CAPABILITIES = "/api/show"  # of a model of Ollama, which its client asks first


class Reply(Struct, frozen=True):
    """Answer of the model. `text` goes into the content, or into a call of the offered tool, as requested. `tool_calls`
    are (name, arguments) pairs, beside it; name None is the first offered tool. `finish` is the end of the answer, in
    the provider's own words; "" leaves it out. `raw` is a whole body. `silent` never answers: the client waits until
    its own end or the server's close."""

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
    """Return an error in the providers' shape."""
    body: JsonObject = {"error": {"message": message, "type": "error", "param": None, "code": code}}
    return Reply(status=status, raw=json.dumps(body), headers=headers or {})


class ModelServer:
    """Server with a script: `respond` gets the body of each request, in one thread at a time.

    An exception in it cuts the connection, and is raised again at the server's close. `requests` are the bodies, in
    order of arrival.
    """

    def __init__(self, respond: Respond) -> None:
        self.requests: list[JsonObject] = []
        self._respond = respond
        self._one_at_a_time = threading.Lock()
        self._closing = threading.Event()
        self._faults: list[BaseException] = []
        self._http: _HttpServer | None = None

    @property
    def url(self) -> str:
        if self._http is None:
            raise ConfigError("the model server is not running; use it as a context manager")
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def __enter__(self) -> Self:
        self._closing.clear()
        self._http = _HttpServer(self._answer, self._faults)
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True, name="model-server").start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()
        if self._faults and error is None:
            raise self._faults[0]

    def close(self) -> None:
        """Stop listening and cut the open connections: no further answer is sent."""
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


class _HttpServer(ThreadingHTTPServer):
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
        """Keep the script's exception; a hang-up of a client is no fault."""
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
    def _owner(self) -> _HttpServer:
        assert isinstance(self.server, _HttpServer)
        return self.server

    def setup(self) -> None:
        super().setup()
        self._owner.connections.add(self.connection)

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body: JsonObject = json.loads(self.rfile.read(length) or b"{}")
        path = self.path.partition("?")[0]
        form = next((form for ending, form in _FORMS.items() if path.endswith(ending)), None)
        if path.endswith(_CAPABILITIES):
            self._send(Reply(raw='{"model_info": {}, "capabilities": ["completion", "tools"]}'), {}, _openai)
        elif form is None:
            self._send(failure(404, f"this server answers only {', '.join(_FORMS)}, not {self.path}"), {}, _openai)
        elif (reply := self._owner.answer(body)) is None:
            self.close_connection = True
        else:
            self._send(reply, body, form)

    def _send(self, reply: Reply, body: JsonObject, form: "_Form") -> None:
        content = reply.raw if reply.raw is not None else json.dumps(form(reply, body))
        encoded = content.encode() if isinstance(content, str) else content
        self.send_response(reply.status)
        for name, value in {"content-type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)


_Form = Callable[[Reply, JsonObject], JsonObject]


def _openai(reply: Reply, body: JsonObject) -> JsonObject:
    tool = follow(body, ["tools", 0, "function", "name"], None)
    calls = _calls(reply, tool)
    is_called = bool(calls) and reply.tool_calls is None
    message: JsonObject = {"role": "assistant", "content": None if is_called else reply.text, "refusal": reply.refusal}
    if calls:
        message["tool_calls"] = [
            {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": said}}
            for number, (name, said) in enumerate(calls)
        ]
    choice: JsonObject = {"index": 0, "message": message, "logprobs": None}
    out: JsonObject = {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": body.get("model", ""),
        "choices": [{**choice, "finish_reason": _finish(reply, "tool_calls" if calls else "stop")}],
    }
    if reply.usage is not None:
        prompt, completion = reply.usage
        used: JsonObject = {"prompt_tokens": prompt, "completion_tokens": completion}
        out["usage"] = {**used, "total_tokens": prompt + completion}
    return out


def _anthropic(reply: Reply, body: JsonObject) -> JsonObject:
    calls = _calls(reply, follow(body, ["tools", 0, "name"], None))
    content: list[Json] = [
        {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": json.loads(said)}
        for number, (name, said) in enumerate(calls)
    ]
    out: JsonObject = {
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", ""),
        "content": content or [{"type": "text", "text": reply.text}],
        "stop_reason": _finish(reply, "tool_use" if calls else "end_turn"),
        "stop_sequence": None,
    }
    prompt, completion = reply.usage or (None, None)
    return {**out, "usage": {"input_tokens": prompt, "output_tokens": completion} if reply.usage else {}}


def _gemini(reply: Reply, body: JsonObject) -> JsonObject:
    tool = follow(body, ["tools", 0, "function_declarations", 0, "name"], None)
    parts: list[Json] = [
        {"functionCall": {"name": name, "args": json.loads(said)}} for name, said in _calls(reply, tool)
    ]
    content: JsonObject = {"role": "model", "parts": parts or [{"text": reply.text}]}
    out: JsonObject = {"candidates": [{"content": content, "finishReason": _finish(reply, "STOP"), "index": 0}]}
    if reply.usage is not None:
        prompt, completion = reply.usage
        used: JsonObject = {"promptTokenCount": prompt, "candidatesTokenCount": completion}
        out["usageMetadata"] = {**used, "totalTokenCount": prompt + completion}
    return out


def _ollama(reply: Reply, body: JsonObject) -> JsonObject:
    calls = _calls(reply, follow(body, ["tools", 0, "function", "name"], None))
    message: JsonObject = {"role": "assistant", "content": "" if calls else reply.text}
    if calls:
        message["tool_calls"] = [{"function": {"name": name, "arguments": json.loads(said)}} for name, said in calls]
    finish = _finish(reply, "stop")
    out: JsonObject = {"model": body.get("model", ""), "created_at": "2026-01-01T00:00:00Z", "message": message}
    prompt, completion = reply.usage or (None, None)
    used: JsonObject = {"prompt_eval_count": prompt, "eval_count": completion} if reply.usage else {}
    return {**out, "done": True, **({"done_reason": finish} if finish else {}), **used}


_FORMS: dict[str, _Form] = {
    "/chat/completions": _openai,
    "/messages": _anthropic,
    ":generateContent": _gemini,
    "/api/chat": _ollama,
}


def _calls(reply: Reply, tool: Json) -> list[tuple[str, str]]:
    """Return the calls of tools, by name; a `text` is a call of the offered tool."""
    given = reply.tool_calls
    if given is None:
        given = [(None, reply.text)] if reply.text is not None and tool else []
    return [(str(tool or "unknown") if name is None else name, said) for name, said in given]


def _finish(reply: Reply, usual: str) -> str | None:
    return usual if reply.finish is None else reply.finish or None
