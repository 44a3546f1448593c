"""The planner whose next step an LLM decides, and code checks."""

from collections.abc import Mapping
from typing import Any

from soorma_ai.agents.contexts.plan import GoalContext, PlanContext
from soorma_ai.agents.contexts.platform import PlatformContext
from soorma_ai.agents.planner_base import BasePlanner
from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.domain.decisions import PlannerDecision
from soorma_ai.kernel.domain.history import DECIDE
from soorma_ai.kernel.domain.values import json_object
from soorma_ai.kernel.rules.plans.triggers import Trigger


class ChoreographyPlanner(BasePlanner):
    """Pursues its goals by itself: goal, decide, act, result, decide, and so on, within its limits."""

    needs_model = True
    prompt_id = DECIDE

    async def reason_next_action(
        self, trigger: str, context: PlatformContext, custom_context: Mapping[str, Any] | None = None
    ) -> PlannerDecision:
        """Ask the model what to do next in the plan of this delivery. Nothing is done yet. `custom_context` is kept
        with the plan, and told at each later decision, until another one is given."""
        handling = context.handling
        happened = Trigger("The code of this planner asks for the next step.", said=trigger)
        if custom_context is not None:
            await handling.read_values()
            handling.values.context = json_object("the custom context", custom_context)
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
        """Check the decision once more, as things are now, and record what carries it out.

        `goal_event` and `plan` are those of this delivery; others are a LocalProtocolError. A WaitAction of the
        author's own declares its event for this plan: its producers may send it, and clients that may steer the plan.
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
