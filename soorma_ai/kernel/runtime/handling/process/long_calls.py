"""Calls beyond the patience of their callers."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, cast

from soorma_ai.errors import Overloaded
from soorma_ai.kernel.ports import Clock
from soorma_ai.kernel.runtime.handling.process.signals import until

MOST_AT_ONCE = 100

T = TypeVar("T")
Key = tuple[str, ...]


class LongCalls:
    """Calls of one process that go on without their callers, by key. The same call again gets the result, once."""

    def __init__(self) -> None:
        self._tasks: dict[Key, asyncio.Task[Any]] = {}

    async def result(
        self, key: Key, start: Callable[[], Coroutine[Any, Any, T]], clock: Clock, seconds: float
    ) -> T | None:
        """Return the result of the call under this key, which begins now if none goes on; None after these seconds.

        Raise as the call does, and Overloaded for too many calls.
        """
        task = self._tasks.get(key) or self._start(key, start)
        ended = asyncio.Event()
        task.add_done_callback(lambda _: ended.set())
        await until(ended, clock, seconds)
        if not task.done():
            return None
        self._tasks.pop(key, None)
        return cast("T", task.result())

    async def close(self) -> None:
        """Cancel all calls."""
        tasks = [*self._tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self, key: Key, start: Callable[[], Coroutine[Any, Any, Any]]) -> asyncio.Task[Any]:
        if len(self._tasks) >= MOST_AT_ONCE:
            self._tasks = {name: task for name, task in self._tasks.items() if not task.done()}
        if len(self._tasks) >= MOST_AT_ONCE:
            raise Overloaded(f"{MOST_AT_ONCE} long calls go on already: try again later")
        task = self._tasks[key] = asyncio.create_task(start(), name=" ".join(key))
        task.add_done_callback(_take_fault)
        return task


def _take_fault(task: asyncio.Task[Any]) -> None:
    """Look at the fault of a call: its caller may be gone."""
    if not task.cancelled():
        task.exception()
