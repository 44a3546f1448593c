"""Context of a handler. Its calls are recorded, and take effect after the handler's return."""

from functools import cached_property
from typing import cast

from typing_extensions import Unpack

from soorma_ai.agents.contexts.memory import MemoryClient
from soorma_ai.agents.contexts.task_in_hand import TaskInHand
from soorma_ai.context_parts import TOOLKIT, TRACKER
from soorma_ai.context_parts.toolkit import Toolkit
from soorma_ai.context_parts.tracker import TrackerCalls
from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.domain.call_options import EventOptions, must_know
from soorma_ai.kernel.domain.effects import Declare, Publish
from soorma_ai.kernel.domain.events import EventTopic, Lineage, ReplyAddress, topic_of
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.states import HUMAN_INPUT
from soorma_ai.kernel.domain.values import Data, JsonObject, json_object, must_be_text
from soorma_ai.kernel.rules.task import question_of
from soorma_ai.kernel.rules.waits.replies import check_address, check_author
from soorma_ai.kernel.runtime.handling.handling import Handling
from soorma_ai.kernel.runtime.views.registry import Directory


class BusClient:
    """Publishes by recording. Ids derive from the present delivery: a second handling publishes nothing new."""

    def __init__(self, handling: Handling, task: TaskInHand | None) -> None:
        self._handling = handling
        self._task = task

    async def publish(
        self, topic: EventTopic | str, event_type: str, data: Data, **options: Unpack[EventOptions]
    ) -> str:
        """Publish an event, and return its id.

        In a task, `notification.human_input` on notification-events is a question to people, and the wait's id is
        returned. Keys of its `data`: `question`, `response_event` (the name of the answer) and `timeout_seconds`;
        optionally `approvers` (roles), `remind_after_seconds` (one number or several), and `escalate_after_seconds`
        with `escalate_to` (further roles with the right to answer from then on).

        Args:
            topic: the topic of the event.
            event_type: the name of the event.
            data: the payload; JSON.
            correlation_id: the reply key; of an answer, the key of its request.
            response_event: the name of the wanted answer, for a request.
            response_topic: the topic of the wanted answer.
            subject: the thing or person concerned by the event.
        """
        must_know("publish", options, EventOptions)
        payload = json_object(f"the data of {event_type!r}", data)
        if event_type == HUMAN_INPUT and topic_of(topic) is EventTopic.NOTIFICATION_EVENTS:
            return await self._ask(payload)
        check_author(event_type)
        moment = self._handling.moment()
        event_id = moment.event_id(event_type)
        correlation_id = options.get("correlation_id")
        event = moment.event(
            self._handling.working_lineage,
            topic_of(topic),
            event_type,
            payload,
            event_id=event_id,
            correlation_id=correlation_id,
            reply_to=_reply_address(options, event_id),
            subject=options.get("subject"),
            answers=self._answers(correlation_id),
        )
        self._handling.record(Publish(event))
        return event_id

    def _answers(self, correlation_id: str | None) -> str | None:
        """Return the present request if its reply key is given: a handler answers no other request."""
        request = self._handling.event
        is_its_key = correlation_id is not None and correlation_id in (request.correlation_id, request.id)
        return request.id if is_its_key and request.topic is EventTopic.ACTION_REQUESTS else None

    async def _ask(self, data: JsonObject) -> str:
        if self._task is None:
            raise LocalProtocolError(f"{HUMAN_INPUT!r} is a question of a task; a planner waits with WAIT or pause()")
        question = question_of(data)
        if isinstance(question, str):
            raise LocalProtocolError(f"{HUMAN_INPUT!r} cannot be asked: {question}")
        return await self._task.ask(question)

    async def request(
        self,
        event_type: str,
        data: Data,
        response_event: str,
        *,
        correlation_id: str | None = None,
        response_topic: EventTopic | str = EventTopic.ACTION_RESULTS,
    ) -> str:
        """Make a request, and return its reply key. The reply is an event of its own, `response_event` on
        `response_topic`."""
        must_be_text("response_event", response_event)
        event_id = await self.publish(
            EventTopic.ACTION_REQUESTS,
            event_type,
            data,
            correlation_id=correlation_id,
            response_event=response_event,
            response_topic=response_topic,
        )
        return correlation_id or event_id

    async def respond(
        self, event_type: str, data: Data, correlation_id: str, topic: EventTopic | str = EventTopic.ACTION_RESULTS
    ) -> str:
        """Answer the request with this reply key."""
        return await self.publish(topic, event_type, data, correlation_id=correlation_id)

    async def announce(self, event_type: str, data: Data, *, correlation_id: str | None = None) -> str:
        """Publish a fact on business-facts."""
        return await self.publish(EventTopic.BUSINESS_FACTS, event_type, data, correlation_id=correlation_id)


