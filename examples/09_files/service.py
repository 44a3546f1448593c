"""A service on this machine that reads files. As services are, it is busy, breaks, hangs up, and wants to be paid."""

import json
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Self

_FAULTS = (429, 503, None, 200)  # None: the connection is cut, after the page was read and paid


class Service:
    """Reads every file but those named `lost-...`. Of the first calls for a file some go wrong, each file's otherwise.
    `paid` counts payments, by the key of the request."""

    def __init__(self) -> None:
        self.paid = Counter[str]()
        self.calls = Counter[str]()
        self._lock = Lock()
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                service.answer(self)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        name, key = request.path.rpartition("/")[2], request.headers["Idempotency-Key"]
        with self._lock:
            self.calls[name] += 1
            call = self.calls[name]
            status = _FAULTS[(len(name) + int(name[-1:] or "0", 36)) % 4] if call == 1 else 200
            if name.startswith("lost"):
                status = 404
            if status in (None, 200) and key not in self.paid:
                self.paid[key] += 1
        if status is None:
            request.close_connection = True
            return
        body = json.dumps({"words": 100}).encode() if status == 200 else b"{}"
        request.send_response(status)
        request.send_header("Content-Length", str(len(body)))
        if status == 429:
            request.send_header("Retry-After", "0.05")
        request.end_headers()
        request.wfile.write(body)
