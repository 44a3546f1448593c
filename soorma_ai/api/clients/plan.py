"""Handle of a plan, over HTTP."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import timedelta
from http import HTTPStatus
from typing import Any, TypeVar, overload

from soorma_ai.api.answers import End, NotEnded
from soorma_ai.api.clients.messages import HttpResponse, Page, get, post
from soorma_ai.api.clients.sender import Sender
from soorma_ai.api.clients.streams import stream_events
from soorma_ai.errors import DeadlineExceeded, PlanCancelled, PlanFailed
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Untaken, Wait
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.values import JsonObject, read_as, span_of

T = TypeVar("T")

MOST_WAITS = 1_000
MOST_UNTAKEN = 1_000
LOOK_SECONDS = 1.0


class _Standing(Record, frozen=True):
    """The status of a plan, of all its details."""

    status: PlanStatus


class AsyncPlan:
    """A plan to follow. Its id is known from its goal's, before any planner took it."""

    def __init__(self, plan_id: str, goal_id: str, caller: Sender) -> None:
        self.plan_id = plan_id
        self.goal_id = goal_id
        self._caller = caller

    async def status(self) -> PlanStatus:
        """Return the status of the plan; pending before a planner takes it. Raise NotFound."""
        return (await self._caller.read(get("plans", self.plan_id), _Standing)).status

    async def cancel(self, reason: str = "") -> bool:
        """Ask the plan to stop, for this `reason`. False for an ended plan. Raise NotFound, Forbidden."""
        return await cancel_plan(self._caller, self.plan_id, reason)

    @overload
    async def result(self, timeout: float | timedelta | None = None) -> Any: ...

    @overload
    async def result(self, timeout: float | timedelta | None = None, *, as_: type[T]) -> T: ...

    async def result(self, timeout: float | timedelta | None = None, *, as_: type[object] | None = None) -> object:
        """Return the result of the completed plan, as JSON or `as_` a model. `timeout` in seconds, or a span; None
        waits until the plan's end, or the server's.

        Raise PlanFailed, PlanCancelled, DeadlineExceeded (the plan itself continues), and RemoteProtocolError for a
        result off the model.
        """
        end = await self._end(None if timeout is None else seconds(timeout))
        match end.status if end else None:
            case PlanStatus.COMPLETED if end:
                return read_as(f"the result of plan {self.plan_id}", as_, end.result)
            case PlanStatus.CANCELLED if end:
                raise PlanCancelled(self.plan_id, end.reason or "cancelled")
            case PlanStatus.FAILED if end:
                raise PlanFailed(self.plan_id, end.reason or "failed", end.failure)
            case _:
                raise DeadlineExceeded(f"plan {self.plan_id} has no result after {timeout} s; {await self.describe()}")

    async def events(self) -> AsyncGenerator[EventEnvelope]:
        """Yield every event of the plan's tree, from its goal on, as they arrive, until the plan's end. A lost
        connection is made again, without a gap and without duplicates."""
        async with aclosing(stream_events(self._caller, "plans", self.plan_id, "events")) as rows:
            async for row in rows:
                yield row.event

    async def next_wait(self, timeout: float | timedelta | None = None) -> Wait | None:
        """Return the next question to a person in this plan's tree once it is open, None when the plan ends before.
        `timeout` in seconds; None waits as long as the plan lives.

        Raise DeadlineExceeded; the plan itself goes on.
        """
        clock = self._caller.line
        until = None if timeout is None else clock.monotonic() + seconds(timeout)
        while True:
            questions = await self._caller.list(Page[Wait], MOST_WAITS, "waits", plan_id=self.plan_id)
            if questions:
                return min(questions, key=lambda wait: wait.opened_at)
            left = LOOK_SECONDS if until is None else min(LOOK_SECONDS, until - clock.monotonic())
            if left > 0 and await self._end(left):
                return None
            if left <= 0:
                raise DeadlineExceeded(
                    f"plan {self.plan_id} has no question after {timeout} s; {await self.describe()}"
                )

    async def untaken(self) -> list[Untaken]:
        """Return the requests of the plan and its children without a taker, oldest first."""
        return await self._caller.list(Page[Untaken], MOST_UNTAKEN, "tracker", "untaken", plan_id=self.plan_id)

    async def describe(self) -> str:
        """Return the state of the plan as a sentence, with its waits or the reason of its sleep. Raise NotFound."""
        response = await self._caller.ask(get("plans", self.plan_id, "result"))
        return response.read(NotEnded).state if _has_not_ended(response) else f"it is {response.read(End).status}"

    async def _end(self, timeout: float | None) -> End | None:
        """Return the end of the plan; None without one after these seconds."""
        response = await self._caller.poll(
            lambda wait: get("plans", self.plan_id, "result", wait=wait), timeout, _has_not_ended
        )
        return response.read(End) if response else None


async def cancel_plan(caller: Sender, plan_id: str, reason: str) -> bool:
    body: JsonObject = {"reason": reason} if reason else {}
    return await caller.read_key(post("plans", plan_id, "cancel", body=body), "cancelled", bool)


def _has_not_ended(response: HttpResponse) -> bool:
    return response.status == HTTPStatus.ACCEPTED


def seconds(timeout: object) -> float:
    """Return the seconds of a wait, 0 for no wait. Raise LocalProtocolError for an invalid span."""
    if timeout in (0, timedelta(0)) and not isinstance(timeout, bool):
        return 0.0
    return span_of("timeout", timeout).total_seconds()
