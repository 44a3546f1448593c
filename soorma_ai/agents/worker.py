"""Workers take tasks and say themselves when they are done."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic

from typing_extensions import TypeVar

from soorma_ai.agents.agent import Agent, H
from soorma_ai.agents.context import PlatformContext
from soorma_ai.agents.typed import Shape, call, event_taken, payload_type
from soorma_ai.core.ending import Failure
from soorma_ai.domain.events import EventTopic, completion_of
from soorma_ai.domain.registry import AgentKind, Approval
from soorma_ai.domain.schemas import SchemaSource
from soorma_ai.domain.values import Json
from soorma_ai.errors import LocalProtocolError
from soorma_ai.runtime.context import Handling
from soorma_ai.runtime.flow import Route
from soorma_ai.runtime.replies import failed, reply, succeeded

T = TypeVar("T", default=dict[str, Any])


@dataclass
class TaskContext(Generic[T]):
    """One task. It ends with `complete` or `fail`, once; `idempotency_key` is the same for every `attempt`."""

    task_id: str
    event_type: str
    plan_id: str | None
    data: T
    response_event: str
    response_topic: EventTopic
    tenant_id: str
    user_id: str
    agent_id: str
    session_id: str | None
    goal_id: str | None
    idempotency_key: str
    attempt: int
    _handling: Handling = field(repr=False)
    _gives: Shape = field(repr=False)
    _ended: bool = field(default=False, repr=False)

    async def complete(self, result: object = None) -> None:
        """Raises LocalProtocolError when the task has ended already, or the result is off its schema."""
        written: Json = self._gives.write(f"the result of {self.event_type!r}", result)
        self._end()
        answer = succeeded("task_id", self.task_id, written)
        self._handling.record(reply(self._handling, answer, default_event=self.response_event))

    async def fail(self, message: str, *, code: str = "failed") -> None:
        """Reply with a failure: the requester goes on to decide what to do about it."""
        self._end()
        answer = failed("task_id", self.task_id, Failure(code, message))
        self._handling.record(reply(self._handling, answer, default_event=self.response_event))

    @property
    def has_ended(self) -> bool:
        return self._ended

    def _end(self) -> None:
        if self._ended:
            raise LocalProtocolError(f"task {self.task_id} has ended; complete() or fail() it once")
        self._ended = True


class Worker(Agent):
    kind = AgentKind.WORKER

    def on_task(
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
        """The handler gets `(task, context)` and ends the task itself. `TaskContext[Model]` types `task.data`."""

        def register(handler: H) -> H:
            takes = Shape(payload_type(handler, TaskContext), payload_schema)
            gives = Shape(None, response_schema)
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
            task = _Task(handler, takes, gives, completion_of(event_type))
            self._take(Route(EventTopic.ACTION_REQUESTS, event_type, task.decide, task.failed), definition)
            return handler

        return register


class _Task:
    def __init__(self, handler: Callable[..., Any], takes: Shape, gives: Shape, default_event: str) -> None:
        self._handler = handler
        self._takes = takes
        self._gives = gives
        self._default_event = default_event

    async def decide(self, handling: Handling) -> None:
        event = handling.event
        task = TaskContext[Any](
            task_id=event.correlation_id or event.id,
            event_type=event.type,
            plan_id=event.plan_id,
            data=self._takes.read(f"task {event.type!r}", event.data),
            response_event=event.response_event or self._default_event,
            response_topic=event.response_topic or EventTopic.ACTION_RESULTS,
            tenant_id=event.tenant_id,
            user_id=event.user_id,
            agent_id=handling.agent,
            session_id=event.session_id,
            goal_id=event.goal_id,
            idempotency_key=handling.idempotency_key,
            attempt=handling.delivery.attempt,
            _handling=handling,
            _gives=self._gives,
        )
        await call(self._handler, task, PlatformContext(handling))
        if not task.has_ended:
            raise LocalProtocolError(
                f"the handler of {event.type!r} returned and left its task open; complete() or fail() it"
            )

    async def failed(self, handling: Handling, failure: Failure) -> None:
        task_id = handling.event.correlation_id or handling.event.id
        handling.record(reply(handling, failed("task_id", task_id, failure), default_event=self._default_event))
