"""A real NATS server for tests, from a wheel; it keeps its streams in a folder and may be killed."""

import atexit
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from functools import cache
from itertools import count
from pathlib import Path

PROGRAM = Path(sys.executable).parent / "nats-server"
_LISTENS = re.compile(r"Listening for client connections on 127\.0\.0\.1:(\d+)")
_numbers = count(1)
IS_MEANT = os.environ.get("SOORMA_TEST_BUS") == "nats"


class NatsServer:
    """A server on a free port of this machine; a restart keeps the port."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._folder = folder
        self._options = options
        self._port = "-1"
        self._process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self._port}"

    def namespace_url(self) -> str:
        """Return a bus URL with an unused namespace."""
        return f"{self.url}/ns-{os.getpid()}-{next(_numbers)}"

    def start(self) -> None:
        command = [str(PROGRAM), "-a", "127.0.0.1", "-p", self._port, "-js", "-sd", str(self._folder), *self._options]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self._process.stderr is not None
        said: list[str] = []
        for line in self._process.stderr:
            said.append(line)
            if found := _LISTENS.search(line):
                self._port = found[1]
            if "Server is ready" in line:
                return
        raise AssertionError(f"{PROGRAM} did not start:\n{''.join(said)}")

    def kill(self) -> None:
        """Kill it at once; written data survives, unlike after a power failure."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(how)
        self._process.wait()
        assert self._process.stderr is not None
        self._process.stderr.close()
        self._process = None


@cache
def shared() -> NatsServer:
    """Return the server of this test process, for tests with a namespace of their own and without a restart."""
    folder = Path(tempfile.mkdtemp(prefix="soorma-nats-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    server = NatsServer(folder)
    server.start()
    atexit.register(server.stop)
    return server
