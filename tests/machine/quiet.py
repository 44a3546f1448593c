"""An event loop with a signal for the moment all tasks wait."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):
    """A selector with a callback: an idle loop asks its selector to wait, and the callback runs instead."""

    would_wait: Callable[[], None] | None = None

    def select(self, timeout: float | None = None) -> Any:
        if self.would_wait is not None and timeout != 0:
            self.would_wait()
            timeout = 0
        return super().select(timeout)


class Stuck(AssertionError):
    """Raised for a wait without a possible end."""


class QuietLoop:
    def __init__(self) -> None:
        self._selector = _Selector()
        self._loop = asyncio.SelectorEventLoop(self._selector)

    def settle(self) -> None:
        """Run until all tasks wait for the outside, or for the clock."""
        self._run(until=None)

    def steps(self, count: int) -> None:
        for _ in range(count):
            self._loop.call_soon(self._loop.stop)
            self._loop.run_forever()

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end. Raise Stuck if it cannot end."""
        task = self._loop.create_task(work)
        self._run(until=task)
        if not task.done():
            task.cancel()
            self._run(until=task)
            raise Stuck(f"{work.__qualname__} waits in vain")
        return task.result()

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine with work in other threads, and wait in real time."""
        return self._loop.run_until_complete(work)

    def abandon(self) -> None:
        """Cancel all tasks, and the work they still try then."""
        while tasks := asyncio.all_tasks(self._loop):
            for task in tasks:
                task.add_done_callback(lambda task: task.cancelled() or task.exception())
                task.cancel()
            self.settle()

    def close(self) -> None:
        self.abandon()
        self._loop.close()

    def _run(self, until: "asyncio.Task[Any] | None") -> None:
        self._selector.would_wait = self._loop.stop
        if until is not None:
            until.add_done_callback(lambda _: self._loop.stop())
        try:
            self._loop.run_forever()
        finally:
            self._selector.would_wait = None
