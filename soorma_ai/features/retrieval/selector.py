"""Choice of one event by a model, for handlers of every agent but planners."""

import asyncio
from collections.abc import Mapping
from typing import Any

from typing_extensions import Unpack

from soorma_ai.agents.contexts.platform import PlatformContext
from soorma_ai.agents.planner_options import RoomOptions, room_of
from soorma_ai.errors import ConfigError
from soorma_ai.features.retrieval.choice import check_of_choice, judge_choice
from soorma_ai.features.retrieval.choose import ChoiceSettings, choose, offer_for_choice
from soorma_ai.kernel.domain.call_options import must_know
from soorma_ai.kernel.domain.decisions import EventDecision
from soorma_ai.kernel.domain.events import EventTopic, topic_of
from soorma_ai.kernel.domain.values import json_object
from soorma_ai.kernel.ports import ModelSettings, Reasoner
from soorma_ai.kernel.runtime.handling.check_ahead import check_ahead

MAX_LLM_CALLS = 20


class SelectorOptions(RoomOptions, total=False):
    """Options of an `EventSelector`."""

    instructions: str
    """Instructions before all else that the model is told."""
    model: str | None
    """Model in litellm's words."""
    api_base: str | None
    """Address of its provider."""
    api_key: str | None
    """Key of its provider."""
    reasoner: Reasoner | None
    """Reasoner in the place of `model`."""
    max_llm_calls: int
    """Most calls for one delivery outside of plans, by all its attempts together; 20 by default."""


class EventSelector:
    """Choice of one event by a model, with its data filled in: among a topic's events with a live taker in this tenant.

    Its answers are journalled and judged as decisions of planners are; at most two are asked for again, and a second
    handling uses the recorded answer. In a delivery of a plan its tree pays, within the plan's limits. `context` is
    that of the handler. For the options see `SelectorOptions`.
    """

    def __init__(
        self,
        context: PlatformContext,
        topic: EventTopic | str = EventTopic.ACTION_REQUESTS,
        **options: Unpack[SelectorOptions],
    ) -> None:
        who = f"the selector of {context.agent_id}"
        must_know(who, options, SelectorOptions)
        reasoner, model = options.get("reasoner"), options.get("model")
        max_llm_calls = options.get("max_llm_calls", MAX_LLM_CALLS)
        if max_llm_calls < 1:
            raise ConfigError(f"{who}: max_llm_calls={max_llm_calls} must be 1 at least")
        if reasoner is None:
            if not model:
                raise ConfigError(f"{who} cannot think: give model='provider/model', or a reasoner=")
            settings = ModelSettings(model, options.get("api_base"), options.get("api_key"))
            reasoner = context.handling.services.models.make(settings)
        self._context = context
        self._reasoner = reasoner
        instructions, room = options.get("instructions", ""), room_of(who, options)
        self._settings = ChoiceSettings(topic_of(topic), instructions, room, max_llm_calls)

    async def select_event(self, state: Mapping[str, Any]) -> EventDecision:
        """Return the best event for this `state`. The model sees the state and the offered events, and nothing else.
        Nothing is published yet. Concurrent calls of one handler choose one after the other.

        Raises NotFound without any live event of the topic, and without a useful one; DecisionError after three invalid
        answers of the model; LimitExceeded, ModelRefused, ContentFiltered; ConfigError for a model without a working
        set-up.
        """
        told = json_object("the state", state)
        async with self._context.handling.asking:
            # It loads the model's library, which takes long the first time.
            await asyncio.to_thread(self._reasoner.check)
            return await choose(self._context.handling, self._settings, self._reasoner, told)

    async def publish_decision(
        self,
        decision: EventDecision,
        correlation_id: str | None = None,
        response_event: str | None = None,
        response_topic: EventTopic | str = EventTopic.ACTION_RESULTS,
    ) -> str:
        """Publish the event as `context.bus.publish` does, and return its id. An approval is asked for where it is
        needed.

        It is checked again, against the events taken by live agents now. Raises NotFound and DecisionError as
        `select_event`.

        Args:
            decision: the decision of `select_event`.
            correlation_id: the reply key.
            response_event: the name of the wanted answer.
            response_topic: the topic of the wanted answer.
        """
        topic = self._settings.topic
        handling = self._context.handling
        offer = await offer_for_choice(handling, topic)
        await check_ahead(handling.working_lineage.tenant_id, *check_of_choice(decision, offer))
        judge_choice(decision, offer)
        return await self._context.bus.publish(
            topic,
            decision.event_type,
            decision.data,
            correlation_id=correlation_id,
            response_event=response_event,
            response_topic=response_topic,
        )
