"""An event loop that knows when nothing goes on by itself any more."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):
    """A loop that has nothing to do asks its selector to wait; instead of that, whoever listens is told."""

    would_wait: Callable[[], None] | None = None

    def select(self, timeout: float | None = None) -> Any:
        if self.would_wait is not None and timeout != 0:
            self.would_wait()
            timeout = 0
        return super().select(timeout)


class Stuck(AssertionError):
    """Something waits for what nobody will bring."""


class QuietLoop:
    def __init__(self) -> None:
        self._selector = _Selector()
        self._loop = asyncio.SelectorEventLoop(self._selector)

    def settle(self) -> None:
        """Until everything waits for something from outside, or for the clock."""
        self._run(until=None)

    def steps(self, count: int) -> None:
        for _ in range(count):
            self._loop.call_soon(self._loop.stop)
            self._loop.run_forever()

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Raises Stuck when it cannot come to its end."""
        task = self._loop.create_task(work)
        self._run(until=task)
        if not task.done():
            task.cancel()
            self._run(until=task)
            raise Stuck(f"{work.__qualname__} waits in vain")
        return task.result()

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """What needs other threads: it is waited for in real time."""
        return self._loop.run_until_complete(work)

    def abandon(self) -> None:
        """Cancel everything, wherever it is, and what it still tries then."""
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
