"""Base class of all planners: a goal begins a plan, and the ends of its waits continue it."""

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, ClassVar, Never

from msgspec.structs import replace
from typing_extensions import Unpack

from soorma_ai.agents.agent import Agent, AgentOptions, H, definitions_of
from soorma_ai.agents.annotations import Handler
from soorma_ai.agents.arguments import options_of
from soorma_ai.agents.contexts.plan import GoalContext, PlanContext, TransitionContext, must_be_in_hand
from soorma_ai.agents.contexts.platform import PlatformContext
from soorma_ai.agents.handler_options import (
    MISSING,
    HandlerOptions,
    RegisteredHandler,
    handler_of,
    most_attempts,
    must_be_name,
    must_take,
)
from soorma_ai.agents.planner_options import (
    PlannerOptions,
    chosen_agents,
    data_of,
    model_settings_of,
    settings_of,
    zone_of,
)
from soorma_ai.agents.schedules import Recurrence, Schedules
from soorma_ai.agents.shadows import must_be_shadow, ready_shadow
from soorma_ai.errors import ConfigError, LocalProtocolError, RemoteProtocolError
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic, Lineage
from soorma_ai.kernel.domain.limits import UNPRICED_CURES
from soorma_ai.kernel.domain.registry import AgentKind, DiscoveredAgent, EventDefinition, EventRole, Registration
from soorma_ai.kernel.domain.replies import Failure
from soorma_ai.kernel.domain.schemas import ANY_OBJECT, SchemaSource, describe, schema_of
from soorma_ai.kernel.domain.states import StateMachine, States, initial_of, states_of
from soorma_ai.kernel.domain.values import JsonObject, json_object
from soorma_ai.kernel.ports.shadows import Change, Shadow
from soorma_ai.kernel.rules.plans.triggers import Trigger
from soorma_ai.kernel.rules.state_machine.machine import check as check_machine
from soorma_ai.kernel.rules.state_machine.step import MachineView
from soorma_ai.kernel.runtime import planning
from soorma_ai.kernel.runtime.flow import Route
from soorma_ai.kernel.runtime.handling.check_ahead import check
from soorma_ai.kernel.runtime.handling.handling import Handling, Services
from soorma_ai.kernel.runtime.handling.process.models import Models
from soorma_ai.kernel.runtime.planning.settings import PlannerSettings


