"""Classes of agents, and the contexts of their handlers."""

from typing import TYPE_CHECKING

from soorma_ai.late_names import late_names

# Type checkers take a public name only where it is spelled; a test holds both lists together.
if TYPE_CHECKING:
    from soorma_ai.agents.agent import Agent as Agent
    from soorma_ai.agents.choreography import ChoreographyPlanner as ChoreographyPlanner
    from soorma_ai.agents.planner import Planner as Planner
    from soorma_ai.agents.tool import InvocationContext as InvocationContext
    from soorma_ai.agents.tool import Tool as Tool
    from soorma_ai.agents.worker import Worker as Worker

_HOMES = {
    "agent": "Agent",
    "choreography": "ChoreographyPlanner",
    "planner": "Planner",
    "tool": "InvocationContext Tool",
    "worker": "Worker",
}

__getattr__, __dir__ = late_names(__name__, _HOMES)
