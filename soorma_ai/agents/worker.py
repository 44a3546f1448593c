"""Workers: they take tasks, delegate parts of them, and end them explicitly."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import Unpack

from soorma_ai.agents.agent import Agent, AgentOptions, EventLike, H
from soorma_ai.agents.annotations import PayloadShape, payload_type
from soorma_ai.agents.contexts.platform import PlatformContext
from soorma_ai.agents.contexts.task import ResultContext, TaskContext
from soorma_ai.agents.contexts.task_in_hand import TaskInHand
from soorma_ai.agents.handler_options import (
    HandlerOptions,
    RegisteredHandler,
    RequestOptions,
    event_taken,
    handler_of,
    most_attempts,
    must_be_name,
)
from soorma_ai.errors import ConfigError, LocalProtocolError, NotFound
from soorma_ai.kernel.domain.effects import Expect
from soorma_ai.kernel.domain.events import EventTopic, Lineage, completion_of
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationStatus
from soorma_ai.kernel.domain.registry import AgentKind
from soorma_ai.kernel.domain.replies import Failure, is_failure
from soorma_ai.kernel.domain.values import Data, JsonObject
from soorma_ai.kernel.rules.task import TASK_TIMEOUT, timeout_event
from soorma_ai.kernel.runtime.client.intake import lineage_of, send_task
from soorma_ai.kernel.runtime.flow import Route
from soorma_ai.kernel.runtime.handling.execute import must_be_wanted
from soorma_ai.kernel.runtime.handling.handling import Handling
from soorma_ai.kernel.runtime.handling.replies import tell_requester


class Worker(Agent):
    """Agent for tasks. It delegates parts of a task and ends the task explicitly. Between handlers a task is rows on
    disk.

    For the options see `AgentOptions`.
    """

    kind = AgentKind.WORKER

    def __init__(self, name: str, description: str = "", **options: Unpack[AgentOptions]) -> None:
        super().__init__(name, description, **options)
        self._task_handlers: dict[str, _Task] = {}
        self._result_handlers: dict[str, RegisteredHandler] = {}
        # Without an on_result as well: what an earlier version waited for has to end.
        self._routes.append(Route(None, "", self._continue, self._report_failure, continues=True))

    def on_task(self, event_type: EventLike, **options: Unpack[RequestOptions]) -> Callable[[H], H]:
        """Register a handler, called with `(task, context)`; it ends the task itself. `event_type` is a name or a
        definition. `TaskContext[Model]` types `task.data`. For the options see `RequestOptions`."""
        event_type = self._take_given("on_task", event_type)

        def register(handler: H) -> H:
            working = handler_of(f"on_task({event_type!r})", handler, options, RequestOptions)
            takes = PayloadShape(payload_type(handler, TaskContext), options.get("payload_schema"))
            gives = PayloadShape(None, options.get("response_schema"))
            definition = event_taken(handler, event_type, takes, gives, options)
            promised = gives if gives.schema else PayloadShape(None, self._result_schema(event_type))
            self._task_handlers[event_type] = _Task(working, takes, promised, completion_of(event_type))
            most = most_attempts([working])
            route = Route(EventTopic.ACTION_REQUESTS, event_type, self._begin, self._report_failure, attempts=most)
            self._take(route, definition)
            return handler

        return register

    def on_result(self, event_type: str, **options: Unpack[HandlerOptions]) -> Callable[[H], H]:
        """Register a handler, called with `(result, context)` for every answer of this name to a task of this worker,
        and for a missing answer at the end of its time. Stacked decorators give one handler several names.

        `on_result("task.timeout")` takes the unanswered questions to people; without it, such a task fails. For the
        options see `HandlerOptions`.
        """
        must_be_name("on_result", event_type)

        def register(handler: H) -> H:
            if event_type in self._result_handlers:
                raise ConfigError(f"{self.name} has two handlers for the result {event_type!r}; keep one")
            self._result_handlers[event_type] = handler_of(f"on_result({event_type!r})", handler, options)
            return handler

        return register

    async def execute_task(
        self, task_name: str, data: Data, plan_id: str | None = None, goal_id: str | None = None
    ) -> str:
        """Give a task to this worker, and no other, from a test or a script: an event through its inbox. Return the
        task's id; it is the reply key of the answer.

        Raises NotFound for a task without a handler here and for an unknown plan; LocalProtocolError for data off its
        schema, inside a handler, and while the worker is not running.

        Args:
            task_name: the name of the task's event.
            data: its payload.
            plan_id: the requesting plan; the task then has its lineage. The plan does not wait for it.
            goal_id: the id of a goal, for the lineage.
        """
        if self._services is None:
            raise LocalProtocolError(f"worker {self.name} is not running; start it with platform.start(...)")
        definition = next((known for _, known in self._taken if known.event_name == task_name), None)
        if definition is None or task_name not in self._task_handlers:
            tasks = ", ".join(self._task_handlers) or "none"
            raise NotFound(f"{self.name} has no on_task({task_name!r}); its tasks: {tasks}")
        tenant_id = self.tenant_id or Lineage().tenant_id
        lineage = await lineage_of(self._services, tenant_id, plan_id, goal_id)
        return await send_task(self._services, self.agent_id, definition, data, lineage)

    def routes(self) -> Sequence[Route]:
        most = most_attempts(self._result_handlers.values())
        return [replace(route, attempts=most) if route.continues else route for route in super().routes()]

    @property
    def events_consumed(self) -> list[str]:
        """Events with a handler, and possible results of its tasks' requests."""
        return [*super().events_consumed, *self._result_handlers]

    async def _begin(self, handling: Handling) -> None:
        await must_be_wanted(handling)
        taken = self._task_handlers[handling.event.type]
        in_hand = TaskInHand.take(handling, taken.default_event)
        task = await self._context(in_hand)
        await self._call_author(taken.handler, task, task)
        await in_hand.save()

    async def _continue(self, handling: Handling) -> None:
        in_hand = await TaskInHand.load(handling)
        if in_hand is None:
            return
        if in_hand.is_abandoned:
            await in_hand.cancel()
            return
        closing = await in_hand.find_closed_wait()
        if closing is None:
            return
        met, event = closing
        handling.met[handling.event.id] = met
        came = await in_hand.receive(met, event)
        task = await self._context(in_hand)
        name = await self._name_of(met, in_hand)
        if name is not None:
            await self._call_author(self._result_handlers[name], _result(name, met, came, task), task)
        await in_hand.save()

    async def _call_author(self, handler: RegisteredHandler, given: object, task: TaskContext[Any]) -> None:
        """Call the handler. Raise LocalProtocolError for a question without a handler for its answer."""
        handling = task.in_hand.handling
        await self._run(handling, handler, given, PlatformContext(handling, task.in_hand, task))
        asked = [effect.expectation.event_type for effect in handling.recorded if isinstance(effect, Expect)]
        if deaf := [name for name in asked if name not in self._result_handlers]:
            raise LocalProtocolError(f"{self.name} has no handler for the answer: register on_result({deaf[0]!r})")

    async def _name_of(self, met: Expectation, in_hand: TaskInHand) -> str | None:
        """Return the name for the handler; None when nothing is left to handle."""
        unanswered = met.status is ExpectationStatus.EXPIRED and met.ask is not None
        if unanswered:
            in_hand.handling.record(timeout_event(in_hand.record, met, in_hand.handling.moment()))
            if TASK_TIMEOUT in self._result_handlers:
                return TASK_TIMEOUT
            await in_hand.fail(TASK_TIMEOUT, f"nobody answered {met.event_type!r} in time")
            return None
        if met.event_type not in self._result_handlers:
            raise NotFound(f"{self.name} has no on_result({met.event_type!r}) any more")
        return met.event_type

    async def _report_failure(self, handling: Handling, failure: Failure) -> None:
        """Report the failure to the requester of the task; its waits end."""
        in_hand, taken = await TaskInHand.load(handling), self._task_handlers.get(handling.event.type)
        if in_hand is None and taken is not None and handling.delivery.owner == handling.event.id:
            in_hand = TaskInHand.take(handling, taken.default_event)
        if in_hand is not None:
            await in_hand.fail(failure.code, failure.message)
        else:
            await tell_requester(handling, failure)

    async def _context(self, in_hand: TaskInHand) -> TaskContext[Any]:
        record, handling = in_hand.record, in_hand.handling
        taken = self._task_handlers.get(record.event_type)
        if taken is None:
            raise NotFound(f"{self.name} has no on_task({record.event_type!r}) any more")
        return TaskContext[Any](
            task_id=record.task_id,
            event_type=record.event_type,
            plan_id=record.lineage.plan_id,
            data=await taken.takes.read(record.lineage.tenant_id, f"task {record.event_type!r}", record.data),
            response_event=record.answer_event,
            response_topic=record.answer_topic,
            state=in_hand.state,
            tenant_id=record.lineage.tenant_id,
            user_id=record.lineage.user_id,
            agent_id=record.agent,
            session_id=record.lineage.session_id,
            goal_id=record.lineage.goal_id,
            correlation_id=record.answer_key,
            idempotency_key=handling.idempotency_key,
            attempt=handling.delivery.attempt,
            in_hand=in_hand,
            _gives=taken.gives,
        )


class _Task(Struct, frozen=True):
    handler: RegisteredHandler
    takes: PayloadShape
    gives: PayloadShape
    default_event: str


def _result(name: str, met: Expectation, data: JsonObject, task: TaskContext[Any]) -> ResultContext:
    """Return the content of an answer. A reply has a success flag; an answer of a person, or an event of another kind,
    is the result itself."""
    if name == TASK_TIMEOUT:
        return ResultContext(name, met.id, {}, None, False, f"nobody answered {met.event_type!r} in time", task)
    if met.answer is not None:
        said = met.answer.payload
        return ResultContext(name, met.id, said, said, True, None, task)
    if is_failure(data):
        error = data.get("error")
        message = error.get("message") if isinstance(error, dict) else error
        return ResultContext(name, met.id, data, None, False, str(message or "failed"), task)
    return ResultContext(name, met.id, data, data.get("result", data), True, None, task)