class BasePlanner(Agent):
    """Base class of `Planner` and `ChoreographyPlanner`: it takes goals and keeps one plan for each.

    For the options see `PlannerOptions`: above all `goals`, `limits` and the model. All other keywords, `llm_kwargs`,
    go to the model's provider.
    """

    kind = AgentKind.PLANNER
    needs_model: ClassVar[bool] = False
    prompt_id: ClassVar[str | None] = None

    def __init__(self, name: str, description: str = "", **options: Unpack[PlannerOptions]) -> None:
        self.model_settings = model_settings_of(type(self).__name__, name, options, is_needed=self.needs_model)
        super().__init__(name, description, **options_of(AgentOptions, options))
        self._settings = settings_of(name, self.version, self.prompt_id, options)
        self._settings_of: tuple[tuple[object, ...], PlannerSettings] | None = None
        self.reasoner = self._settings.reasoner
        self.limits = self._settings.limits
        self.reply_timeout = self._settings.terms.reply_timeout
        self.goals: dict[str, EventDefinition] = {}
        self.machines: dict[str, tuple[States, str]] = {}
        self.goal_handlers: dict[str, RegisteredHandler] = {}
        self._schedules = Schedules(self.agent_id)
        self._transition_handler: RegisteredHandler | None = None
        self._context_handler: Handler | None = None
        self._shadow: Shadow | None = None
        self._models: Models | None = None
        self._engine = engine = planning.planner.PlanningEngine(self)
        for goal in definitions_of("goals", options.get("goals", ()), EventTopic.ACTION_REQUESTS):
            self._pursue(goal)
        self._routes.append(Route(None, "", engine.go_on, engine.fail, continues=True, rests=engine.rest))

    def on_goal(
        self,
        event_type: str,
        *,
        payload_schema: SchemaSource | None = None,
        state_machine: StateMachine | None = None,
        **options: Unpack[HandlerOptions],
    ) -> Callable[[H], H]:
        """Register a handler, called with `(goal, context)`, for the plan's first step. The next steps are those of
        `on_transition`, else of the planner itself. Raises ConfigError with every fault of the state machine.

        Args:
            event_type: the name of the goal.
            payload_schema: the schema of the goal's data: JSON Schema, or a pydantic model. Other data begin no plan.
            state_machine: the state machine of every plan of this goal.
            options: see `HandlerOptions`.
        """
        must_be_name("on_goal", event_type)
        declared = (states_of(state_machine), initial_of(state_machine)) if state_machine else None
        if declared:
            check_machine(*declared)

        def register(handler: H) -> H:
            self.machines.pop(event_type, None)
            if declared:
                self.machines[event_type] = declared
            if event_type not in self.goals:
                schema = ANY_OBJECT if payload_schema is None else schema_of(payload_schema)
                self._pursue(EventDefinition(event_name=event_type, payload_schema=schema))
            elif payload_schema is not None:
                raise ConfigError(f"on_goal({event_type!r}): goals= defines it; give its payload_schema there")
            self.goal_handlers[event_type] = handler_of(f"on_goal({event_type!r})", handler, options)
            return handler

        return register

    def every(
        self,
        when: str | timedelta,
        goal: str = "",
        data: Mapping[str, Any] | None = None,
        *,
        zone: str = "UTC",
        **options: Unpack[HandlerOptions],
    ) -> Callable[[H], H]:
        """Begin this goal repeatedly. The decorated handler is registered as by `on_goal`; without a need for one,
        decorate nothing.

        The next moment is stored together with the plan of the one before it. After downtime, all missed moments are
        one goal, as soon as the planner starts. The plans have no user, and the tenant of the agent.

        Args:
            when: a cron expression ("0 9 * * mon-fri"), or a span; the first moment is one span after the first start.
            goal: the name of the goal.
            data: its payload.
            zone: the time zone of the cron expression.
            options: see `HandlerOptions`.
        """
        must_be_name("every", when if callable(when) else goal, "'0 9 * * *', 'report.wanted'")
        given = data_of(f"planner {self.name}: every(..., {goal!r}), data", data)
        tenant_id = self.tenant_id or Lineage().tenant_id
        self._schedules.add(Recurrence(self.agent_id, tenant_id, goal, given, when, zone_of("zone", self.name, zone)))
        return self.on_goal(goal, **options)

    def on_transition(self, *given: Never, **options: Unpack[HandlerOptions]) -> Callable[[H], H]:
        """Register a handler, called with `(transition, context)` at the end of every wait of this planner's plans. It
        owns every step from then on: a running plan without anything to wait for fails. For the options see
        `HandlerOptions`."""
        if given:
            raise ConfigError("on_transition got something; write it with parentheses: @on_transition()")

        def register(handler: H) -> H:
            self._transition_handler = handler_of("on_transition()", handler, options)
            return handler

        return register

    def custom_context(self, handler: H = MISSING) -> H:
        """Register a `handler(plan, context)`, called before each question to the model. Its result is shown to the
        model beside the plan."""
        must_take(2, "custom_context", handler)
        self._context_handler = handler
        return handler

    def shadow(self, change: Change, *, max_usd_a_day: float, share: float = 0.1) -> None:
        """Ask the questions of committed decisions again with a change, beside the plans: it neither delays nor fails
        one. `soorma trial --shadow` shows the outcomes. Raise ConfigError.

        Args:
            change: the other model, or other prompts.
            max_usd_a_day: budget of each tenant in US dollars, by days of UTC.
            share: share of the decisions, chosen by their ids.
        """
        must_be_shadow(self.name, change, max_usd_a_day, share)
        self._shadow = Shadow(change, share, max_usd_a_day)

    async def create_plan(
        self, goal: GoalContext, agents: DiscoveredAgent | Iterable[DiscoveredAgent] | None, context: PlatformContext
    ) -> PlanContext:
        """Let the model draw a state machine for this goal, check it, and give it to the plan.

        Without a taker of these events and without anything to wait for, the plan sleeps, and the handler's effects are
        dropped: it is called again after a change of agents.

        Raises NotFound for an empty list of agents; InvalidPlan or another DecisionError after three invalid answers of
        the model; LimitExceeded, ModelRefused, ContentFiltered; ConfigError for a planner without a model.

        Args:
            goal: the goal of this delivery.
            agents: the agents to use, as far as they take their events now; None for all live agents.
            context: the context of this delivery.
        """
        handling, settings = context.handling, self.settings
        settings.must_have_model()
        must_be_in_hand(goal, handling)
        if handling.plan.status.is_final:
            raise LocalProtocolError(f"plan {handling.plan.plan_id} is {handling.plan.status}; nothing is drawn for it")
        material = await planning.decide.material_now(handling, settings, chosen_agents(agents, goal))
        if material.offer.is_empty:
            raise planning.planner.HandlerPostponed(material.wanted)
        drawn = await planning.decide.draft(handling, settings, material, await self.ask_custom_context(handling))
        return await PlanContext.create_from_goal(goal, context, state_machine=drawn)

    def take_reasoner(self, models: Models) -> None:
        if self.reasoner is not None:
            models.keep(self.reasoner)
        elif self.model_settings is not None:
            self.reasoner = models.make(self.model_settings)
        self._models = models

    def check(self) -> None:
        self._schedules.check(self.goals)
        if not self.goals:
            raise ConfigError(f"planner {self.name} has no goal: give goals=[...] or register an on_goal handler")
        super().check()
        if self._shadow is not None and self._models is not None:
            self._shadow = ready_shadow(self.name, self._shadow, self.reasoner, self._models)
        if self.reasoner is None:
            return
        self.reasoner.check()
        if self.limits.max_cost_usd is not None and self.reasoner.cost_of(1, 1) is None:
            raise ConfigError(
                f"planner {self.name} has max_cost_usd={self.limits.max_cost_usd}, but the price of "
                f"{self.reasoner.model} is not known: {UNPRICED_CURES}"
            )

    def routes(self) -> Sequence[Route]:
        """Return its handlers. A plan with a postponed first step makes this step when it continues."""
        stepping = [*self.goal_handlers.values(), *([self._transition_handler] if self._transition_handler else [])]
        most = most_attempts(stepping)
        own = (self._begin, self._engine.go_on)
        return [replace(route, attempts=most) if route.decide in own else route for route in super().routes()]

    def registration(self) -> Registration:
        plain = super().registration()
        awaits = [(EventRole.AWAITS, definition) for definition in self._settings.awaits]
        settings, reasoner = self.model_settings, self.reasoner
        model = reasoner.model if reasoner else settings.model if settings else ""
        return replace(plain, events=(*plain.events, *awaits), model=model)

    @property
    def settings(self) -> PlannerSettings:
        """Return the settings of its plans, made again after a change of an attribute."""
        given = (self.limits, self.reply_timeout, self.model_settings, self.reasoner, *self.goals.values())
        if self._settings_of is None or self._settings_of[0] != given:
            self._settings_of = given, self._make_settings()
        return self._settings_of[1]

    def _make_settings(self) -> PlannerSettings:
        return replace(
            self._settings,
            limits=self.limits,
            terms=replace(self._settings.terms, reply_timeout=self.reply_timeout),
            has_model=self.model_settings is not None,
            reasoner=self.reasoner,
            result_schemas={name: goal.response_schema for name, goal in self.goals.items()},
        )

    async def ask_custom_context(self, handling: Handling) -> JsonObject:
        """Return the result of the `custom_context` handler for the present plan, merged with the context of its
        decisions. The latter wins for keys of both."""
        kept = handling.values.context
        if self._context_handler is None:
            return dict(kept)
        given = await self._threads.call(self._context_handler, PlanContext(handling), PlatformContext(handling))
        return {**json_object("the custom context", given), **kept}

    def first_step(self, handling: Handling, goal: EventEnvelope) -> Coroutine[Any, Any, None] | None:
        """Return the call of the handler for the first step of this `goal`'s plans; None for a goal without a
        handler."""
        handler = self.goal_handlers.get(goal.type)
        if handler is None:
            return None
        return self._run(handling, handler, GoalContext.of(handling, goal), PlatformContext(handling))

    @property
    def transition(self) -> "planning.planner.Transition | None":
        """Return the handler of `on_transition`, as a function for the planning."""
        handler = self._transition_handler
        if handler is None:
            return None

        async def transition(handling: Handling, trigger: Trigger, view: MachineView) -> None:
            seen = view.seen if view.states else None
            plan = PlanContext(handling)
            what = TransitionContext(seen or handling.event, plan, trigger.text, trigger.data)
            await self._run(handling, handler, what, PlatformContext(handling))

        return transition

    async def started(self, services: Services) -> None:
        await super().started(services)
        if self._shadow is not None:
            services.shadows[self.agent_id] = self._shadow
        await self._schedules.keep(services)
        await planning.turn.resume_at_start(services, self.name)

    def _schedule_next(self, handling: Handling) -> None:
        """Schedule the goal after the present one, in the transaction of the present one."""
        handling.record(*self._schedules.next_of(handling.event, handling.services.clock.now()))

    async def _goal_failed(self, handling: Handling, failure: Failure) -> None:
        self._schedule_next(handling)
        await self._engine.fail(handling, failure)

    async def _begin(self, handling: Handling) -> None:
        self._schedule_next(handling)
        goal = handling.event
        if faults := await check(goal.tenant_id, self.goals[goal.type].payload_schema, goal.data):
            raise RemoteProtocolError(f"goal {goal.type!r} is off its schema: {describe(faults)}")
        await self._engine.begin(handling)

    async def _hear(self, handling: Handling, handler: RegisteredHandler) -> None:
        with suppress(planning.planner.PlanParked):
            await super()._hear(handling, handler)

    async def _event_failed(self, handling: Handling, failure: Failure) -> None:
        if failure.ends_plan:
            await planning.turn.fail_taken_up(handling, failure)
        await super()._event_failed(handling, failure)

    def _pursue(self, goal: EventDefinition) -> None:
        goal = self._describe(goal)
        self.goals[goal.event_name] = goal
        route = Route(goal.topic, goal.event_name, self._begin, self._goal_failed, rests=self._engine.rest)
        self._take(route, goal, EventRole.TAKES_AS_GOAL)
