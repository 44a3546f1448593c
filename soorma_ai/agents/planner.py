"""Planners pursue goals: a goal begins a plan, and what the plan waited for carries it on."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from soorma_ai.agents.agent import Agent, EventLike, H, definition_of, several
from soorma_ai.agents.context import PlatformContext
from soorma_ai.agents.typed import Handler
from soorma_ai.core.asking import Outcome
from soorma_ai.core.ending import Failure
from soorma_ai.core.machine import moved
from soorma_ai.domain.events import EventEnvelope, EventTopic
from soorma_ai.domain.limits import Limits
from soorma_ai.domain.plans import PlanRecord, PlanStatus
from soorma_ai.domain.registry import AgentKind, EventDefinition, EventRole
from soorma_ai.domain.schemas import told, violations
from soorma_ai.domain.values import JsonObject
from soorma_ai.errors import LocalProtocolError, RemoteProtocolError
from soorma_ai.runtime.context import Handling
from soorma_ai.runtime.flow import Route
from soorma_ai.runtime.turn import Beginner, fail_turn

NO_NEXT_STEP = "no_next_step"


@dataclass(frozen=True)
class GoalContext:
    """The goal as its caller sent it."""

    event_type: str
    data: dict[str, Any]
    goal_id: str
    correlation_id: str
    response_event: str | None
    session_id: str | None
    tenant_id: str
    user_id: str
    idempotency_key: str
    attempt: int

    @classmethod
    def of(cls, handling: Handling) -> "GoalContext":
        event = handling.event
        return cls(
            event_type=event.type,
            data=dict(event.data),
            goal_id=event.id,
            correlation_id=event.correlation_id or event.id,
            response_event=event.response_event,
            session_id=event.session_id,
            tenant_id=event.tenant_id,
            user_id=event.user_id,
            idempotency_key=handling.idempotency_key,
            attempt=handling.delivery.attempt,
        )


class PlanContext:
    """The plan of the delivery in hand, as a working copy: what is changed here is saved with everything else."""

    def __init__(self, handling: Handling) -> None:
        self._handling = handling

    @classmethod
    async def create_from_goal(
        cls,
        goal: GoalContext,
        context: PlatformContext,
        *,
        state_machine: dict[str, Any] | None = None,
        current_state: str = "",
        status: str = PlanStatus.RUNNING,
    ) -> "PlanContext":
        """The plan of this goal. An LLM plan has no state machine: give {} or nothing."""
        if state_machine:
            raise LocalProtocolError("a ChoreographyPlanner decides by its model; give it state_machine={}")
        if goal.goal_id != context.handling.plan.goal_id:
            raise LocalProtocolError("create_from_goal takes the goal of the delivery in hand")
        made = cls(context.handling)
        made.current_state = current_state
        made._change(moved(made.record, PlanStatus(status), context.handling.services.clock.now()))
        return made

    @property
    def record(self) -> PlanRecord:
        return self._handling.plan

    @property
    def plan_id(self) -> str:
        return self.record.plan_id

    @property
    def goal_event(self) -> str:
        return self.record.goal_event

    @property
    def goal_data(self) -> JsonObject:
        return self.record.goal_data

    @property
    def status(self) -> PlanStatus:
        return self.record.status

    @property
    def current_state(self) -> str:
        return self.record.current_state

    @current_state.setter
    def current_state(self, state: str) -> None:
        self._change(replace(self.record, current_state=state))

    async def save(self) -> None:
        """Nothing to do: the working copy is saved when the handler returns, whether or not this is called."""

    def _change(self, plan: PlanRecord) -> None:
        self._handling.apply(Outcome(plan))


@dataclass(frozen=True)
class TransitionContext:
    """What a plan was waiting for has come (or its time is over)."""

    event: EventEnvelope
    plan: PlanContext
    what_happened: str
    data: Any


class Planner(Agent, ABC):
    """The base of planners. `goals` are the events that begin a plan."""

    kind = AgentKind.PLANNER

    def __init__(self, name: str, description: str, goals: Iterable[EventLike], limits: Limits, **agent: Any) -> None:
        super().__init__(name, description, **agent)
        self.limits = limits
        self.goals: dict[str, EventDefinition] = {}
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

    @abstractmethod
    async def _begin(self, handling: Handling) -> None:
        """A goal has come."""

    @abstractmethod
    async def _continue(self, handling: Handling) -> None:
        """What a plan was waiting for has come, or its time is over."""

    async def _fail(self, handling: Handling, failure: Failure) -> None:
        await fail_turn(handling, failure, self._beginner)

    @property
    def _beginner(self) -> Beginner:
        return Beginner(self.limits, self.version)

    def _pursue(self, goal: EventDefinition) -> None:
        self.goals[goal.event_name] = goal
        self._take(Route(goal.topic, goal.event_name, self._begin, self._fail), goal, EventRole.TAKES_AS_GOAL)

    def _check_goal(self, event: EventEnvelope) -> None:
        faults = violations(self.goals[event.type].payload_schema, event.data)
        if faults:
            raise RemoteProtocolError(f"goal {event.type!r} is off its schema: {told(faults)}")

    async def _must_have_left_something(self, handling: Handling) -> None:
        """No plan hangs silently: a running one waits for something."""
        if handling.plan.status.is_final or await handling.open_now() or await handling.has_more_to_come():
            return
        raise LocalProtocolError(f"{NO_NEXT_STEP}: the handler left the plan running with nothing to wait for")
