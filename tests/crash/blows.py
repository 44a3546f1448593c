"""What may happen to a program at a point of it, beside that nothing does."""

import os
import select
import signal
import socket
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Protocol


class Blow(StrEnum):
    KILL = "the process is killed"
    CONNECTION = "the server ends the connection"
    ANSWER = "the server's answer is lost"
    SERVER = "the server is killed"


class Wire(Protocol):
    """The connection of a driver, as far as it can be cut."""

    @property
    def info(self) -> Any: ...

    @property
    def closed(self) -> bool: ...

    def fileno(self) -> int: ...


Strike = Callable[[Wire | None], None]


def kill(wire: Wire | None) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def lose_answer(wire: Wire | None) -> None:
    """Wait until the server has answered, and cut the connection before anybody has read it."""
    assert wire is not None, "an answer is lost where one is waited for"
    select.select([wire], [], [])
    ours, its = socket.socketpair()
    its.close()
    os.dup2(ours.fileno(), wire.fileno())
    ours.close()
