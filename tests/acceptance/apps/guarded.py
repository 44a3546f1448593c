"""A till with the approval of a cashier, and a planner with a request to it."""

from typing import Any

from soorma_ai import Approval, ChoreographyPlanner, InvocationContext, PlatformContext, Tool
from soorma_ai.testing.scripted import ScriptedReasoner, complete, publish

script = [publish("cash.handed", sum=5), complete({"handed": 5})] * 4
planner = ChoreographyPlanner("desk", goals=["cash.wanted"], reasoner=ScriptedReasoner(script))
till = Tool("till")


@till.on_invoke("cash.handed", approval=Approval(approvers=("cashier",)))
async def hand(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
    return {"handed": request.data["sum"]}


agents = [planner, till]
