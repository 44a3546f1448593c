"""One event chosen by a model, in a handler of any agent that is no planner."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from soorma_ai.agents.contexts.platform import PlatformContext
from soorma_ai.agents.planner_options import room_of
from soorma_ai.errors import ConfigError
from soorma_ai.features.retrieval.choice import check_of_choice, judge_choice
from soorma_ai.features.retrieval.choose import ChoiceSettings, choose, offer_for_choice
from soorma_ai.kernel.domain.decisions import EventDecision, Room
from soorma_ai.kernel.domain.events import EventTopic, topic_of
from soorma_ai.kernel.domain.values import json_object
from soorma_ai.kernel.ports import ModelSettings, Reasoner
from soorma_ai.kernel.runtime.handling.check_ahead import check_ahead

MAX_LLM_CALLS = 20


class EventSelector:
    """Lets a model choose one event of a topic, of those that live agents of this tenant take, and fill in its data.

    `model` is a litellm model string; a `reasoner` replaces it. `instructions` come before all else that the model is
    told. Its answers are journalled and judged as decisions of planners are, at most two are asked for again, and
    handling again uses what was answered. In a delivery of a plan its tree pays, by the plan's limits; else all
    attempts at this delivery together may make `max_llm_calls` calls. How much of the offer is shown is said by
    `offer_tokens`, `offer_schemas` and `pinned_events`, as with planners.
    """

    def __init__(
        self,
        context: PlatformContext,
        topic: EventTopic | str = EventTopic.ACTION_REQUESTS,
        *,
        instructions: str = "",
        reasoner: Reasoner | None = None,
        model: str | None = None,
        api_base: str | None = None,
        api_key: str | None = None,
        max_llm_calls: int = MAX_LLM_CALLS,
        offer_tokens: int = Room().tokens,
        offer_schemas: int = Room().schemas,
        pinned_events: Iterable[str] = (),
    ) -> None:
        who = f"the selector of {context.agent_id}"
        if max_llm_calls < 1:
            raise ConfigError(f"{who}: max_llm_calls={max_llm_calls} must be 1 at least")
        if reasoner is None:
            if not model:
                raise ConfigError(f"{who} cannot think: give model='provider/model', or a reasoner=")
            reasoner = context.handling.services.make_reasoner(ModelSettings(model, api_base, api_key))
        self._context = context
        self._reasoner = reasoner
        room = room_of(who, offer_tokens, offer_schemas, pinned_events)
        self._settings = ChoiceSettings(topic_of(topic), instructions, room, max_llm_calls)

    async def select_event(self, state: Mapping[str, Any]) -> EventDecision:
        """Return the event that serves best in this state, which is all that the model is told beside what there is.
        Nothing is published yet. Of several that a handler asks for at once, one is chosen after the other.

        Raises NotFound where no live agent offers any event of the topic, or none of them serves; DecisionError when
        the model does not get it right in three tries, LimitExceeded, ModelRefused, ContentFiltered; ConfigError for a
        model that cannot be called.
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
        """Publish the event as `context.bus.publish` does, and return its id: a person who must approve it is asked.

        It is checked once more against what live agents take now. Raises NotFound and DecisionError as `select_event`.
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
