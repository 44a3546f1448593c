"""Options of all decorators of handlers: how often a handler is tried, and for what."""

import inspect
from collections.abc import Iterable
from typing import Any, TypedDict, cast

from msgspec import Struct

from soorma_ai.agents.annotations import Handler
from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.events import name_fault
from soorma_ai.kernel.rules.delivery.disposition import MAX_ATTEMPTS, USUAL, Tries

# What a decorator is given that is called where it should decorate.
MISSING: Any = object()


class HandlerOptions(TypedDict, total=False):
    """Options of every handler's decorator.

    What may be gone the next time is tried again, after a growing pause: `Retry` and `TransientError`, lost connections
    and time-outs, and the errors of `retry_on`, a class or a tuple of them. `attempts` counts all tries, the first one
    included, and is 5 if it is not given.
    """

    retry_on: type[Exception] | tuple[type[Exception], ...]
    attempts: int


class Registered(Struct, frozen=True):
    """A handler, as its decorator was given it."""

    function: Handler
    tries: Tries = USUAL


def handler_of(what: str, handler: Handler, options: HandlerOptions) -> Registered:
    """Raise ConfigError, which calls the decorator `what`, for a handler that cannot be called with what it gets, and
    for options that say nothing."""
    must_take(2, what, handler)
    return Registered(handler, tries_of(what, options))


def must_take(count: int, what: str, handler: object) -> None:
    """Raise ConfigError for what is no function that can be called with so many arguments by position."""
    if handler is MISSING:
        name = what.partition("(")[0]
        raise ConfigError(f"{what} decorates nothing: write it without parentheses, as in @{name}")
    if not callable(handler):
        raise ConfigError(f"{what} decorates {handler!r}, which is no function")
    try:
        taken = inspect.signature(handler)
    except ValueError:  # some functions written in C tell none
        return
    try:
        taken.bind(*range(count))
    except TypeError as error:
        name = getattr(handler, "__qualname__", handler)
        wanted = "without arguments" if count == 0 else f"with {count} arguments"
        raise ConfigError(f"{what}: {name}{taken} is called {wanted}, which it does not take: {error}") from error


def must_be_name(what: str, given: object, example: str = "'order.placed'") -> None:
    """Raise ConfigError for what is no name of an event: above all the handler, where the parentheses are missing."""
    if callable(given):
        name = getattr(given, "__name__", given)
        raise ConfigError(f"{what} got the function {name}; name the event above it, as in @{what}({example})")
    if given == "":
        raise ConfigError(f"{what}(''): give the event's own name, as text: @{what}({example})")
    if fault := name_fault(given):
        raise ConfigError(f"{what}({given!r}): {fault}")


def tries_of(what: str, options: HandlerOptions) -> Tries:
    """Raise ConfigError, which calls the decorator `what`."""
    if strange := sorted(options.keys() - HandlerOptions.__annotations__.keys()):
        raise ConfigError(
            f"{what}: there is no {', '.join(strange)}; it takes {', '.join(HandlerOptions.__annotations__)}"
        )
    attempts: object = options.get("attempts", MAX_ATTEMPTS)
    if not isinstance(attempts, int) or isinstance(attempts, bool) or attempts < 1:
        raise ConfigError(f"{what}, attempts={attempts!r}: give a number from 1")
    given: object = options.get("retry_on", ())
    kinds = tuple(cast("tuple[object, ...]", given)) if isinstance(given, tuple) else (given,)
    for kind in kinds:
        if not isinstance(kind, type) or not issubclass(kind, Exception):
            raise ConfigError(f"{what}, retry_on={given!r}: give classes of exceptions, as in retry_on=(OSError,)")
    return Tries(attempts, cast("tuple[type[Exception], ...]", kinds))


def most_attempts(handlers: Iterable[Registered]) -> int:
    """Return how often a delivery to any of these may be handed over; fewer tries are no reason to set aside earlier
    what was in hand when the process ended."""
    return max(MAX_ATTEMPTS, *(handler.tries.attempts for handler in handlers), 0)
