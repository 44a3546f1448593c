"""The planner of state machines, declared by the author or drawn by its model."""

from soorma_ai.agents.contexts.plan import EventContext, GoalContext, PlanContext, TransitionContext, event_of
from soorma_ai.agents.contexts.platform import PlatformContext
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
from soorma_ai.kernel.rules.plans.triggers import Trigger
from soorma_ai.kernel.runtime import planning
from soorma_ai.kernel.runtime.handling.handling import Handling


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

    def check(self) -> None:
        super().check()
        if without := [name for name in self.goals if name not in self.goal_handlers]:
            raise ConfigError(f"planner {self.name} does not know how to begin {', '.join(without)}: register on_goal")


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
