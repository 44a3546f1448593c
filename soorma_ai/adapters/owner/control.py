"""The local control socket, by which other processes ask the owner of a file for what only the owner may do.

One line of JSON asks, one line answers. What failed is answered as {"error": {"code", "message", ...}}.
"""

import asyncio
import json
import os
import socket
import stat
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from soorma_ai.domain.error_forms import class_of, describe_error, rebuild_error
from soorma_ai.domain.values import Json, JsonObject
from soorma_ai.errors import ConfigError, LocalProtocolError, RemoteProtocolError, SoormaError, StoreUnavailable

LONGEST_LINE = 4 * 2**20
_PAUSE = 1.0

_OBJECT = TypeAdapter[JsonObject](JsonObject)


class OwnerGone(StoreUnavailable):
    """No answer comes from this socket any more: look again who owns the file."""

    code = "owner_gone"


class ControlServer:
    """Serves `handle` at `path` to processes of the same user."""

    def __init__(self, path: Path, handle: Callable[[JsonObject], Awaitable[JsonObject]]) -> None:
        self._path = path
        self._handle = handle
        self._listener: socket.socket | None = None
        self._inode = 0
        self._conversations: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen. Raise ConfigError when nothing can listen here."""
        self._listener = _listener(self._path)
        self._inode = _inode(self._path)
        self._listen()

    async def close(self) -> None:
        """Give up the requests in hand, whose senders find the owner gone, and take the socket away."""
        if self._listener is None:
            return
        asyncio.get_running_loop().remove_reader(self._listener)
        self._listener.close()
        self._listener = None
        await asyncio.sleep(0)  # a conversation that has just begun gets hold of its connection
        for conversation in self._conversations:
            conversation.cancel()
        await asyncio.gather(*self._conversations, return_exceptions=True)
        if _inode(self._path) == self._inode:  # another owner may have put its own there
            self._path.unlink(missing_ok=True)

    def _listen(self) -> None:
        if self._listener is not None:
            asyncio.get_running_loop().add_reader(self._listener, self._accept, self._listener)

    def _accept(self, listener: socket.socket) -> None:
        """Begin a conversation; asyncio's own server would forget a connection that it accepts while it closes."""
        loop = asyncio.get_running_loop()
        try:
            connection, _ = listener.accept()
        except BlockingIOError:
            return
        except OSError:  # out of descriptors, say; who asks is kept waiting by the kernel
            loop.remove_reader(listener)
            loop.call_later(_PAUSE, self._listen)
            return
        conversation = loop.create_task(self._converse(connection))
        self._conversations.add(conversation)
        conversation.add_done_callback(self._conversations.discard)

    async def _converse(self, connection: socket.socket) -> None:
        reader, writer = await asyncio.open_unix_connection(sock=connection, limit=LONGEST_LINE)
        try:
            while (line := await _next_line(reader)) is not None:
                await self._answer(line, writer)
        except asyncio.CancelledError:
            writer.transport.abort()
            raise
        finally:
            writer.close()

    async def _answer(self, line: bytes, writer: asyncio.StreamWriter) -> None:
        """Answer always; an error that is none of ours goes on to the event loop's handler as well."""
        answer = _line({"error": {"code": SoormaError.code, "message": "the owner failed; its log says why"}})
        try:
            if not line:
                raise RemoteProtocolError(f"the request is longer than {LONGEST_LINE} bytes")
            answer = _line(await self._handle(_parse(line, "the request")))
            if len(answer) > LONGEST_LINE:
                raise LocalProtocolError(
                    f"the answer has {len(answer)} bytes, at most {LONGEST_LINE} fit: ask for less"
                )
        except SoormaError as error:
            answer = _line({"error": describe_error(error)})
        except asyncio.CancelledError:
            answer = b""
            raise
        finally:
            writer.write(answer)
        with suppress(ConnectionError):  # whoever is gone needs no answer
            await writer.drain()


async def ask_owner(path: Path, request: JsonObject, *, timeout: float) -> JsonObject:
    """Return the owner's answer. Raise what the owner raised, as the class it had there, OwnerGone when nobody answers,
    and StoreUnavailable when it takes longer than `timeout` seconds."""
    line = _line(request)
    if len(line) > LONGEST_LINE:
        raise LocalProtocolError(f"the request has {len(line)} bytes; the owner takes at most {LONGEST_LINE}")
    try:
        async with asyncio.timeout(timeout):
            answer = _parse(await _exchange(path, line), "the owner's answer")
    except TimeoutError as error:
        raise StoreUnavailable(f"the owner behind {path} gave no answer in {timeout} s: try again later") from error
    except PermissionError as error:
        raise ConfigError(f"{path} belongs to another user: run this as the user who started the owner") from error
    except (OSError, asyncio.IncompleteReadError) as error:
        raise OwnerGone(f"the owner behind {path} is gone ({error}): look again who owns the file") from error
    except asyncio.LimitOverrunError as error:
        raise RemoteProtocolError(f"the owner's answer is longer than {LONGEST_LINE} bytes") from error
    failure = answer.get("error")
    if isinstance(failure, dict):
        raise _rebuild(failure)
    return answer


async def _exchange(path: Path, line: bytes) -> bytes:
    reader, writer = await asyncio.open_unix_connection(path, limit=LONGEST_LINE)
    try:
        writer.write(line)
        await writer.drain()
        return await reader.readuntil(b"\n")
    finally:
        writer.transport.abort()  # not `close`: that waits until the owner has read everything
        with suppress(OSError):
            await writer.wait_closed()


def _listener(path: Path) -> socket.socket:
    """Return a socket that listens. It is bound in a closed directory and then moved: nobody can connect before the
    mode is right, and a socket that a killed process left is replaced in one step."""
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise ConfigError(f"{path} is in the way of the control socket: it is no socket; move it")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with tempfile.TemporaryDirectory(prefix=".", dir=path.parent) as private:
            first = Path(private, "s")
            listener.bind(os.fspath(first))
            first.chmod(0o600)
            first.rename(path)
        listener.listen()
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise ConfigError(f"the control socket {path} cannot be made: {error}") from error
    return listener


def _inode(path: Path) -> int:
    try:
        return path.lstat().st_ino
    except FileNotFoundError:
        return 0


async def _next_line(reader: asyncio.StreamReader) -> bytes | None:
    """Return None when the other side is gone; a line that breaks off is no request. Return an empty line for one that
    is too long, and read it to its end, so that the next one is heard."""
    fits = True
    while True:
        try:
            line = await reader.readuntil(b"\n")
        except asyncio.LimitOverrunError as error:
            fits = False
            await reader.readexactly(error.consumed)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        else:
            return line if fits else b""


def _parse(line: bytes, what: str) -> JsonObject:
    try:
        return _OBJECT.validate_json(line)
    except ValidationError as error:
        raise RemoteProtocolError(f"{what} is no JSON object: {error.errors()[0]['msg']}") from error


def _line(value: Json) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _rebuild(described: JsonObject) -> SoormaError:
    kind = class_of(described.get("code")) or SoormaError
    return rebuild_error(kind, str(described.get("message", "")), described)
