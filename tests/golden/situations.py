"""A small shop with plans in every possible situation of rest.

The maker of a golden file and the test of its end run the same agents; `Halts` names the points at which the first
stands still: in a handler, in a model's call.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from soorma_ai import Agent, ChoreographyPlanner, EventDefinition, GoalContext, InvocationContext, PlatformContext, Tool
from soorma_ai.kernel.domain.decisions import PlannerDecision, PublishAction
from soorma_ai.kernel.ports import ModelQuestion
from soorma_ai.testing.scripted import ScriptedReasoner, complete, delegate, publish, wait

SLOT = EventDefinition(event_name="slot.chosen", topic="business-facts", correlate={"/order_id": "goal_data.order_id"})
ASK = wait("slot.chosen", "Which slot?")
RESERVE = ("You published stock.reserve", publish("stock.reserve", sku="A"))
HELD = ("Your publish of payment.charge was held", publish("payment.charge", amount=1))

# By goal: each step with the words of its completion in the history; after all of them the plan completes.
PLOTS: dict[str, list[tuple[str, Any]]] = {
    "order.done": [RESERVE],
    "order.broken": [("never", publish("no.such.event"))],
    "order.dead": [("You published stock.reserve", publish("stock.reserve", sku="broken"))],
    "order.cancelled": [("You waited for slot.chosen", ASK)],
    "order.gate": [HELD],
    "order.awaits": [("You waited for slot.chosen", ASK)],
    "order.late": [("You waited for slot.chosen", wait("slot.chosen", "Which slot?", timeout_seconds=60))],
    "order.early": [HELD, ("You waited for slot.chosen", ASK)],
    "order.leased": [("You published slow.work", publish("slow.work", n=1))],
    "order.queued": [("You published slow.work", publish("slow.work", n=2))],
    "order.unsent": [("You published courier.deliver", publish("courier.deliver"))],
    "order.journalled": [RESERVE],
    "order.parent": [("You delegated help.needed", delegate("helper", "help.needed", {"order_id": "h-1"}))],
    "help.needed": [HELD],
    "order.evening": [RESERVE],
    "order.parked": [("You published island.reserve", publish("island.reserve"))],
    "order.pair": [("You published courier.deliver", publish("courier.deliver"))],
}

# The result of each plan, and the calls of each tool after the file was made, by the plan.
ENDS: dict[str, tuple[str, Any]] = {
    **{goal: ("completed", {"of": goal}) for goal in PLOTS},
    "order.broken": ("failed", None),
    "order.cancelled": ("cancelled", None),
}
CALLS_LEFT = {
    ("till", "payment.charge"): 3,
    ("slow", "slow.work"): 2,
    ("courier", "courier.deliver"): 2,
    ("stock", "stock.reserve"): 2,
    ("island", "island.reserve"): 1,
}


@dataclass(frozen=True)
class Halts:
    """Calls without a return."""

    tools: frozenset[str] = frozenset()
    goals: frozenset[str] = frozenset()


NOTHING = Halts()


@dataclass
class Shop:
    """`calls` counts outside effects by tool, event and key."""

    halts: Halts = NOTHING
    calls: Counter[tuple[str, str, str]] = field(default_factory=Counter[tuple[str, str, str]])
    asked: list[str] = field(default_factory=list[str])

    def main_agents(self) -> list[Agent]:
        goals = [goal for goal in PLOTS if goal not in ("order.parked", "order.evening", "order.pair", "help.needed")]
        return [
            self._planner("orders", goals),
            self._planner("helper", ["help.needed"]),
            self._pair(),
            self._planner("lonely", ["order.parked"], tenant="island"),
            self._tool("stock", "stock.reserve"),
            self._tool("till", "payment.charge", approval="always"),
            self._tool("slow", "slow.work", max_in_flight=1),
            self._tool("courier", "courier.deliver"),
        ]

    def evening(self) -> Agent:
        return self._planner("evening", ["order.evening"])

    def island(self) -> Agent:
        return self._tool("island", "island.reserve", tenant="island")

    def _planner(self, name: str, goals: list[str], tenant: str = "default") -> ChoreographyPlanner:
        external = [SLOT] if name == "orders" else []
        reasoner = ScriptedReasoner(self._decide, model="scripted/golden")
        return ChoreographyPlanner(name, goals=goals, external_events=external, reasoner=reasoner, tenant_id=tenant)

    def _pair(self) -> ChoreographyPlanner:
        """Return a planner with two parallel requests."""
        pair = self._planner("pair", [])

        @pair.on_goal("order.pair")
        async def begin(goal: GoalContext, context: PlatformContext) -> None:
            for sku in ("left", "right"):
                action = PublishAction(event_type="stock.reserve", data={"sku": sku})
                await pair.execute_decision(PlannerDecision(next_action=action), context, goal_event=goal)

        return pair

    def _tool(
        self, name: str, event: str, tenant: str = "default", approval: str | None = None, max_in_flight: int = 64
    ) -> Tool:
        tool = Tool(name, tenant_id=tenant, max_in_flight=max_in_flight)

        @tool.on_invoke(event, approval=approval)
        async def act(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
            if name in self.halts.tools:
                await asyncio.Event().wait()
            self.calls[name, event, request.idempotency_key] += 1
            if request.data.get("sku") == "broken":
                raise ValueError("a bug in a tool")
            return {"by": name}

        return tool

    async def _decide(self, question: ModelQuestion) -> Any:
        told = question.messages[1].content
        goal = next(goal for goal in PLOTS if f"Goal: {goal}\n" in told or f"Goal: {goal} " in told)
        if goal in self.halts.goals:
            await asyncio.Event().wait()
        self.asked.append(goal)
        for taken, step in PLOTS[goal]:
            if taken not in told:
                return step
        return complete({"of": goal})
