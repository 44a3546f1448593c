"""`ChoreographyPlanner` by the import path of the documents."""

from soorma_ai.agents.choreography import ChoreographyPlanner as ChoreographyPlanner
