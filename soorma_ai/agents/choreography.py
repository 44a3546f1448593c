"""The planner with a model for each next step; every decision is checked by code."""

from collections.abc import Mapping
from typing import Any

from soorma_ai.agents.contexts.plan import GoalContext, PlanContext
from soorma_ai.agents.contexts.platform import PlatformContext
from soorma_ai.agents.planner_base import BasePlanner
from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.domain.decisions import PlannerDecision
from soorma_ai.kernel.domain.history import DECIDE
from soorma_ai.kernel.domain.plans import ValueKind
from soorma_ai.kernel.domain.values import json_object
from soorma_ai.kernel.rules.plans.triggers import Trigger


class ChoreographyPlanner(BasePlanner):
    """Planner with a model for every step: goal, decision, action, result, next decision, and so on, within its limits.
    It needs `reasoning_model` or `reasoner`.

    For the options see `PlannerOptions`. The model's own options are `fallbacks`, `price`, `mode`, `timeout`,
    `max_output_tokens`, `transport` and the others of `ModelOptions`.
    """

    needs_model = True
    prompt_id = DECIDE

    async def reason_next_action(
        self, trigger: str, context: PlatformContext, custom_context: Mapping[str, Any] | None = None
    ) -> PlannerDecision:
        """Ask the model for the next step of this delivery's plan, and return its decision without carrying it out.

        Args:
            trigger: the description of the latest event for the model.
            context: the context of this delivery.
            custom_context: further data for the model; they are kept with the plan and shown at each later decision,
                until others replace them.
        """
        handling = context.handling
        happened = Trigger("The code of this planner asks for the next step.", said=trigger)
        if custom_context is not None:
            handling.values.put(ValueKind.CONTEXT, json_object("the custom context", custom_context))
        judged = await self._engine.decide(handling, happened, await self.ask_custom_context(handling))
        handling.trigger, handling.decided = happened, judged.decision
        return judged.decision

    async def execute_decision(
        self,
        decision: PlannerDecision,
        context: PlatformContext,
        *,
        goal_event: GoalContext | None = None,
        plan: PlanContext | None = None,
    ) -> None:
        """Check the decision again, against the present state, and record its effects.

        A WaitAction of the author's own declares its event for this plan: its producers may send it, and so may clients
        with the right to steer the plan.

        Args:
            decision: the decision to carry out, of `reason_next_action` or the author's own.
            context: the context of this delivery.
            goal_event: the goal of this delivery, if given; another goal is a LocalProtocolError.
            plan: the plan of this delivery, if given; another plan is a LocalProtocolError.
        """
        handling = context.handling
        if plan is not None and plan.plan_id != handling.plan.plan_id:
            raise LocalProtocolError("execute_decision carries out decisions of the plan in hand, and this is another")
        if goal_event is not None and goal_event.goal_id != handling.plan.goal_id:
            raise LocalProtocolError("execute_decision got the goal of another plan")
        self.settings.must_have_model()
        trigger = handling.trigger or Trigger("")
        declares = decision != handling.decided
        judged = await self._engine.judge(handling, decision, trigger, declares=declares)
        await self._engine.carry_out(handling, judged, trigger)
