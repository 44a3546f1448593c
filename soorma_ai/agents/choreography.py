"""The planner whose next step an LLM decides, and code checks."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from inspect import signature
from typing import Any, Literal

from soorma_ai.agents.agent import EventLike, H
from soorma_ai.agents.context import PlatformContext
from soorma_ai.agents.planner import GoalContext, PlanContext, Planner
from soorma_ai.agents.typed import Handler, call
from soorma_ai.core.asking import park
from soorma_ai.core.prompt import DECIDE
from soorma_ai.core.receive import Trigger
from soorma_ai.core.reduce import reduce
from soorma_ai.core.validate import Judged, fingerprint, judge, prepared
from soorma_ai.domain.decisions import PlannerDecision
from soorma_ai.domain.limits import Limits
from soorma_ai.domain.registry import AgentCapability
from soorma_ai.domain.values import JsonObject
from soorma_ai.errors import ConfigError, LocalProtocolError
from soorma_ai.ports import Reasoner
from soorma_ai.runtime.context import Handling
from soorma_ai.runtime.decide import Mind, decide, offer_now, situation_now, state_of
from soorma_ai.runtime.turn import Beginner

Strategy = Literal["balanced", "conservative", "aggressive"]


@dataclass(frozen=True)
class ModelSettings:
    """Which model, and how it is called; the composition root makes a reasoner of it."""

    model: str
    api_base: str | None = None
    api_key: str | None = field(default=None, repr=False)
    temperature: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


class _Parked(Exception):
    """Nobody can be asked; the plan sleeps, and the rest of the handler is not run."""


class ChoreographyPlanner(Planner):
    """Pursues its goals by itself: goal, decide, act, result, decide, and so on, within its limits.

    `goals` and `external_events` are event names or `EventDefinition`s; external events are those a plan may wait
    for although no live agent makes them (a person's reply, a callback). `reasoning_model` is a litellm model
    string and `llm_kwargs` go to litellm; a `reasoner` replaces both. `max_actions` is `limits.max_actions`.
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
            limits=limits,
            max_actions=max_actions,
            external_events=external_events,
            version=version,
            capabilities=capabilities,
            tenant_id=tenant_id,
            max_in_flight=max_in_flight,
        )
        if planning_strategy not in ("balanced", "conservative", "aggressive"):
            raise ConfigError(f"planning_strategy={planning_strategy!r}: give balanced, conservative or aggressive")
        if reasoner is None and not reasoning_model:
            raise ConfigError(f"planner {name} cannot think: give reasoning_model='provider/model', or a reasoner=")
        self.model_settings = (
            ModelSettings(reasoning_model, api_base, api_key, temperature, llm_kwargs) if reasoning_model else None
        )
        self.reasoner = reasoner
        self._instructions = system_instructions
        self._strategy = planning_strategy
        self._custom_context: Handler | None = None

    def custom_context(self, handler: H) -> H:
        """`handler(plan, context)` returns what the model is told beside the plan, before each decision."""
        self._custom_context = handler
        return handler

    async def reason_next_action(
        self, trigger: str, context: PlatformContext, custom_context: Mapping[str, Any] | None = None
    ) -> PlannerDecision:
        """Ask the model what to do next in the plan of this delivery. Nothing is done yet."""
        handling = context.handling
        happened = Trigger(trigger)
        judged = await self._decide(handling, happened, dict(custom_context or {}))
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
        decision = prepared(decision, offer)
        situation = await situation_now(handling, offer, fingerprint(decision, state_of(trigger)))
        await self._act(handling, judge(decision, situation), trigger)

    def check(self) -> None:
        if not self.goals:
            raise ConfigError(f"planner {self.name} has no goal: give goals=[...] or register an on_goal handler")
        self._mind.reasoner.check()
        if self.limits.max_cost_usd is not None and self._mind.reasoner.cost_of(1, 1) is None:
            raise ConfigError(
                f"planner {self.name} has max_cost_usd={self.limits.max_cost_usd}, but the price of "
                f"{self._mind.reasoner.model} is not known; use a priced model, or limit max_tokens"
            )

    @property
    def _mind(self) -> Mind:
        if self.reasoner is None:
            raise LocalProtocolError(f"planner {self.name} has not been started")
        return Mind(
            reasoner=self.reasoner,
            instructions=self._instructions,
            strategy=self._strategy,
            awaits=self._awaits,
            result_schemas={name: goal.response_schema for name, goal in self.goals.items()},
        )

    @property
    def _beginner(self) -> Beginner:
        return replace(super()._beginner, prompt_id=DECIDE)

    async def _hand_over(self, handling: Handling, handler: Handler, what: object) -> None:
        try:
            await super()._hand_over(handling, handler, what)
        except _Parked:
            return

    async def _go_on(self, handling: Handling, trigger: Trigger) -> None:
        await handling.read_values()
        if handling.values.machine:
            await super()._go_on(handling, trigger)
            return
        custom: Mapping[str, Any] = {}
        if self._custom_context is not None:
            custom = await call(self._custom_context, await PlanContext.of(handling), PlatformContext(handling))
        try:
            judged = await self._decide(handling, trigger, dict(custom))
        except _Parked:
            return
        await self._act(handling, judged, trigger)

    async def _decide(self, handling: Handling, trigger: Trigger, custom: JsonObject) -> Judged:
        offer = await offer_now(handling, self._mind)
        if offer.is_empty:
            handling.apply(park(handling.plan, handling.moment()))
            raise _Parked
        return await decide(handling, self._mind, offer, trigger, custom)

    async def _act(self, handling: Handling, judged: Judged, trigger: Trigger) -> None:
        open_now = await handling.open_now()
        moment = handling.moment()
        handling.apply(reduce(handling.plan, judged, state=state_of(trigger), open_now=open_now, moment=moment))


def _check_names(llm_kwargs: Mapping[str, Any]) -> None:
    """A misspelt parameter of ours would be sent to the provider; name it instead."""
    known = [name for name in signature(ChoreographyPlanner.__init__).parameters if name != "llm_kwargs"]
    for name in llm_kwargs:
        close = get_close_matches(name, known, n=1, cutoff=0.8)
        if close:
            raise ConfigError(f"ChoreographyPlanner has no parameter {name!r}; did you mean {close[0]!r}?")
