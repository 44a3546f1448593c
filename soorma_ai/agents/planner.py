"""Planners pursue goals: a goal begins a plan, and what the plan waited for carries it on."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from typing_extensions import Unpack

from soorma_ai.agents.agent import Agent, AgentOptions, EventLike, H, definition_of, several
from soorma_ai.agents.context import PlatformContext
from soorma_ai.agents.plan import EventContext, GoalContext, PlanContext, TransitionContext
from soorma_ai.agents.typed import Handler, call
from soorma_ai.core.ending import Failure
from soorma_ai.core.receive import Trigger
from soorma_ai.domain.events import EventEnvelope, EventTopic
from soorma_ai.domain.limits import Limits
from soorma_ai.domain.registry import AgentKind, EventDefinition, EventRole, Registration
from soorma_ai.domain.schemas import told, violations
from soorma_ai.errors import ConfigError, LocalProtocolError, RemoteProtocolError
from soorma_ai.runtime.context import Handling
from soorma_ai.runtime.flow import Route
from soorma_ai.runtime.machine import MachineInHand
from soorma_ai.runtime.turn import Beginner, begin_turn, continue_turn, fail_turn

NO_NEXT_STEP = "no_next_step"

__all__ = ["EventContext", "GoalContext", "PlanContext", "Planner", "TransitionContext"]


class Planner(Agent):
    """Pursues goals by the state machine that `on_goal` gives their plan, or by what `on_transition` decides.

    `goals` are the events that begin a plan. `external_events` are those that a plan may wait for although no live
    agent makes them: one that comes before its wait is kept for it. `max_actions` is `limits.max_actions`.
    """

    kind = AgentKind.PLANNER

    def __init__(
        self,
        name: str,
        description: str = "",
        *,
        goals: Iterable[EventLike] = (),
        limits: Limits | None = None,
        max_actions: int | None = None,
        external_events: Iterable[EventLike] = (),
        **options: Unpack[AgentOptions],
    ) -> None:
        super().__init__(name, description, **options)
        self.limits = _limits(limits, max_actions)
        self.goals: dict[str, EventDefinition] = {}
        self._awaits = tuple(
            definition_of(event, EventTopic.BUSINESS_FACTS) for event in several("external_events", external_events)
        )
        self._goal_handlers: dict[str, Handler] = {}
        self._transition_handler: Handler | None = None
        for goal in several("goals", goals):
            self._pursue(definition_of(goal, EventTopic.ACTION_REQUESTS))
        self._routes.append(Route(None, "", self._continue, self._fail, continues=True))

    def on_goal(self, event_type: str) -> Callable[[H], H]:
        """The handler gets `(goal, context)` and makes the plan's first step; the next ones too, if there is an
        `on_transition`, else the planner goes on by itself."""

        def register(handler: H) -> H:
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

    def check(self) -> None:
        if not self.goals:
            raise ConfigError(f"planner {self.name} has no goal: give goals=[...] or register an on_goal handler")
        if without := [name for name in self.goals if name not in self._goal_handlers]:
            raise ConfigError(f"planner {self.name} does not know how to begin {', '.join(without)}: register on_goal")

    def registration(self) -> Registration:
        plain = super().registration()
        awaits = [(EventRole.AWAITS, definition) for definition in self._awaits]
        return replace(plain, events=(*plain.events, *awaits))

    async def _begin(self, handling: Handling) -> None:
        """A goal has come."""
        self._check_goal(handling.event)
        trigger = await begin_turn(handling, self._beginner)
        if trigger is None:
            return
        handling.trigger = trigger
        handler = self._goal_handlers.get(handling.event.type)
        if handler is None:
            await self._go_on(handling, trigger)
        else:
            await self._hand_over(handling, handler, GoalContext.of(handling))

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
        if self._transition_handler is None:
            await self._go_on(handling, trigger)
            return
        seen = machine.seen if machine.states else None
        what = TransitionContext(seen or handling.event, plan, trigger.text, trigger.data)
        await self._hand_over(handling, self._transition_handler, what)

    async def _hand_over(self, handling: Handling, handler: Handler, what: object) -> None:
        await call(handler, what, PlatformContext(handling))
        await handling.read_values()
        machine = MachineInHand(handling)
        ended, waits = handling.plan.status.is_final, bool(await handling.open_now())
        if machine.states and self._transition_handler is None and not ended and not waits:
            await machine.advance()
        await machine.settle()
        await self._must_have_left_something(handling)

    async def _go_on(self, handling: Handling, trigger: Trigger) -> None:
        """Without a handler."""
        machine = MachineInHand(handling)
        if machine.states:
            await machine.advance()
        await self._must_have_left_something(handling)

    async def _fail(self, handling: Handling, failure: Failure) -> None:
        await fail_turn(handling, failure, self._beginner)

    @property
    def _beginner(self) -> Beginner:
        return Beginner(self.limits, self.version)

    def _pursue(self, goal: EventDefinition) -> None:
        goal = self._described(goal)
        self.goals[goal.event_name] = goal
        self._take(Route(goal.topic, goal.event_name, self._begin, self._fail), goal, EventRole.TAKES_AS_GOAL)

    def _check_goal(self, event: EventEnvelope) -> None:
        faults = violations(self.goals[event.type].payload_schema, event.data)
        if faults:
            raise RemoteProtocolError(f"goal {event.type!r} is off its schema: {told(faults)}")

    async def _must_have_left_something(self, handling: Handling) -> None:
        """No plan hangs silently: a running one waits for something."""
        if handling.plan.status.is_final or await handling.will_be_woken() or await handling.has_more_to_come():
            return
        raise LocalProtocolError(f"{NO_NEXT_STEP}: the handler left the plan running with nothing to wait for")


def _limits(limits: Limits | None, max_actions: int | None) -> Limits:
    if limits is None:
        return Limits() if max_actions is None else Limits(max_actions=max_actions)
    if max_actions is None or limits.max_actions == max_actions:
        return limits
    if limits.max_actions != Limits.max_actions:
        raise ConfigError(f"max_actions={max_actions} and limits.max_actions={limits.max_actions}: give it once")
    return replace(limits, max_actions=max_actions)
