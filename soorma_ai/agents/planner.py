"""The planner of state machines, declared by the author or drawn by its model."""

from collections.abc import Mapping
from typing import Any

from typing_extensions import Unpack

from soorma_ai.agents.contexts.plan import EventContext, GoalContext, PlanContext, TransitionContext, event_of
from soorma_ai.agents.contexts.platform import PlatformContext
from soorma_ai.agents.handler_options import HandlerOptions
from soorma_ai.agents.planner_base import BasePlanner
from soorma_ai.errors import ConfigError, LocalProtocolError
from soorma_ai.kernel.domain.decisions import (
    AcceptedDecision,
    CompleteAction,
    DelegateAction,
    PublishAction,
    PublishAllAction,
    WaitAction,
)
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.schemas import ANY_OBJECT, SchemaSource, schema_of
from soorma_ai.kernel.domain.states import PlanDefinition, plan_definition_of
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.rules.plans.triggers import Trigger
from soorma_ai.kernel.runtime import planning
from soorma_ai.kernel.runtime.handling.handling import Handling

PLAN_REQUESTED = "plan.requested"
_SENT_PLAN_TYPE: JsonObject = {
    "type": "object",
    "properties": {
        "plan": {
            "type": "object",
            "properties": {
                "plan_type": {"type": "string", "minLength": 1},
                "description": {"type": "string"},
                "initial_state": {"type": "string"},
                "states": {"type": "object", "additionalProperties": {"type": "object"}},
            },
            "required": ["plan_type", "states"],
        }
    },
    "required": ["plan"],
}


class Planner(BasePlanner):
    """Planner by state machines, or by its `on_transition` handler.

    `on_goal` or its handler gives a plan its state machine; `create_plan` asks the model for one. With a model, a plan
    without a state machine continues by the model's decisions. For the options see `PlannerOptions`.
    """

    async def reason_next_action(
        self, plan: PlanContext, event: EventContext | TransitionContext | GoalContext, context: PlatformContext
    ) -> str | None:
        """Let the model decide the plan's next step about this `event`, and carry the step out. As with a
        `ChoreographyPlanner`, it is checked, counted, and held where an approval is needed. `context` is that of this
        delivery.

        Returns the type of the published event, the first of several; None for a complete or waiting plan.
        """
        handling = context.handling
        if plan.plan_id != handling.plan.plan_id:
            raise LocalProtocolError("reason_next_action decides about the plan in hand, and this is another")
        if plan.status.is_final:
            return None
        trigger = handling.trigger = _trigger(handling, event)
        try:
            judged = await self._engine.decide(handling, trigger, await self.ask_custom_context(handling))
        except planning.planner.PlanParked:
            return None
        await self._engine.carry_out(handling, judged, trigger)
        return _name_of_request(judged)

    def add_plan_type(
        self,
        plan: PlanDefinition | Mapping[str, Any],
        *,
        payload_schema: SchemaSource | None = None,
        **options: Unpack[HandlerOptions],
    ) -> None:
        """Register a plan type: its name is a goal, and each plan of this goal follows its state machine. Raise
        ConfigError with every fault.

        Args:
            plan: the plan type, or a mapping of its fields, as read from JSON.
            payload_schema: the schema of the goal's data: JSON Schema, or a pydantic model.
            options: see `HandlerOptions`.
        """
        given = plan_definition_of(plan)
        name = given.plan_type
        if name in self.goals:
            raise ConfigError(f"planner {self.name} takes the goal {name!r} already; give the plan type another name")
        register = self.on_goal(name, state_machine=given, **options)
        schema = ANY_OBJECT if payload_schema is None else schema_of(payload_schema)
        self._pursue(EventDefinition(event_name=name, description=given.description, payload_schema=schema))
        register(_follow_machine)

    def accept_plan_types(self, event_type: str = PLAN_REQUESTED, **options: Unpack[HandlerOptions]) -> None:
        """Register a goal with its own plan type, under `plan` of its data: clients send state machines, also over
        HTTP. All other fields of the data are `goal_data` of the templates.

        A machine is checked before its first step; its requests are checked, counted and held for approvals as those of
        any plan.

        Args:
            event_type: the name of the goal.
            options: see `HandlerOptions`.
        """
        self.on_goal(event_type, payload_schema=_SENT_PLAN_TYPE, **options)(_follow_sent_machine)

    def check(self) -> None:
        super().check()
        if without := [name for name in self.goals if name not in self.goal_handlers]:
            raise ConfigError(f"planner {self.name} does not know how to begin {', '.join(without)}: register on_goal")


async def _follow_machine(goal: GoalContext, context: PlatformContext) -> None:
    """Begin the plan of a declared machine."""
    await PlanContext.create_from_goal(goal, context)


async def _follow_sent_machine(goal: GoalContext, context: PlatformContext) -> None:
    """Begin a plan with the machine in its goal. A faulty one fails it."""
    await PlanContext.create_from_goal(goal, context, state_machine=plan_definition_of(goal.data["plan"]))


def _trigger(handling: Handling, given: EventContext | TransitionContext | GoalContext) -> Trigger:
    """Describe the cause of this delivery; for another event, describe the event itself."""
    known = handling.trigger
    if isinstance(given, GoalContext):
        return known or Trigger("The goal came.")
    event = event_of(given)
    ids = [handling.event.id, *([handling.closed[1].id] if handling.closed else [])]
    return (
        known
        if known and event.id in ids
        else Trigger(f"{event.type} came.", event.data, name=event.type, outcome="came")
    )


def _name_of_request(judged: AcceptedDecision) -> str | None:
    match judged.decision.next_action:
        case PublishAction(event_type=name) | DelegateAction(goal_event=name):
            return None if judged.approval else name
        case PublishAllAction():
            return next((name for part in judged.parts if (name := _name_of_request(part))), None)
        case WaitAction() | CompleteAction():
            return None
