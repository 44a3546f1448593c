"""The context of a handler. Everything it does here is recorded, and happens when the handler has returned."""

from functools import cached_property
from typing import cast

from soorma_ai.agents.contexts.memory import MemoryClient
from soorma_ai.agents.contexts.task_in_hand import TaskInHand
from soorma_ai.context_parts import TOOLKIT, TRACKER
from soorma_ai.context_parts.toolkit import Toolkit
from soorma_ai.context_parts.tracker import TrackerCalls
from soorma_ai.errors import LocalProtocolError
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
    """Publishes by recording. Ids derive from the delivery in hand, so handling again publishes nothing new."""

    def __init__(self, handling: Handling, task: TaskInHand | None) -> None:
        self._handling = handling
        self._task = task

    async def publish(
        self,
        topic: EventTopic | str,
        event_type: str,
        data: Data,
        *,
        correlation_id: str | None = None,
        response_event: str | None = None,
        response_topic: EventTopic | str = EventTopic.ACTION_RESULTS,
        subject: str | None = None,
    ) -> str:
        """Publish, and return the event's id.

        In a task, `notification.human_input` on notification-events is a question to people: `data` gives its
        `question`, the `response_event` that answers it and `timeout_seconds`, and the wait's id is returned. It may
        give `approvers` (roles), `remind_after_seconds` (one number or several), and `escalate_after_seconds` with
        `escalate_to` (roles that may answer, too, from then on).
        """
        payload = json_object(f"the data of {event_type!r}", data)
        if event_type == HUMAN_INPUT and topic_of(topic) is EventTopic.NOTIFICATION_EVENTS:
            return await self._ask(payload)
        check_author(event_type)
        moment = self._handling.moment()
        event_id = moment.event_id(event_type)
        reply_to = None
        if response_event:
            check_address(response_event, topic_of(response_topic))
            reply_to = ReplyAddress(correlation_id or event_id, response_event, topic_of(response_topic))
        event = moment.event(
            self._handling.working_lineage,
            topic_of(topic),
            event_type,
            payload,
            event_id=event_id,
            correlation_id=correlation_id,
            reply_to=reply_to,
            subject=subject,
            answers=self._answers(correlation_id),
        )
        self._handling.record(Publish(event))
        return event_id

    def _answers(self, correlation_id: str | None) -> str | None:
        """The request in hand, where its reply key is used: so no request of another is answered by it."""
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
        """Return the reply key, never a reply: that is another event."""
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
        return await self.publish(topic, event_type, data, correlation_id=correlation_id)

    async def announce(self, event_type: str, data: Data, *, correlation_id: str | None = None) -> str:
        return await self.publish(EventTopic.BUSINESS_FACTS, event_type, data, correlation_id=correlation_id)


class RegistryClient(Directory):
    """The agents that there are and what they offer, in the tenant of the delivery in hand."""

    def __init__(self, handling: Handling) -> None:
        event = handling.event
        super().__init__(handling.services, Person(event.tenant_id, event.user_id, frozenset()))
        self._handling = handling

    async def register_event(self, definition: EventDefinition) -> None:
        """An event that this agent may make from now on, so that plans can wait for it; it owns it until it starts
        anew. What it always makes belongs into its `events_produced`. It is the agent's, not the tenant's in hand: that
        of an agent which all tenants share is seen by all of them."""
        given = cast("object", definition)
        if not isinstance(given, EventDefinition):
            raise LocalProtocolError(
                f"register_event({given!r}): give an EventDefinition, with the event's name and topic"
            )
        if given.topic is EventTopic.ACTION_REQUESTS:
            raise LocalProtocolError(f"{given.event_name!r} is a request: whoever has its handler registers it")
        self._handling.record(Declare(self._handling.agent, given))


class PlatformContext:
    """`tenant_id`, `user_id` and `session_id` are those of the event in hand, or of the plan or the task that a wake-up
    is for; no payload and no model can set them. `bus` publishes and asks, `memory` keeps what tasks and plans know,
    `registry` finds agents, `tracker` tells how far plans are, `toolkit` looks through the events of live agents.
    `task` is the `TaskContext` of a worker's delivery."""

    def __init__(self, handling: Handling, in_hand: TaskInHand | None = None, task: object | None = None) -> None:
        self.handling = handling
        self.task = task
        self.bus = BusClient(handling, in_hand)
        self.registry = RegistryClient(handling)
        self.memory = MemoryClient(handling, in_hand)

    @cached_property
    def tracker(self) -> TrackerCalls:
        return self.handling.part(TRACKER)

    @cached_property
    def toolkit(self) -> Toolkit:
        return self.handling.part(TOOLKIT)

    @property
    def tenant_id(self) -> str:
        return self.lineage.tenant_id

    @property
    def user_id(self) -> str:
        return self.lineage.user_id

    @property
    def session_id(self) -> str | None:
        return self.lineage.session_id

    @property
    def agent_id(self) -> str:
        """Return the name of the agent in whose handler this is."""
        return self.handling.agent

    @property
    def lineage(self) -> Lineage:
        """Return what the events of this handler inherit: tenant, user, session, plan, deadline."""
        return self.handling.lineage

    @property
    def attempt(self) -> int:
        """Return how often this delivery was handed over, from 1."""
        return self.handling.delivery.attempt

    @property
    def idempotency_key(self) -> str:
        """Return the key that is the same at every attempt: for what is done outside."""
        return self.handling.idempotency_key
