"""Relay before the stdio server of `mcp_program.py`: `mcp_relay.py FOLDER VICTIM NUMBER` kills a side, once, before it
forwards message NUMBER of either direction. VICTIM is `server`, `client`, or `none`."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

FOLDER, VICTIM, NUMBER = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
PROGRAM = Path(__file__).with_name("mcp_program.py")
server = subprocess.Popen([sys.executable, str(PROGRAM), str(FOLDER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
assert server.stdin is not None
assert server.stdout is not None
to_server, from_server = server.stdin, server.stdout
lock = threading.Lock()
passed = 0


def strike() -> None:
    (FOLDER / "struck").touch()
    if VICTIM == "server":
        server.kill()
    else:
        os.kill(os.getppid(), signal.SIGKILL)
        to_server.close()  # the server goes on with what it has, as after the loss of its client
        server.wait()
    os._exit(1)


def forward(source: IO[bytes], sink: IO[bytes]) -> None:
    global passed
    for line in source:
        with lock:
            passed += 1
            if passed == NUMBER and VICTIM != "none" and not (FOLDER / "struck").exists():
                strike()
            with (FOLDER / "messages").open("a") as messages:
                messages.write(f"{passed}\n")
        sink.write(line)
        sink.flush()


threading.Thread(target=forward, args=(from_server, sys.stdout.buffer), daemon=True).start()
forward(sys.stdin.buffer, to_server)
to_server.close()
server.wait()
