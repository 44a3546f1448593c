"""Relay before the streamable HTTP server of `mcp_program.py`: `mcp_http_relay.py FOLDER PORT VICTIM NUMBER` listens at
a free port, prints it, and kills a side, once, before it forwards message NUMBER. A message is the bytes of
a connection in one direction up to those of the other. VICTIM is `server`, `client`, or `none`."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

FOLDER, PORT, VICTIM, NUMBER = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
program = [sys.executable, str(Path(__file__).with_name("mcp_program.py")), str(FOLDER), PORT]
server = subprocess.Popen(program, stdout=subprocess.DEVNULL)
passed = 0


def note_message() -> None:
    """Count a message, and kill the victim before the chosen one."""
    global passed, server
    passed += 1
    if passed == NUMBER and VICTIM != "none" and not (FOLDER / "struck").exists():
        (FOLDER / "struck").touch()
        if VICTIM == "server":
            server.kill()
            server.wait()
            server = subprocess.Popen(program, stdout=subprocess.DEVNULL)  # as its supervisor does
        else:
            os.kill(int((FOLDER / "pid").read_text()), signal.SIGKILL)
    with (FOLDER / "messages").open("a") as messages:
        messages.write(f"{passed}\n")


async def forward(source: asyncio.StreamReader, sink: asyncio.StreamWriter, last: list[object]) -> None:
    try:
        while data := await source.read(65_536):
            if last[0] is not source:
                last[0] = source
                note_message()
            sink.write(data)
            await sink.drain()
    except OSError:
        pass
    finally:
        sink.close()


async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        from_server, to_server = await asyncio.open_connection("127.0.0.1", int(PORT))
    except OSError:
        writer.close()
        return
    last: list[object] = [None]
    await asyncio.gather(forward(reader, to_server, last), forward(from_server, writer, last))


async def main() -> None:
    while True:  # until the server listens
        try:
            _, probe = await asyncio.open_connection("127.0.0.1", int(PORT))
        except OSError:
            await asyncio.sleep(0.05)
            continue
        probe.close()
        break
    relay = await asyncio.start_server(accept, "127.0.0.1", 0)
    print(relay.sockets[0].getsockname()[1], flush=True)
    await relay.serve_forever()


def end(number: int, frame: object) -> None:
    sys.exit()


signal.signal(signal.SIGTERM, end)
try:
    asyncio.run(main())
finally:
    server.kill()