class RegistryClient(Directory):
    """Agents and their offers, in the tenant of the present delivery."""

    def __init__(self, handling: Handling) -> None:
        event = handling.event
        super().__init__(handling.services, Person(event.tenant_id, event.user_id, frozenset()))
        self._handling = handling

    async def register_event(self, definition: EventDefinition) -> None:
        """Register a further event of this agent, so that plans can wait for it, until the agent's next start.
        Permanent events belong into `events_produced`. The event belongs to the agent's tenant, not to the delivery's:
        an event of a shared agent is visible to all tenants."""
        given = cast("object", definition)
        if not isinstance(given, EventDefinition):
            raise LocalProtocolError(
                f"register_event({given!r}): give an EventDefinition, with the event's name and topic"
            )
        if given.topic is EventTopic.ACTION_REQUESTS:
            raise LocalProtocolError(f"{given.event_name!r} is a request: whoever has its handler registers it")
        self._handling.record(Declare(self._handling.agent, given))


class PlatformContext:
    """Context of a handler's call. `tenant_id`, `user_id` and `session_id` are those of the present event; on a
    wake-up, those of its plan or task. No payload and no model can set them. `bus` publishes and requests, `memory`
    stores notes of tasks and plans, `registry` finds agents, `tracker` shows the progress of plans, `toolkit` searches
    the events of live agents. `task` is the `TaskContext` of a worker's delivery."""

    def __init__(self, handling: Handling, in_hand: TaskInHand | None = None, task: object | None = None) -> None:
        self.handling = handling
        self.task = task
        self._in_hand = in_hand

    @cached_property
    def bus(self) -> BusClient:
        """Return the client to publish and request with."""
        return BusClient(self.handling, self._in_hand)

    @cached_property
    def registry(self) -> RegistryClient:
        """Return the client to find agents with."""
        return RegistryClient(self.handling)

    @cached_property
    def memory(self) -> MemoryClient:
        """Return the client to store notes with."""
        return MemoryClient(self.handling, self._in_hand)

    @cached_property
    def tracker(self) -> TrackerCalls:
        return self.handling.part(TRACKER)

    @cached_property
    def toolkit(self) -> Toolkit:
        return self.handling.part(TOOLKIT)

    @property
    def tenant_id(self) -> str:
        """Tenant of the delivery."""
        return self.lineage.tenant_id

    @property
    def user_id(self) -> str:
        """User of the delivery."""
        return self.lineage.user_id

    @property
    def session_id(self) -> str | None:
        """Session of the delivery; None without one."""
        return self.lineage.session_id

    @property
    def agent_id(self) -> str:
        """Return the name of the handler's agent."""
        return self.handling.agent

    @property
    def lineage(self) -> Lineage:
        """Return the inherited fields of the handler's events: tenant, user, session, plan, deadline."""
        return self.handling.lineage

    @property
    def attempt(self) -> int:
        """Return the number of this attempt at the delivery, from 1."""
        return self.handling.delivery.attempt

    @property
    def idempotency_key(self) -> str:
        """Return a key for outside effects; it is the same at every attempt."""
        return self.handling.idempotency_key


def _reply_address(options: EventOptions, event_id: str) -> ReplyAddress | None:
    """Return the address of the wanted answer; None where none is named."""
    response_event = options.get("response_event")
    if not response_event:
        return None
    topic = topic_of(options.get("response_topic", EventTopic.ACTION_RESULTS))
    check_address(response_event, topic)
    return ReplyAddress(options.get("correlation_id") or event_id, response_event, topic)
