"""Options of all handler decorators: number of tries, and faults to try again."""

import inspect
from collections.abc import Iterable, Sequence
from typing import Any, cast

from msgspec import Struct
from pydantic import ValidationError
from typing_extensions import TypedDict

from soorma_ai.agents.annotations import Handler, PayloadShape
from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.approvals import Approval, approval_of
from soorma_ai.kernel.domain.call_options import must_know
from soorma_ai.kernel.domain.doubts import OutsideEffects
from soorma_ai.kernel.domain.events import name_fault
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.schemas import ANY_OBJECT, SchemaSource
from soorma_ai.kernel.rules.delivery.disposition import MAX_ATTEMPTS, USUAL, Tries

# What a decorator is given that is called where it should decorate.
MISSING: Any = object()


class HandlerOptions(TypedDict, total=False):
    """Options of every handler's decorator.

    Temporary faults are tried again, after a growing pause: `Retry`, `TransientError`, lost connections, time-outs.
    """

    retry_on: type[Exception] | tuple[type[Exception], ...]
    """Errors that are tried again, too: a class, or a tuple of classes."""
    attempts: int
    """Most tries, the first one included; 5 by default."""


class RequestOptions(HandlerOptions, total=False):
    """Options of a request handler's decorator: they complete the definition of its event.

    Sources of a schema, in this order: the option, the annotations, the event's definition, the event's capability.
    """

    description: str
    """Description for planners; by default the handler's docstring."""
    payload_schema: SchemaSource | None
    """Schema of the data: JSON Schema, or a pydantic model."""
    response_schema: SchemaSource | None
    """Schema of the result."""
    approval: Approval | str | None
    """'always', a CEL condition over `payload` and `context`, or an `Approval`: a planner's publish of this event then
    waits for a person."""
    irreversible: bool
    """True for an effect without a way back: without an `approval`, a person is always asked."""
    version: str
    """Version of the schemas; by default made of their content."""
    replaces: str | Sequence[str]
    """Former versions, one or several, that this narrower one may break."""


class InvokeOptions(RequestOptions, total=False):
    """Options of `Tool.on_invoke`."""

    effects: OutsideEffects | str | None
    """Effects of the handler outside; by default those of the tool. With "at_most_once", its begin is on disk. A
    handler that then ends otherwise than by returning, `Retry` or `Reject` is not run again."""
    reconcile: Handler | None
    """`reconcile(request, context)` returns `Done`, `NotDone`, `Failed` or `StillUnknown` for a handler of unknown
    outcome. Without it, or when it does not know either, a person is asked."""


class RegisteredHandler(Struct, frozen=True):
    """Handler, as given to its decorator."""

    function: Handler
    tries: Tries = USUAL


def handler_of(what: str, handler: Handler, options: HandlerOptions, known: type = HandlerOptions) -> RegisteredHandler:
    """Return the handler of the decorator `what`. Raise ConfigError for wrong arguments of the handler, and for options
    outside of `known`."""
    must_take(2, what, handler)
    must_know(what, options, known)
    return RegisteredHandler(handler, tries_of(what, options))


def event_taken(
    handler: Handler, event_type: str, takes: PayloadShape, gives: PayloadShape, options: RequestOptions
) -> EventDefinition:
    """Return the definition of a handler's event. Raise ConfigError."""
    try:
        return EventDefinition(
            event_name=event_type,
            description=options.get("description") or inspect.getdoc(handler) or "",
            payload_schema=takes.schema or ANY_OBJECT,
            response_schema=gives.schema,
            version=options.get("version", ""),
            replaces=options.get("replaces", ()),
            approval=approval_of(options.get("approval")),
            irreversible=options.get("irreversible", False),
        )
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        raise ConfigError(f"{event_type!r}: {fault['loc'][0]}={fault['input']!r}: {fault['msg']}") from error


def must_take(count: int, what: str, handler: object) -> None:
    """Raise ConfigError for anything but a function of `count` positional arguments."""
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
    """Raise ConfigError for an invalid name of an event; most often it is the handler, and the parentheses are
    missing."""
    if callable(given):
        name = getattr(given, "__name__", given)
        raise ConfigError(f"{what} got the function {name}; name the event above it, as in @{what}({example})")
    if given == "":
        raise ConfigError(f"{what}(''): give the event's own name, as text: @{what}({example})")
    if fault := name_fault(given):
        raise ConfigError(f"{what}({given!r}): {fault}")


def tries_of(what: str, options: HandlerOptions) -> Tries:
    """Return the tries of the decorator `what`. Raise ConfigError."""
    attempts: object = options.get("attempts", MAX_ATTEMPTS)
    if not isinstance(attempts, int) or isinstance(attempts, bool) or attempts < 1:
        raise ConfigError(f"{what}, attempts={attempts!r}: give a number from 1")
    given: object = options.get("retry_on", ())
    kinds = tuple(cast("tuple[object, ...]", given)) if isinstance(given, tuple) else (given,)
    for kind in kinds:
        if not isinstance(kind, type) or not issubclass(kind, Exception):
            raise ConfigError(f"{what}, retry_on={given!r}: give classes of exceptions, as in retry_on=(OSError,)")
    return Tries(attempts, cast("tuple[type[Exception], ...]", kinds))


def most_attempts(handlers: Iterable[RegisteredHandler]) -> int:
    """Return the largest number of attempts among these handlers. Deliveries interrupted by the process's end are not
    set aside earlier because of a handler with fewer tries."""
    return max(MAX_ATTEMPTS, *(handler.tries.attempts for handler in handlers), 0)
