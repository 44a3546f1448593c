"""Lines from standard input without a thread, so that a question can be withdrawn after another person's answer."""

import asyncio
import os
import sys


class Keyboard:
    """Standard input, a line at a time, without reading ahead."""

    def __init__(self) -> None:
        self._descriptor = sys.stdin.fileno()
        self._read = b""
        self._has_ended = False

    async def line(self, question: str) -> str | None:
        """Return the typed line; None at the end of the input."""
        sys.stderr.write(question)
        sys.stderr.flush()
        while b"\n" not in self._read and not self._has_ended:
            await self._wait()
            chunk = os.read(self._descriptor, 65536)
            self._has_ended = not chunk
            self._read += chunk
        if not self._read:
            return None
        first, _, self._read = self._read.partition(b"\n")
        return first.decode(errors="replace").strip()

    async def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        is_readable = asyncio.Event()
        try:
            loop.add_reader(self._descriptor, is_readable.set)
        except PermissionError:  # a file: it is always readable
            return
        try:
            await is_readable.wait()
        finally:
            loop.remove_reader(self._descriptor)
