"""A server of scripted models on loopback, each under a path of its own, for any wire."""

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from wires import WIRES
from wires.form import Question, Reply, Wire, WireResponse

Answer = Callable[[str, Question], Reply]


class Loopback:
    """`answer` gets the name of the requested model, and the question, in one thread at a time. Its exception cuts the
    connection, and is raised again at the close of the server."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._one_at_a_time = threading.Lock()
        self._faults: list[Exception] = []
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.respond = self._respond

    def address(self, model: str, wire: Wire) -> str:
        """Return the address of this model's provider for a client."""
        return f"http://127.0.0.1:{self._http.server_port}/{model}{wire.base}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True, name="loopback").start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._http.shutdown()
        self._http.server_close()
        if self._faults and error is None:
            raise self._faults[0]

    def _respond(self, path: str, content: str) -> WireResponse | None:
        try:
            with self._one_at_a_time:
                return self._send(path, content)
        except Exception as fault:
            self._faults.append(fault)
            return None

    def _send(self, path: str, content: str) -> WireResponse:
        model, _, rest = path.removeprefix("/").partition("/")
        for wire in WIRES.values():
            if beside := wire.beside.get(f"/{rest}"):
                return WireResponse(beside)
            if f"/{rest}".endswith(wire.path):
                question = replace(wire.read(json.loads(content)), size=len(content))
                return wire.send(self._answer(model, question), question)
        raise ValueError(f"asked at {path}, which is no path of {', '.join(WIRES)}")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    respond: Callable[[str, str], WireResponse | None]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client hanging up is no fault."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # one write per answer

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        length = int(self.headers["content-length"])
        content = self.rfile.read(length)
        if len(content) < length:
            self.close_connection = True  # the client hung up
            return
        assert isinstance(self.server, _Server)
        sent = self.server.respond(self.path.partition("?")[0], content.decode())
        if sent is None:
            self.close_connection = True
            return
        encoded = json.dumps(sent.body).encode()
        self.send_response(sent.status)
        for name, value in {"content-type": "application/json", **sent.headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)
