"""One plan to follow, however the platform is reached."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any, Protocol, TypeVar, overload

from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Untaken, Wait
from soorma_ai.kernel.domain.plans import PlanStatus

T = TypeVar("T")


class PlanCalls(Protocol):
    """One plan to follow, as `submit` and `follow` return it."""

    @property
    def plan_id(self) -> str: ...

    @property
    def goal_id(self) -> str: ...

    async def status(self) -> PlanStatus: ...

    async def cancel(self, reason: str = "") -> bool: ...

    @overload
    async def result(self, timeout: float | timedelta | None = None) -> Any: ...

    @overload
    async def result(self, timeout: float | timedelta | None = None, *, as_: type[T]) -> T: ...

    async def result(self, timeout: float | timedelta | None = None, *, as_: type[object] | None = None) -> object: ...

    def events(self) -> AsyncIterator[EventEnvelope]: ...

    async def next_wait(self, timeout: float | timedelta | None = ...) -> Wait | None: ...

    async def untaken(self) -> list[Untaken]: ...

    async def describe(self) -> str: ...
