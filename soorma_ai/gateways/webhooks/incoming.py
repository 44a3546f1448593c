"""Incoming webhooks: posts of another system, as events."""

from collections.abc import Callable
from datetime import datetime
from typing import cast
from urllib.parse import parse_qsl

from msgspec import Struct
from pydantic_core import from_json
from typing_extensions import Unpack

from soorma_ai.agents.agent import Agent, AgentOptions
from soorma_ai.agents.mounts import Post
from soorma_ai.errors import ConfigError, LocalProtocolError, RemoteProtocolError
from soorma_ai.gateways.webhooks.signatures import Verifier
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic, Lineage, new_event, topic_of
from soorma_ai.kernel.domain.names import agent_key, agent_meant
from soorma_ai.kernel.domain.people import NO_USER
from soorma_ai.kernel.domain.values import Json, JsonObject, derived_id, json_object
from soorma_ai.kernel.runtime.client.intake import take_in
from soorma_ai.kernel.runtime.handling.handling import Services

_FORM = "application/x-www-form-urlencoded"


class Came(Struct, frozen=True):
    """Event of a post. `correlation_id` or `plan_id` name the waiting plan, and `topic` is given for a reply."""

    event_type: str
    data: JsonObject
    correlation_id: str | None = None
    plan_id: str | None = None
    topic: EventTopic | str = EventTopic.BUSINESS_FACTS


class Hook(Agent):
    """Receives webhooks: verifies the signature with `verifier`, maps the body with `to_event`, publishes the event.
    `to_event` returns a `Came`, or None for nothing.

    It is a producer, by its name, of the facts in `events_produced`. With `for_agent` its events count as those of that
    agent, and may answer the agent's requests. A repeated post, by its sender's id, is the same event. Its plans belong
    to its tenant, and to no user.
    """

    def __init__(
        self,
        name: str,
        verifier: Verifier,
        to_event: Callable[[JsonObject], Came | None],
        *,
        for_agent: str | None = None,
        **options: Unpack[AgentOptions],
    ) -> None:
        super().__init__(name, "Receives the posts of another system.", **options)
        if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii():
            raise ConfigError(f"a hook is called by its name in a URL: give letters, digits, - and _, not {name!r}")
        self._verifier = verifier
        self._to_event = to_event
        self._for_agent = for_agent

    @property
    def path(self) -> str:
        return f"/v1/hooks/{self.name}"

    async def take(self, post: Post) -> JsonObject:
        """Return {event_id}, nothing for a post without an event, or the answer to a probe of the endpoint. Raise
        Unauthenticated for an invalid signature, RemoteProtocolError for an unreadable body, LocalProtocolError for an
        event outside of this hook's, or the same id with other content."""
        services = self._services
        if services is None:
            raise LocalProtocolError(f"hook {self.name!r} is not started; start it beside the other agents")
        now = services.clock.now()
        sender_id = self._verifier.verify(post, now)
        told = read(post)
        if told.get("type") == "url_verification" and isinstance(told.get("challenge"), str):
            return {"challenge": told["challenge"]}
        came = self._to_event(told)
        if came is None:
            return {}
        event = self._event(came, sender_id, now, await self._find_source(services, now))
        await take_in(services, event)
        return {"event_id": event.id}

    async def _find_source(self, services: Services, now: datetime) -> str:
        """Return the key of the event's agent."""
        named = self._for_agent
        if named is None:
            return self.agent_id
        keys = named, agent_key(self.tenant_id or Lineage().tenant_id, named)
        known = [key for key in keys if await services.store.registry.agent(key, now) is not None]
        return agent_meant(named, self.agent_id, known) or named

    def _event(self, came: Came, sender_id: str, now: datetime, source: str) -> EventEnvelope:
        topic = topic_of(came.topic)
        is_reply = topic is EventTopic.ACTION_RESULTS and self._for_agent not in (None, self.name)
        is_fact = (topic, came.event_type) in [(one.topic, one.event_name) for one in self._made]
        if not (is_reply or is_fact):
            raise LocalProtocolError(
                f"hook {self.name!r} does not make {came.event_type!r} on {topic}: name it in events_produced, or bind "
                "the hook by for_agent= to the agent of its replies"
            )
        tenant = self.tenant_id or Lineage().tenant_id
        return new_event(
            Lineage(tenant_id=tenant, user_id=NO_USER, plan_id=came.plan_id),
            event_id=derived_id("hook", tenant, self.name, sender_id),
            source=source,
            topic=topic,
            type=came.event_type,
            data=json_object(f"the data of {came.event_type!r}", came.data),
            time=now,
            correlation_id=came.correlation_id,
        )


def read(post: Post) -> JsonObject:
    """Return the posted body, JSON or a form. Raise RemoteProtocolError."""
    if post.headers.get("content-type", "").partition(";")[0].strip().lower() == _FORM:
        try:
            pairs = parse_qsl(post.body.decode(), keep_blank_values=True, strict_parsing=True, max_num_fields=1_000)
        except ValueError as error:
            raise RemoteProtocolError(f"the body is not a form: {error}") from error
        form: dict[str, Json] = dict(pairs)
        return form
    try:
        told: object = from_json(post.body)
    except ValueError as error:
        raise RemoteProtocolError(f"the body is not JSON: {error}") from error
    if not isinstance(told, dict):
        raise RemoteProtocolError(f"the body is {type(told).__name__}; an object was expected")
    return json_object("the body", cast("dict[str, object]", told))
