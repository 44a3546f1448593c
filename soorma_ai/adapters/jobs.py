"""Operations that wait to be written, and the thread that waits for the disk or the server."""

import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context
from typing import Generic, TypeVar

from soorma_ai.kernel.sql.tenant_scope import HOUSE, TenantScope

T = TypeVar("T")


class Job(Generic[T]):
    """Operation with its caller, its scope and its keys, None for any. `ended` gets the outcome: the result, and
    whether it is stored."""

    def __init__(
        self,
        operation: Callable[[], T],
        future: asyncio.Future[T],
        ended: Callable[[T, bool], None] | None,
        acting: TenantScope = HOUSE,
        *,
        is_long: bool,
        keys: frozenset[str] | None = None,
    ) -> None:
        self.is_long = is_long
        self.keys = keys
        self.acting = acting
        self.failed = False
        self._operation = operation
        self._future = future
        self._ended = ended
        self._value: list[T] = []
        self._error: Exception | None = None

    @property
    def wanted(self) -> bool:
        return not self._future.cancelled()

    def run(self) -> None:
        """Run the operation, again if need be: an operation keeps nothing but its writes and its result."""
        self.failed, self._error = False, None
        self._value = [self._operation()]

    def fail(self, error: Exception) -> None:
        self.failed, self._error = True, error

    def undo(self) -> None:
        """Take back its result, on the loop's thread."""
        for value in self._value:
            if self._ended is not None:
                self._ended(value, False)
        self._value = []

    def answer(self) -> None:
        """Answer the caller, on the loop's thread. The caller may be gone by now."""
        if self._future.done():
            return
        if self._error is not None:
            self._future.set_exception(self._error)
        for value in self._value if self._error is None else ():
            self._future.set_result(value)

    def tell(self) -> None:
        """Report the outcome, on the loop's thread."""
        if self.failed:
            self.undo()
        for value in self._value:
            if self._ended is not None:
                self._ended(value, True)


class Helper:
    """A thread that works for the loop, one thing after the other."""

    def __init__(self, loop: asyncio.AbstractEventLoop, context: Context) -> None:
        self._loop = loop
        self._context = context
        self._given: queue.SimpleQueue[tuple[Callable[[], None], Callable[[], None]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="soorma-store-helper", daemon=True)
        self._thread.start()

    def do(self, work: Callable[[], None], done: Callable[[], None]) -> None:
        """Call `work` on the thread, then `done` on the loop's."""
        self._given.put((work, done))

    def stop(self) -> None:
        self._given.put(None)
        self._thread.join()

    def _work(self) -> None:
        while given := self._given.get():
            work, done = given
            work()
            with suppress(RuntimeError):  # the loop is gone, and with it whoever waited
                self._loop.call_soon_threadsafe(done, context=self._context)
