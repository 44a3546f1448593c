"""What a handler works with. Everything it does here is recorded, and happens when the handler has returned."""

from collections.abc import Mapping
from typing import Any

from soorma_ai.domain.effects import Publish
from soorma_ai.domain.events import EventTopic, Lineage, ReplyAddress, new_event, topic_of
from soorma_ai.domain.registry import EventRole, RegisteredEvent
from soorma_ai.domain.values import JsonObject
from soorma_ai.runtime.context import Handling


class BusClient:
    """Publishes by recording. Ids derive from the delivery in hand, so handling again publishes nothing new."""

    def __init__(self, handling: Handling) -> None:
        self._handling = handling

    async def publish(
        self,
        topic: EventTopic | str,
        event_type: str,
        data: Mapping[str, Any],
        *,
        correlation_id: str | None = None,
        response_event: str | None = None,
        response_topic: EventTopic | str = EventTopic.ACTION_RESULTS,
        subject: str | None = None,
    ) -> str:
        """Returns the event's id."""
        moment = self._handling.moment()
        event_id = moment.event_id(event_type)
        reply_to = None
        if response_event:
            reply_to = ReplyAddress(correlation_id or event_id, response_event, topic_of(response_topic))
        event = new_event(
            self._handling.plan.lineage if self._handling.has_plan else self._handling.event.lineage,
            event_id=event_id,
            source=self._handling.agent,
            topic=topic_of(topic),
            type=event_type,
            data=dict(data),
            time=moment.now,
            correlation_id=correlation_id,
            causation_id=self._handling.event.id,
            reply_to=reply_to,
            subject=subject,
        )
        self._handling.record(Publish(event))
        return event_id

    async def request(
        self,
        event_type: str,
        data: Mapping[str, Any],
        response_event: str,
        *,
        correlation_id: str | None = None,
        response_topic: EventTopic | str = EventTopic.ACTION_RESULTS,
    ) -> str:
        """Returns the reply key, never a reply: that is another event."""
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
        self,
        event_type: str,
        data: Mapping[str, Any],
        correlation_id: str,
        topic: EventTopic | str = EventTopic.ACTION_RESULTS,
    ) -> str:
        return await self.publish(topic, event_type, data, correlation_id=correlation_id)

    async def announce(self, event_type: str, data: Mapping[str, Any], *, correlation_id: str | None = None) -> str:
        return await self.publish(EventTopic.BUSINESS_FACTS, event_type, data, correlation_id=correlation_id)


class RegistryClient:
    """What live agents offer, in the tenant of the delivery in hand."""

    def __init__(self, handling: Handling) -> None:
        self._handling = handling

    async def events(self) -> list[RegisteredEvent]:
        services = self._handling.services
        now = services.clock.now()
        await services.presence.confirm(services.store, now)
        return await services.store.live_events(self._handling.event.tenant_id, now)

    async def get_event_schema(self, event_name: str) -> JsonObject | None:
        """The payload schema of an event that a live agent takes."""
        takes = (EventRole.TAKES, EventRole.TAKES_AS_GOAL)
        for registered in await self.events():
            if registered.role in takes and registered.definition.event_name == event_name:
                return registered.definition.payload_schema
        return None


class PlatformContext:
    """`tenant_id` and `user_id` are those of the event in hand; no payload and no model can set them."""

    def __init__(self, handling: Handling) -> None:
        self.handling = handling
        self.bus = BusClient(handling)
        self.registry = RegistryClient(handling)

    @property
    def tenant_id(self) -> str:
        return self.handling.event.tenant_id

    @property
    def user_id(self) -> str:
        return self.handling.event.user_id

    @property
    def session_id(self) -> str | None:
        return self.handling.event.session_id

    @property
    def agent_id(self) -> str:
        return self.handling.agent

    @property
    def lineage(self) -> Lineage:
        return self.handling.event.lineage

    @property
    def attempt(self) -> int:
        return self.handling.delivery.attempt

    @property
    def idempotency_key(self) -> str:
        return self.handling.idempotency_key
