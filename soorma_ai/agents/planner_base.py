"""What all planners have in common: a goal begins a plan, and what the plan waited for carries it on."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, cast

from typing_extensions import Unpack

from soorma_ai.agents.agent import Agent, AgentOptions, EventLike, H, definition_of, several
from soorma_ai.agents.contexts.plan import GoalContext, PlanContext, TransitionContext, must_be_in_hand
from soorma_ai.agents.contexts.platform import PlatformContext
from soorma_ai.agents.typed import Handler, call
from soorma_ai.core.machine.machine import check as check_machine
from soorma_ai.core.plan.carry_out import reduce
from soorma_ai.core.plan.outcome import Outcome
from soorma_ai.core.plan.requests import park
from soorma_ai.core.plan.status import moved
from soorma_ai.core.plan.triggers import Trigger
from soorma_ai.domain.decisions import Judged
from soorma_ai.domain.events import EventEnvelope, EventTopic
from soorma_ai.domain.limits import Limits
from soorma_ai.domain.plans import PlanStatus
from soorma_ai.domain.registry import AgentKind, DiscoveredAgent, EventDefinition, EventRole, Registration
from soorma_ai.domain.replies import Failure
from soorma_ai.domain.schemas import describe, violations
from soorma_ai.domain.spans import span_of
from soorma_ai.domain.states import StateConfig, StateMachine, initial_of, states_of
from soorma_ai.domain.values import JsonObject, clip, json_object
from soorma_ai.errors import ConfigError, LocalProtocolError, RemoteProtocolError
from soorma_ai.ports import Reasoner
from soorma_ai.runtime.flow import Route
from soorma_ai.runtime.handling.handling import Handling
from soorma_ai.runtime.planning.decide import Mind, decide, offer_now, state_of
from soorma_ai.runtime.planning.draft import draft, material_now
from soorma_ai.runtime.planning.machine import MachineInHand
from soorma_ai.runtime.planning.turn import Beginner, begin_turn, continue_turn, fail_taken_up, fail_turn, goal_of

NO_NEXT_STEP = "no_next_step"


@dataclass(frozen=True)
class ModelSettings:
    """Which model, and how it is called; the composition root makes a reasoner of it."""

    model: str
    api_base: str | None = None
    api_key: str | None = field(default=None, repr=False)
    temperature: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


class Parked(Exception):
    """Nobody can be asked; the plan sleeps, and the rest of the handler is not run."""


class PutOff(Exception):
    """Nobody takes what a plan could be made of: nothing of the handler happened, and it is called again."""

    def __init__(self, wanted: Iterable[str]) -> None:
        super().__init__("put off until somebody takes one of its events")
        self.wanted = tuple(wanted)


class BasePlanner(Agent):
    """Pursues goals; `Planner` and `ChoreographyPlanner` say in which way.

    `goals` are the events that begin a plan. `external_events` are those that a plan may wait for although no live
    agent makes them: one that comes before its wait is kept for it. `max_actions` is `limits.max_actions`.
    `reasoning_model` is a litellm model string; a `reasoner` replaces it. `system_instructions` are told to either.
    When nobody has answered a request of the model within `reply_timeout`, the plan decides what to do about it;
    without one, it waits as long as it may live, as it does for a goal that it delegated.
    """

    kind = AgentKind.PLANNER
    _strategy: str = "balanced"

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
        limits: Limits | None = None,
        max_actions: int | None = None,
        reply_timeout: timedelta | None = None,
        external_events: Iterable[EventLike] = (),
        reasoner: Reasoner | None = None,
        **options: Unpack[AgentOptions],
    ) -> None:
        super().__init__(name, description, **options)
        self.limits = _limits(limits, max_actions)
        self.reply_timeout = _reply_timeout(name, reply_timeout)
        self.goals: dict[str, EventDefinition] = {}
        self.reasoner = reasoner
        self.model_settings: ModelSettings | None = (
            ModelSettings(reasoning_model, api_base, api_key, temperature) if reasoning_model else None
        )
        self._instructions = system_instructions
        self._awaits = tuple(
            definition_of(event, EventTopic.BUSINESS_FACTS) for event in several("external_events", external_events)
        )
        self._goal_handlers: dict[str, Handler] = {}
        self._machines: dict[str, tuple[Mapping[str, StateConfig], str]] = {}
        self._transition_handler: Handler | None = None
        self._custom_context: Handler | None = None
        for goal in several("goals", goals):
            self._pursue(definition_of(goal, EventTopic.ACTION_REQUESTS))
        self._routes.append(Route(None, "", self._continue, self._fail, continues=True))

    def on_goal(self, event_type: str, *, state_machine: StateMachine | None = None) -> Callable[[H], H]:
        """The handler gets `(goal, context)` and makes the plan's first step; the next ones too, if there is an
        `on_transition`, else the planner goes on by itself.

        `state_machine` is that of every plan of this goal. Raises ConfigError, which names every fault of it.
        """
        declared = (states_of(state_machine), initial_of(state_machine)) if state_machine else None
        if declared:
            check_machine(*declared)

        def register(handler: H) -> H:
            self._machines.pop(event_type, None)
            if declared:
                self._machines[event_type] = declared
            if event_type not in self.goals:
                self._pursue(EventDefinition(event_name=event_type))
            self._goal_handlers[event_type] = handler
            return handler

        return register

    def on_transition(self) -> Callable[[H], H]:
        """The handler gets `(transition, context)` for everything that a plan of this planner was waiting for, and
        owns every step from then on. A running plan that it leaves without anything to wait for fails."""

        def register(handler: H) -> H:
            self._transition_handler = handler
            return handler

        return register

    def custom_context(self, handler: H) -> H:
        """`handler(plan, context)` returns what the model is told beside the plan, each time before it is asked."""
        self._custom_context = handler
        return handler

    async def create_plan(
        self,
        goal: GoalContext,
        agents: DiscoveredAgent | Iterable[DiscoveredAgent] | None,
        context: PlatformContext,
    ) -> PlanContext:
        """Let the model draw a state machine for this goal, and give it to the plan once it is checked.

        It is made of the events that `agents` take, as far as they are taken now; of all that are, when there are none.
        Where nobody takes any and nothing can be waited for, the plan sleeps, and nothing of the handler happened: it
        is called again when agents have changed. Raises InvalidPlan or another DecisionError when the model does not
        get it right in three tries, LimitExceeded, ModelRefused, ContentFiltered; ConfigError for a planner without a
        model.
        """
        handling, mind = context.handling, self._mind
        must_be_in_hand(goal, handling)
        if handling.plan.status.is_final:
            raise LocalProtocolError(f"plan {handling.plan.plan_id} is {handling.plan.status}; nothing is drawn for it")
        await handling.read_values()
        material = await material_now(handling, mind, _chosen(agents))
        if material.offer.is_empty:
            raise PutOff(material.wanted)
        drawn = await draft(handling, mind, material, await self._told_besides(handling))
        return await PlanContext.create_from_goal(goal, context, state_machine=drawn)

    def check(self) -> None:
        if not self.goals:
            raise ConfigError(f"planner {self.name} has no goal: give goals=[...] or register an on_goal handler")
        if self.reasoner is None:
            return
        self.reasoner.check()
        if self.limits.max_cost_usd is not None and self.reasoner.cost_of(1, 1) is None:
            raise ConfigError(
                f"planner {self.name} has max_cost_usd={self.limits.max_cost_usd}, but the price of "
                f"{self.reasoner.model} is not known; use a priced model, or limit max_tokens"
            )

    def registration(self) -> Registration:
        plain = super().registration()
        awaits = [(EventRole.AWAITS, definition) for definition in self._awaits]
        return replace(plain, events=(*plain.events, *awaits))

    @property
    def _mind(self) -> Mind:
        if self.reasoner is None:
            if self.model_settings is None:
                raise ConfigError(cannot_think(self.name))
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
        return Beginner(self.limits, self.version)

    async def _begin(self, handling: Handling) -> None:
        """A goal has come."""
        self._check_goal(handling.event)
        trigger = await begin_turn(handling, self._beginner)
        if trigger is None:
            return
        handling.trigger = trigger
        await self._make_first_step(handling, handling.event, trigger)

    async def _continue(self, handling: Handling) -> None:
        """What a plan was waiting for has come, or its time is over."""
        trigger = await continue_turn(handling)
        if trigger is None:
            return
        handling.trigger = trigger
        plan = await PlanContext.of(handling)
        machine = MachineInHand(handling)
        machine.take()
        if (machine.states or self._transition_handler is None) and await machine.is_held():
            machine.hold()
            return
        if plan.record.is_due and not machine.states:
            machine.drop()
            await self._make_first_step(handling, await goal_of(handling), trigger)
        elif self._transition_handler is None:
            await self._go_on(handling, trigger)
        else:
            seen = machine.seen if machine.states else None
            what = TransitionContext(seen or handling.event, plan, trigger.text, trigger.data)
            await self._hand_over(handling, self._transition_handler, what)

    async def _make_first_step(self, handling: Handling, goal: EventEnvelope, trigger: Trigger) -> None:
        await handling.read_values()
        if declared := self._machines.get(goal.type):
            MachineInHand(handling).begin(*declared)
        handler = self._goal_handlers.get(goal.type)
        if handler is None:
            await self._go_on(handling, trigger)
        else:
            await self._hand_over(handling, handler, GoalContext.of(handling, goal))

    async def _hand_over(self, handling: Handling, handler: Handler, what: object) -> None:
        before = handling.mark()
        try:
            await call(handler, what, PlatformContext(handling))
        except Parked:
            return
        except PutOff as put_off:
            handling.back_to(before)
            await handling.read_values()
            MachineInHand(handling).drop()
            # Its first step is still to be made: see `_continue`.
            handling.apply(park(replace(handling.plan, is_due=True), handling.moment(), *put_off.wanted))
            return
        await handling.read_values()
        machine = MachineInHand(handling)
        ended, waits = handling.plan.status.is_final, bool(await handling.open_now())
        if machine.states and self._transition_handler is None and not ended and not waits:
            await machine.advance()
        await machine.settle()
        await self._must_have_left_something(handling)

    async def _go_on(self, handling: Handling, trigger: Trigger) -> None:
        """Without a handler: by the plan's machine, else by what the model decides."""
        await handling.read_values()
        machine = MachineInHand(handling)
        if machine.states:
            await machine.advance()
        elif self.reasoner is not None:
            try:
                judged = await self._decide(handling, trigger, await self._told_besides(handling))
            except Parked:
                return
            await self._act(handling, judged, trigger)
            return
        await self._must_have_left_something(handling)

    async def _decide(self, handling: Handling, trigger: Trigger, custom: JsonObject) -> Judged:
        mind = self._mind
        offer = await offer_now(handling, mind)
        if offer.is_empty:
            handling.apply(park(handling.plan, handling.moment()))
            raise Parked
        return await decide(handling, mind, offer, trigger, custom)

    async def _act(self, handling: Handling, judged: Judged, trigger: Trigger) -> None:
        # An event of another owner finds a plan that may be waiting for something else.
        handling.apply(Outcome(moved(handling.plan, PlanStatus.RUNNING, handling.services.clock.now())))
        outcome = reduce(
            handling.plan,
            judged,
            state=state_of(trigger),
            open_now=await handling.open_now(),
            moment=handling.moment(),
            reply_timeout=self.reply_timeout,
        )
        handling.apply(outcome)

    async def _told_besides(self, handling: Handling) -> JsonObject:
        if self._custom_context is None:
            return {}
        given = await call(self._custom_context, await PlanContext.of(handling), PlatformContext(handling))
        return json_object("the custom context", given)

    async def _fail(self, handling: Handling, failure: Failure) -> None:
        await fail_turn(handling, failure, self._beginner)

    async def _hear(self, handling: Handling, handler: Handler) -> None:
        with suppress(Parked):
            await super()._hear(handling, handler)

    async def _event_failed(self, handling: Handling, failure: Failure) -> None:
        if failure.ends_plan:
            await fail_taken_up(handling, failure)
        await super()._event_failed(handling, failure)

    def _pursue(self, goal: EventDefinition) -> None:
        goal = self._described(goal)
        self.goals[goal.event_name] = goal
        self._take(Route(goal.topic, goal.event_name, self._begin, self._fail), goal, EventRole.TAKES_AS_GOAL)

    def _check_goal(self, event: EventEnvelope) -> None:
        faults = violations(self.goals[event.type].payload_schema, event.data)
        if faults:
            raise RemoteProtocolError(f"goal {event.type!r} is off its schema: {describe(faults)}")

    async def _must_have_left_something(self, handling: Handling) -> None:
        """No plan hangs silently: a running one waits for something."""
        if handling.plan.status.is_final or await handling.will_be_woken() or await handling.has_more_to_come():
            return
        raise LocalProtocolError(f"{NO_NEXT_STEP}: the handler left the plan running with nothing to wait for")


