"""Blocking calls: those of an async client, over a blocking transport."""

from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from soorma_ai.api.clients.transport import run

P = ParamSpec("P")
T = TypeVar("T")
Calls = TypeVar("Calls")
Kind = TypeVar("Kind", covariant=True)


class Blocking(Generic[Kind]):
    """Base class of blocking clients."""

    def __init__(self, calls: Kind) -> None:
        self._calls = calls

    @property
    def calls(self) -> Kind:
        """Async client below."""
        return self._calls


def blocking(
    call: Callable[Concatenate[Calls, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Blocking[Calls], P], T]:
    """Return a call that blocks until its answer."""

    @wraps(call)
    def ask(self: Blocking[Calls], *args: P.args, **named: P.kwargs) -> T:
        return run(call(self.calls, *args, **named))

    return ask


def streaming(
    call: Callable[Concatenate[Calls, P], AsyncGenerator[T]],
) -> Callable[Concatenate[Blocking[Calls], P], Iterator[T]]:
    """Return a stream that blocks until its next item."""

    @wraps(call)
    def ask(self: Blocking[Calls], *args: P.args, **named: P.kwargs) -> Iterator[T]:
        items = call(self.calls, *args, **named)
        try:
            while True:
                try:
                    yield run(items.__anext__())
                except StopAsyncIteration:
                    return
        finally:
            run(items.aclose())

    return ask
