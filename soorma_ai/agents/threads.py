"""Threads of one agent, for its plain `def` handlers."""

import asyncio
import inspect
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import lru_cache, partial
from typing import Any

from soorma_ai.agents.annotations import Handler
from soorma_ai.kernel.domain.values import Same, identity_of

Job = Callable[[], bool]


class Threads:
    """Threads of one agent's handlers, one for each handler in progress: none waits for another's endless run. They are
    daemons and do not keep the process alive."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._is_open = True
        self._idle: list[queue.SimpleQueue[Job]] = []

    async def call(self, handler: Handler, *given: object) -> Any:
        """Call a function. A plain `def` runs off the loop, to keep the loop free. It cannot be stopped: a cancelled
        caller waits for its end, so the same work never runs twice at once."""
        if _is_coroutine_function(identity_of(handler)):
            return await handler(*given)
        working = self._give(partial(copy_context().run, handler, *given))
        try:
            result, error = await asyncio.shield(working)
        except asyncio.CancelledError:
            await asyncio.wait([working])
            raise
        if error is not None:
            raise error
        return result

    def close(self) -> None:
        """Dismiss the idle threads; the others go when they are done."""
        self._is_open = False
        for jobs in self._idle:
            jobs.put(lambda: False)
        self._idle.clear()

    def _give(self, work: Callable[[], Any]) -> "asyncio.Future[tuple[Any, BaseException | None]]":
        self._is_open = True
        loop = asyncio.get_running_loop()
        done: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
        jobs = self._idle.pop() if self._idle else self._start()

        def job() -> bool:
            outcome = _outcome(work)
            with suppress(RuntimeError):  # the loop is gone, and with it whoever waited
                loop.call_soon_threadsafe(self._settle, jobs, done, outcome)
                return True
            return False

        jobs.put(job)
        return done

    def _settle(
        self,
        jobs: queue.SimpleQueue[Job],
        done: "asyncio.Future[tuple[Any, BaseException | None]]",
        outcome: tuple[Any, BaseException | None],
    ) -> None:
        if self._is_open:
            self._idle.append(jobs)
        else:
            jobs.put(lambda: False)
        if not done.done():
            done.set_result(outcome)

    def _start(self) -> queue.SimpleQueue[Job]:
        jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        threading.Thread(target=_work, args=[jobs], name=f"soorma-{self._name}", daemon=True).start()
        return jobs


@lru_cache(maxsize=256)
def _is_coroutine_function(handler: Same[Handler]) -> bool:
    return inspect.iscoroutinefunction(handler())


def _work(jobs: queue.SimpleQueue[Job]) -> None:
    while jobs.get()():
        pass


def _outcome(work: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    try:
        return work(), None
    except BaseException as error:
        return None, error