def cannot_think(name: str) -> str:
    return f"planner {name} cannot think: give reasoning_model='provider/model', or a reasoner="


def _reply_timeout(name: str, given: timedelta | None) -> timedelta | None:
    try:
        return None if given is None else span_of("reply_timeout", given)
    except LocalProtocolError as error:
        raise ConfigError(f"planner {name}: {error}") from error


def _chosen(agents: DiscoveredAgent | Iterable[DiscoveredAgent] | None) -> list[DiscoveredAgent]:
    given: object = agents or ()
    chosen: list[Any] = list(cast(Iterable[Any], given)) if isinstance(given, Iterable) else [given]
    if strange := [one for one in chosen if not isinstance(one, DiscoveredAgent)]:
        raise LocalProtocolError(
            f"create_plan takes agents as the registry finds them, found {clip(repr(strange), 200)}"
        )
    return chosen


def _limits(limits: Limits | None, max_actions: int | None) -> Limits:
    if limits is None:
        return Limits() if max_actions is None else Limits(max_actions=max_actions)
    if max_actions is None or limits.max_actions == max_actions:
        return limits
    if limits.max_actions != Limits.max_actions:
        raise ConfigError(f"max_actions={max_actions} and limits.max_actions={limits.max_actions}: give it once")
    return replace(limits, max_actions=max_actions)
