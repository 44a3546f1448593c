"""`PlanContext` by the import path of the documents."""

from soorma_ai.agents.contexts.plan import PlanContext as PlanContext
