"""The planner whose next step an LLM decides, and code checks."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from difflib import get_close_matches
from inspect import signature
from typing import Any, Literal

from soorma_ai.agents.agent import EventLike
from soorma_ai.agents.contexts.plan import GoalContext, PlanContext
from soorma_ai.agents.contexts.platform import PlatformContext
from soorma_ai.agents.planner_base import BasePlanner, cannot_think
from soorma_ai.core.deciding.judge import judge, prepare_decision
from soorma_ai.core.plan.triggers import Trigger
from soorma_ai.domain.decisions import PlannerDecision, fingerprint
from soorma_ai.domain.history import DECIDE
from soorma_ai.domain.limits import Limits
from soorma_ai.domain.registry import AgentCapability
from soorma_ai.domain.values import json_object
from soorma_ai.errors import ConfigError, LocalProtocolError
from soorma_ai.ports import Reasoner
from soorma_ai.runtime.planning.decide import offer_now, situation_now, state_of
from soorma_ai.runtime.planning.turn import Beginner

Strategy = Literal["balanced", "conservative", "aggressive"]


class ChoreographyPlanner(BasePlanner):
    """Pursues its goals by itself: goal, decide, act, result, decide, and so on, within its limits.

    `goals` and `external_events` are event names or `EventDefinition`s; external events are those a plan may wait
    for although no live agent makes them (a person's reply, a callback). `reasoning_model` is a litellm model
    string and `llm_kwargs` go to litellm; a `reasoner` replaces both. `max_actions` is `limits.max_actions`.
    When nobody has answered a request within `reply_timeout`, the model decides what to do about it; without one, the
    plan waits as long as it may live.
    """

    def __init__(
        self,
        name: str,
        description: str = "",
        *,
        goals: Iterable[EventLike] = (),
        reasoning_model: str | None = None,
        api_base: str | None = None,
        api_key: str | None = None,
        temperature: float | None = None,
        system_instructions: str = "",
        planning_strategy: Strategy = "balanced",
        limits: Limits | None = None,
        max_actions: int | None = None,
        reply_timeout: timedelta | None = None,
        external_events: Iterable[EventLike] = (),
        reasoner: Reasoner | None = None,
        version: str = "0.1.0",
        capabilities: Iterable[AgentCapability | str] = (),
        tenant_id: str | None = None,
        max_in_flight: int = 64,
        **llm_kwargs: Any,
    ) -> None:
        _check_names(llm_kwargs)
        super().__init__(
            name,
            description,
            goals=goals,
            reasoning_model=reasoning_model,
            api_base=api_base,
            api_key=api_key,
            temperature=temperature,
            system_instructions=system_instructions,
            limits=limits,
            max_actions=max_actions,
            reply_timeout=reply_timeout,
            external_events=external_events,
            reasoner=reasoner,
            version=version,
            capabilities=capabilities,
            tenant_id=tenant_id,
            max_in_flight=max_in_flight,
        )
        if planning_strategy not in ("balanced", "conservative", "aggressive"):
            raise ConfigError(f"planning_strategy={planning_strategy!r}: give balanced, conservative or aggressive")
        if reasoner is None and not reasoning_model:
            raise ConfigError(cannot_think(name))
        if self.model_settings is not None:
            self.model_settings = replace(self.model_settings, extra=llm_kwargs)
        self._strategy = planning_strategy

    async def reason_next_action(
        self, trigger: str, context: PlatformContext, custom_context: Mapping[str, Any] | None = None
    ) -> PlannerDecision:
        """Ask the model what to do next in the plan of this delivery. Nothing is done yet."""
        handling = context.handling
        happened = Trigger(trigger)
        known = json_object("the custom context", custom_context or {})
        judged = await self._decide(handling, happened, known)
        handling.trigger = happened
        return judged.decision

    async def execute_decision(
        self,
        decision: PlannerDecision,
        context: PlatformContext,
        *,
        goal_event: GoalContext | None = None,
        plan: PlanContext | None = None,
    ) -> None:
        """Check the decision once more, as things are now, and record what carries it out.

        `goal_event` and `plan` are those of this delivery; others are a LocalProtocolError.
        """
        handling = context.handling
        if plan is not None and plan.plan_id != handling.plan.plan_id:
            raise LocalProtocolError("execute_decision carries out decisions of the plan in hand, and this is another")
        if goal_event is not None and goal_event.goal_id != handling.plan.goal_id:
            raise LocalProtocolError("execute_decision got the goal of another plan")
        offer = await offer_now(handling, self._mind)
        trigger = handling.trigger or Trigger("")
        decision = prepare_decision(decision, offer)
        situation = await situation_now(handling, offer, fingerprint(decision, state_of(trigger)))
        await self._act(handling, judge(decision, situation), trigger)

    @property
    def _beginner(self) -> Beginner:
        return replace(super()._beginner, prompt_id=DECIDE)


def _check_names(llm_kwargs: Mapping[str, Any]) -> None:
    """A misspelt parameter of ours would be sent to the provider; name it instead."""
    known = [name for name in signature(ChoreographyPlanner.__init__).parameters if name != "llm_kwargs"]
    for name in llm_kwargs:
        close = get_close_matches(name, known, n=1, cutoff=0.8)
        if close:
            raise ConfigError(f"ChoreographyPlanner has no parameter {name!r}; did you mean {close[0]!r}?")
