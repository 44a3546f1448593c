"""A delivery in hand: its task, which no other handler can cancel, and its handler, which can be left where it is."""

import asyncio
from collections.abc import Coroutine, Generator
from contextlib import suppress
from datetime import timedelta
from enum import Enum, auto
from functools import partial
from math import inf
from typing import Any, TypeVar

from soorma_ai.errors import Fatal, HandlerTimeout, TransientError
from soorma_ai.kernel.domain.values import account_of, leaves
from soorma_ai.kernel.ports import Clock, Delivery
from soorma_ai.kernel.runtime.handling.charges import Charges
from soorma_ai.kernel.runtime.handling.handling import current_handling
from soorma_ai.kernel.runtime.handling.logs import warn

T = TypeVar("T")

GRACE_SECONDS = 1.0
# A delivery is handed over again when nobody has said for so long that it is in hand.
LEASE = timedelta(seconds=30)


class ShieldedTask(asyncio.Task[T]):
    """A task that no handler can cancel, but that of its own delivery: `for task in asyncio.all_tasks()` is one."""

    def __init__(self, work: Coroutine[Any, Any, T], name: str, delivery: Delivery | None = None) -> None:
        super().__init__(work, loop=asyncio.get_running_loop(), name=name)
        self.is_cancelled_inside = False
        self.delivery = delivery

    def cancel(self, msg: Any | None = None) -> bool:
        handling = current_handling()
        if handling is not None:
            if handling.delivery is not self.delivery or handling.is_closed:
                return False
            self.is_cancelled_inside = True
        return super().cancel(msg)

    def stop(self) -> None:
        """Cancel it, from any caller."""
        super().cancel()


class EndReason(Enum):
    """A reason to end a handler from outside of it."""

    INTERRUPTED = auto()  # nothing of it happened, and it is no attempt
    OUT_OF_TIME = auto()


class HandlerTask:
    """`begun` and `due` are the moments, by the monotonic clock, at which its handling began, and its handler is to be
    ended."""

    def __init__(self, delivery: Delivery, limit: timedelta, clock: Clock) -> None:
        self.delivery = delivery
        self.bill = Charges(delivery.hold)
        self.due = inf
        self.begun = inf
        self._has_begun = False
        self.has_ended = False
        self._limit = limit
        self._clock = clock
        self.task: ShieldedTask[None] | None = None
        self._steps: _Steps | None = None
        self._why: EndReason | None = None

    def give(self, work: Coroutine[Any, Any, None]) -> ShieldedTask[None]:
        """Begin the task of this delivery."""
        name = f"{self.delivery.agent}:{self.delivery.event.type}"
        self.task = ShieldedTask(work, name, self.delivery)
        return self.task

    def begin(self) -> None:
        self._has_begun, self.begun = True, self._clock.monotonic()

    def end(self) -> None:
        """Note that it is committed or given back: nothing of it can be ended or lost any more."""
        self.has_ended = True

    async def run(self, handler: Coroutine[Any, Any, None], delivery: Delivery) -> None:
        """Run the handler of this delivery: its own, or one right behind that. Raise CancelledError after an
        interruption; anything else it raises is raised as an Exception, but for Fatal ones."""
        assert self.task is not None
        self.task.delivery = delivery
        self._steps = _Steps(handler)
        # The first handler runs as soon as the handling has begun.
        now = self.begun if delivery is self.delivery else self._clock.monotonic()
        self.due = now + self._limit.total_seconds()
        try:
            await self._steps
        except asyncio.CancelledError as error:
            raise self._meaning() from error
        except (Exception, Fatal):
            raise
        except BaseException as error:
            raise _as_exception(error) from error
        finally:
            self.due, self._steps = inf, None
            await self._absorb()

    def interrupt(self) -> None:
        """End it at its present point. One before its begin will see the change, and could not give its delivery back;
        one giving it back already is left alone."""
        if self._has_begun and self._why is None:
            self.stop()

    def stop(self) -> None:
        """End it where it is, begun or not."""
        if not self.has_ended:
            self._why = self._why or EndReason.INTERRUPTED
            self._end()

    def time_out(self) -> None:
        """End a handler after its time, and leave it behind if it goes on nevertheless."""
        if self._why is not None:
            self.leave()
            return
        self._why = EndReason.OUT_OF_TIME
        self.due = self._clock.monotonic() + GRACE_SECONDS
        self._end()

    def leave(self) -> None:
        """Go on without the handler, wherever it is."""
        if self._steps is None or self.task is None or self.task.delivery is None:
            return
        event = self.task.delivery.event
        self._why = self._why or EndReason.INTERRUPTED
        self._steps.is_left, self.due = True, inf
        warn(
            "handler_left_behind",
            agent=self.delivery.agent,
            event_type=event.type,
            event_id=event.id,
            reason="it was cancelled, and did not end",
        )
        self._end()

    def _end(self) -> None:
        if self.task is not None:
            self.task.stop()

    def _meaning(self) -> BaseException:
        """Return the meaning of a CancelledError out of the handler."""
        assert self.task is not None
        if self._why is EndReason.OUT_OF_TIME:
            return HandlerTimeout(f"the handler did not end within {self._limit}")
        if self._why is EndReason.INTERRUPTED:
            return asyncio.CancelledError()
        if not self.task.cancelling():
            return RuntimeError("the handler let out the CancelledError of something that it awaited")
        if self.task.is_cancelled_inside:
            return TransientError("the handler cancelled its own task")
        return asyncio.CancelledError()

    async def _absorb(self) -> None:
        """Take up the rest of a cancellation; it would come out of the next await."""
        assert self.task is not None
        if self.task.cancelling():
            while self.task.uncancel():
                pass
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0)


class _Steps:
    """A handler's coroutine, stepped inside the task of its delivery. A task of its own could not be left behind: the
    event loop waits for all of them when it ends."""

    def __init__(self, handler: Coroutine[Any, Any, None]) -> None:
        self._handler = handler
        self.is_left = False

    def __await__(self) -> Generator[Any, Any, None]:
        step = partial(self._handler.send, None)
        while True:
            try:
                awaited = step()
            except StopIteration:
                return
            try:
                yield awaited
            except BaseException as thrown:
                if self.is_left or isinstance(thrown, GeneratorExit):
                    self._close()
                    raise
                step = partial(self._handler.throw, thrown)
            else:
                step = partial(self._handler.send, None)

    def _close(self) -> None:
        with suppress(BaseException):  # whatever it does about that
            self._handler.close()


def _as_exception(error: BaseException) -> BaseException:
    """Return an Exception for one of the handler's own making; a Fatal one stays so, also in a group."""
    fatal = next((one for one in leaves(error) if isinstance(one, Fatal)), None)
    return fatal or RuntimeError(f"the handler let out {account_of(error)}")
