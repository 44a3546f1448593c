"""Disturbances of a program at one of its points."""

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
    """The connection of a driver, reduced to the parts needed to cut it."""

    @property
    def info(self) -> Any: ...

    @property
    def closed(self) -> bool: ...

    def fileno(self) -> int: ...


Strike = Callable[[Wire | None], None]


def kill(wire: Wire | None) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def lose_answer(wire: Wire | None) -> None:
    """Wait for the server's answer, and cut the connection before a client reads it."""
    assert wire is not None, "an answer can be lost only on a connection to a server"
    select.select([wire], [], [])
    ours, its = socket.socketpair()
    its.close()
    os.dup2(ours.fileno(), wire.fileno())
    ours.close()
