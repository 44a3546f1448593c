"""Local control socket, for other processes' requests to the owner of a file.

It is only made here, and connections are taken; the talk on them is HTTP, by the routes of the server.
"""

import asyncio
import os
import socket
import stat
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from soorma_ai.errors import ConfigError

_PAUSE = 1.0

Converse = Callable[[socket.socket], Awaitable[None]]


class ControlSocket:
    """Takes connections at `path` from processes of the same user. `begin` returns the conversation for one of them,
    until its end or a cancellation; it is called at the first one, so an unused owner loads nothing."""

    def __init__(self, path: Path, begin: Callable[[], Awaitable[Converse]]) -> None:
        self._path = path
        self._begin = begin
        self._converse: asyncio.Task[Converse] | None = None
        self._listener: socket.socket | None = None
        self._inode = 0
        self._conversations: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen. Raise ConfigError when nothing can listen here."""
        self._listener = _listener(self._path)
        self._inode = _inode(self._path)
        self._listen()

    async def close(self) -> None:
        """Give up the requests in hand, and remove the socket; their senders find the owner gone."""
        if self._listener is None:
            return
        asyncio.get_running_loop().remove_reader(self._listener)
        self._listener.close()
        self._listener = None
        for task in (*self._conversations, *([self._converse] if self._converse else ())):
            task.cancel()
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
        connection.setblocking(False)
        conversation = loop.create_task(self._hear(connection))
        self._conversations.add(conversation)
        conversation.add_done_callback(self._conversations.discard)
        # One that is cancelled before it begins never gets hold of its connection.
        conversation.add_done_callback(lambda _: connection.close())

    async def _hear(self, connection: socket.socket) -> None:
        if self._converse is None:
            self._converse = asyncio.ensure_future(self._begin())
        converse = await asyncio.shield(self._converse)
        await converse(connection)


def _listener(path: Path) -> socket.socket:
    """Return a listening socket. It is bound in a closed directory and then moved: no connection is possible before the
    mode is right, and the socket of a killed process is replaced in one step."""
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
