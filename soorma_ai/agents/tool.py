"""Tools: a request comes in, the handler returns the result, the reply goes out."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Generic

from msgspec import Struct
from typing_extensions import TypeVar, Unpack

from soorma_ai.agents.agent import Agent, AgentOptions, EventLike, H
from soorma_ai.agents.annotations import PayloadShape, payload_type, return_type
from soorma_ai.agents.contexts.platform import PlatformContext
from soorma_ai.agents.handler_options import InvokeOptions, RegisteredHandler, event_taken, handler_of, most_attempts
from soorma_ai.errors import ConfigError, OutcomeUnknown, Reject, Retry, TransientError
from soorma_ai.kernel.domain.doubts import Done, Failed, Finding, NotDone, OutsideEffects, StillUnknown
from soorma_ai.kernel.domain.events import EventTopic, Lineage, completion_of, name_fault
from soorma_ai.kernel.domain.registry import AgentKind
from soorma_ai.kernel.domain.replies import Failure, failure_reply, success_reply
from soorma_ai.kernel.runtime.flow import Route
from soorma_ai.kernel.runtime.handling.doubts import find_out
from soorma_ai.kernel.runtime.handling.execute import must_be_wanted
from soorma_ai.kernel.runtime.handling.handling import Handling
from soorma_ai.kernel.runtime.handling.replies import reply

T = TypeVar("T", default=dict[str, Any])


class InvocationContext(Struct, Generic[T], frozen=True, kw_only=True):
    """Invocation of a tool. `InvocationContext[Model]` gives `data` as that model and registers its schema.

    `idempotency_key` is the same for every `attempt` at this request: pass it to outside calls. A test of a handler may
    construct an invocation from its request and its data.
    """

    request_id: str
    """Id of the request."""
    event_type: str
    """Name of the request."""
    data: T
    correlation_id: str = ""
    """Reply key of the request."""
    response_event: str = ""
    """Name of the answer."""
    response_topic: EventTopic = EventTopic.ACTION_RESULTS
    """Topic of the answer."""
    tenant_id: str = Lineage().tenant_id
    """Tenant of the request."""
    user_id: str = Lineage().user_id
    """User of the request."""
    idempotency_key: str = ""
    attempt: int = 1


class Tool(Agent):
    """Agent with a result for each request. For the options see `AgentOptions`.

    Args:
        name: its name in the registry.
        description: its description for planners.
        default_response_event: name of the answer to a request without one; by default the request's, with
            `.completed`.
        effects: the outside effects of its handlers, by default; see `OutsideEffects`.
    """

    kind = AgentKind.TOOL

    def __init__(
        self,
        name: str,
        description: str = "",
        *,
        default_response_event: str | None = None,
        effects: OutsideEffects | str = OutsideEffects.KEYED,
        **options: Unpack[AgentOptions],
    ) -> None:
        super().__init__(name, description, **options)
        if default_response_event is not None and (fault := name_fault(default_response_event)):
            raise ConfigError(f"tool {name}: default_response_event={default_response_event!r}: {fault}")
        self._default_response_event = default_response_event
        self._effects = _outside_effects(effects)

    def on_invoke(self, event_type: EventLike, **options: Unpack[InvokeOptions]) -> Callable[[H], H]:
        """Register a handler, called with `(request, context)`; it returns the result. `event_type` is a name or a
        definition. For the options see `InvokeOptions`."""
        event_type = self._take_given("on_invoke", event_type)
        effects, reconcile = options.get("effects"), options.get("reconcile")
        once = (self._effects if effects is None else _outside_effects(effects)) is OutsideEffects.AT_MOST_ONCE
        if reconcile is not None and not once:
            raise ConfigError(f"on_invoke({event_type!r}, reconcile=...) is for effects='at_most_once' only")

        def register(handler: H) -> H:
            invoked = handler_of(f"on_invoke({event_type!r})", handler, options, InvokeOptions)
            takes = PayloadShape(payload_type(handler, InvocationContext), options.get("payload_schema"))
            gives = PayloadShape(return_type(handler), options.get("response_schema"))
            definition = event_taken(handler, event_type, takes, gives, options)
            invocation = _Invocation(
                run=self._run,
                handler=invoked,
                reconcile=handler_of(f"on_invoke({event_type!r}, reconcile=...)", reconcile, {}) if reconcile else None,
                is_once=once,
                takes=takes,
                gives=gives if gives.schema else PayloadShape(None, self._result_schema(event_type)),
                default_event=self._default_response_event or completion_of(event_type),
            )
            route = Route(
                EventTopic.ACTION_REQUESTS,
                event_type,
                invocation.decide,
                invocation.failed,
                finds_out=reconcile is not None,
                attempts=most_attempts([invoked]),
            )
            self._take(route, definition)
            return handler

        return register


async def _look(asking: Callable[[], Awaitable[Finding]]) -> Finding:
    """Call the hook. It has no say about the handler: its Retry means 'ask me later', and not 'nothing was done'."""
    try:
        return await asking()
    except Retry as later:
        raise TransientError(str(later), retry_after=later.after) from later
    except Reject as rejected:
        return Failed(str(rejected))


class _Invocation(Struct, frozen=True):
    run: Callable[..., Awaitable[Any]]
    handler: RegisteredHandler
    reconcile: RegisteredHandler | None
    is_once: bool
    takes: PayloadShape
    gives: PayloadShape
    default_event: str

    async def decide(self, handling: Handling) -> None:
        await must_be_wanted(handling)
        event = handling.event
        request: InvocationContext[Any] = InvocationContext(
            request_id=event.correlation_id or event.id,
            event_type=event.type,
            correlation_id=event.correlation_id or event.id,
            data=await self.takes.read(event.tenant_id, f"request {event.type!r}", event.data),
            response_event=event.response_event or self.default_event,
            response_topic=event.response_topic or EventTopic.ACTION_RESULTS,
            tenant_id=event.tenant_id,
            user_id=event.user_id,
            idempotency_key=handling.idempotency_key,
            attempt=handling.delivery.attempt,
        )
        run = self._run_once if self.is_once else self._run
        result = await run(handling, request, PlatformContext(handling))
        written = await self.gives.write(event.tenant_id, f"the result of {event.type!r}", result)
        handling.record(reply(handling, success_reply(written), default_event=self.default_event))

    async def _run(self, handling: Handling, request: InvocationContext[Any], context: PlatformContext) -> Any:
        """Run it, for the first time or again: all its outside calls have one key."""
        handling.resolve()
        return await self.run(handling, self.handler, request, context)

    async def _run_once(self, handling: Handling, request: InvocationContext[Any], context: PlatformContext) -> Any:
        """Run it unless it has begun before; then find out its outcome."""
        finding: Finding = NotDone()
        was_in_doubt = handling.is_in_doubt
        if was_in_doubt:
            asking = partial(self.run, handling, self.reconcile, request, context) if self.reconcile else None
            finding = await find_out(handling, partial(_look, asking) if asking else None)
        match finding:
            case Done(result):
                handling.resolve()
                return result
            case Failed(message):
                handling.resolve()
                raise Reject(message, code="in_doubt")
            case StillUnknown(reason):
                raise OutcomeUnknown(reason or f"{request.event_type} may or may not have been done")
            case NotDone():
                if was_in_doubt:
                    handling.resolve()
                    await must_be_wanted(handling)
                await handling.begin()
                return await self.run(handling, self.handler, request, context)

    async def failed(self, handling: Handling, failure: Failure) -> None:
        told = failure_reply(failure.code, failure.message)
        handling.record(reply(handling, told, default_event=self.default_event))


def _outside_effects(given: OutsideEffects | str) -> OutsideEffects:
    try:
        return OutsideEffects(given)
    except ValueError as error:
        raise ConfigError(f"effects={given!r}: give {', '.join(OutsideEffects)}") from error
