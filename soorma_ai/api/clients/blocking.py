"""A plan to follow, for programs without an event loop."""

from collections.abc import Callable, Coroutine
from datetime import timedelta
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, overload

from soorma_ai.api.clients.blocks import Blocking, blocking, streaming
from soorma_ai.api.clients.plan import AsyncPlan
from soorma_ai.api.clients.transport import run

Calls = TypeVar("Calls")
P = ParamSpec("P")
T = TypeVar("T")


def following(
    call: Callable[Concatenate[Calls, P], Coroutine[Any, Any, AsyncPlan]],
) -> Callable[Concatenate[Blocking[Calls], P], "BlockingPlan"]:
    """Return a blocking call with a blocking plan as its result."""

    @wraps(call)
    def ask(self: Blocking[Calls], *args: P.args, **named: P.kwargs) -> BlockingPlan:
        return BlockingPlan(run(call(self.calls, *args, **named)))

    return ask


class BlockingPlan(Blocking[AsyncPlan]):
    """A plan to follow. Its id is known from its goal's, before any planner took it."""

    @property
    def plan_id(self) -> str:
        return self.calls.plan_id

    @property
    def goal_id(self) -> str:
        return self.calls.goal_id

    @overload
    def result(self, timeout: float | timedelta | None = None) -> Any: ...

    @overload
    def result(self, timeout: float | timedelta | None = None, *, as_: type[T]) -> T: ...

    def result(self, timeout: float | timedelta | None = None, *, as_: type[object] | None = None) -> object:
        """Return the result of the completed plan, as JSON or `as_` a model. `timeout` in seconds, or a span; None
        waits until the plan's end, or the server's.

        Raise PlanFailed, PlanCancelled, DeadlineExceeded (the plan itself continues), and RemoteProtocolError for a
        result off the model.
        """
        return run(self.calls.result(timeout) if as_ is None else self.calls.result(timeout, as_=as_))

    status = blocking(AsyncPlan.status)
    cancel = blocking(AsyncPlan.cancel)
    events = streaming(AsyncPlan.events)
    next_wait = blocking(AsyncPlan.next_wait)
    untaken = blocking(AsyncPlan.untaken)
    describe = blocking(AsyncPlan.describe)
