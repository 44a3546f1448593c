"""Receiver of webhooks, in a thread of its own."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from soorma_ai.gateways.webhooks import Post


class Receiver:
    """A server: answers with the next of these statuses, the last for ever, while `is_open`."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)
        self.repeats_challenges = False
        self.posts: list[Post] = []
        self.is_open = threading.Event()
        self.is_open.set()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.posts.append(Post({k.lower(): v for k, v in self.headers.items()}, body))
                receiver.is_open.wait()
                status = receiver.statuses.pop(0) if len(receiver.statuses) > 1 else receiver.statuses[0]
                self.send_response(status)
                self.send_header("location", "http://127.0.0.1:1/elsewhere")
                answer = body if receiver.repeats_challenges and b"challenge" in body else b""
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}/in"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.is_open.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
