"""The ledger of outside effects, kept by the proof, a process of its own.

The ledger listens on a socket; a program under proof reports its effects to it. An effect honours its key, as payment
providers do: the same key again is the same effect, and a further call.
"""

import json
import os
import socket
import socketserver
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from blows import Blow, Wire
from failpoints import Failpoints

from soorma_ai.testing.crash.comparison import EffectBook


@dataclass
class Account(EffectBook[tuple[str, str]]):
    """One trial's part of the ledger, over all lives of its program: effects by key, each with name and data."""

    noted: list[tuple[int, str, dict[str, Any]]] = field(default_factory=list)
    blows: int = 0
    # Called with a requested blow and the number of its server process.
    strike: Callable[[str, int], None] = lambda blow, backend: None

    def notes(self, kind: str, life: int | None = None) -> list[dict[str, Any]]:
        return [row for at, what, row in self.noted if what == kind and life in (None, at)]


class Ledger:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._accounts: dict[str, Account] = {}
        ledger = self

        class Conversation(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                line = self.rfile.readline()
                if line.endswith(b"\n"):
                    ledger.take(json.loads(line))
                    self.wfile.write(b"\n")

        class Server(socketserver.ThreadingUnixStreamServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, request: object, client_address: object) -> None:
                """Ignore a reply to a killed program."""

        self._server = Server(str(path), Conversation)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def account(self, name: str) -> Account:
        with self._lock:
            return self._accounts.setdefault(name, Account())

    def close_account(self, name: str) -> None:
        with self._lock:
            self._accounts.pop(name, None)

    def take(self, told: dict[str, Any]) -> None:
        account = self.account(told["account"])
        if "blow" in told:
            account.blows += 1
            account.strike(told["blow"], told["backend"])
            return
        with self._lock:
            if "key" in told:
                account.book(told["key"], (told["name"], json.dumps(told["data"], sort_keys=True)))
            else:
                account.noted.append((told["life"], told["name"], told["data"]))


class Outside:
    """The program's side of the ledger."""

    def __init__(self, path: str, account: str, life: int, points: Failpoints) -> None:
        self.life = life
        self._path = path
        self._account = {"account": account, "life": life}
        self._points = points

    def effect(self, name: str, key: str, **data: object) -> None:
        self._tell(name, key=key, data=data)

    def note(self, name: str, **data: object) -> None:
        self._tell(name, data=data)

    def _tell(self, name: str, **told: object) -> None:
        """Report by write(2), so the layer of system calls kills here too."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self._path)
            self._points.hit(f"{name}.before")
            os.write(connection.fileno(), json.dumps({**self._account, "name": name, **told}).encode() + b"\n")
            self._points.hit(f"{name}.told")
            connection.recv(1)
            self._points.hit(f"{name}.after")


def ask_for(blow: Blow, path: str, account: str, wire: Wire | None) -> None:
    """Ask the proof for a blow, and return once it has struck."""
    backend = wire.info.backend_pid if wire is not None and not wire.closed else 0
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        connection.sendall(json.dumps({"account": account, "blow": blow, "backend": backend}).encode() + b"\n")
        connection.recv(1)
