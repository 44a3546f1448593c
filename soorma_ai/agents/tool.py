"""Tools answer: a request comes, the handler returns the result, the reply goes out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic

from typing_extensions import TypeVar, Unpack

from soorma_ai.agents.agent import Agent, AgentOptions, H
from soorma_ai.agents.context import PlatformContext
from soorma_ai.agents.typed import Shape, call, event_taken, payload_type, return_type
from soorma_ai.core.ending import Failure
from soorma_ai.domain.events import EventTopic, completion_of
from soorma_ai.domain.registry import AgentKind, Approval
from soorma_ai.domain.schemas import SchemaSource
from soorma_ai.runtime.context import Handling
from soorma_ai.runtime.flow import Route
from soorma_ai.runtime.replies import failed, reply, request_id_of, succeeded

T = TypeVar("T", default=dict[str, Any])


@dataclass(frozen=True)
class InvocationContext(Generic[T]):
    """One invocation. `InvocationContext[Model]` gives `data` as that model and registers its schema.

    `idempotency_key` is the same for every `attempt` at this request: hand it to whatever is done outside.
    """

    request_id: str
    event_type: str
    correlation_id: str
    data: T
    response_event: str
    response_topic: EventTopic
    tenant_id: str
    user_id: str
    idempotency_key: str
    attempt: int


class Tool(Agent):
    kind = AgentKind.TOOL

    def __init__(
        self,
        name: str,
        description: str = "",
        *,
        default_response_event: str | None = None,
        **options: Unpack[AgentOptions],
    ) -> None:
        super().__init__(name, description, **options)
        self._default_response_event = default_response_event

    def on_invoke(
        self,
        event_type: str,
        *,
        description: str = "",
        payload_schema: SchemaSource | None = None,
        response_schema: SchemaSource | None = None,
        approval: Approval | str | None = None,
        irreversible: bool = False,
        version: str = "",
    ) -> Callable[[H], H]:
        """The handler gets `(request, context)` and returns the result.

        Schemas come from here (JSON Schema or a pydantic model), else from the annotations, else from the
        capability that describes the event. `approval` is 'always', a CEL condition over `payload` and
        `context`, or an `Approval`: then a planner's publish of this event waits for a person.
        """

        def register(handler: H) -> H:
            takes = Shape(payload_type(handler, InvocationContext), payload_schema)
            gives = Shape(return_type(handler), response_schema)
            definition = event_taken(
                handler,
                event_type,
                takes,
                gives,
                description=description,
                approval=approval,
                irreversible=irreversible,
                version=version,
            )
            invocation = _Invocation(handler, takes, gives, self._default_response_event or completion_of(event_type))
            self._take(Route(EventTopic.ACTION_REQUESTS, event_type, invocation.decide, invocation.failed), definition)
            return handler

        return register


class _Invocation:
    def __init__(self, handler: Callable[..., Any], takes: Shape, gives: Shape, default_event: str) -> None:
        self._handler = handler
        self._takes = takes
        self._gives = gives
        self._default_event = default_event

    async def decide(self, handling: Handling) -> None:
        event = handling.event
        request = InvocationContext[Any](
            request_id=request_id_of(handling),
            event_type=event.type,
            correlation_id=event.correlation_id or event.id,
            data=self._takes.read(f"request {event.type!r}", event.data),
            response_event=event.response_event or self._default_event,
            response_topic=event.response_topic or EventTopic.ACTION_RESULTS,
            tenant_id=event.tenant_id,
            user_id=event.user_id,
            idempotency_key=handling.idempotency_key,
            attempt=handling.delivery.attempt,
        )
        result = await call(self._handler, request, PlatformContext(handling))
        written = self._gives.write(f"the result of {event.type!r}", result)
        handling.record(
            reply(handling, succeeded("request_id", request.request_id, written), default_event=self._default_event)
        )

    async def failed(self, handling: Handling, failure: Failure) -> None:
        answer = failed("request_id", request_id_of(handling), failure)
        handling.record(reply(handling, answer, default_event=self._default_event))
