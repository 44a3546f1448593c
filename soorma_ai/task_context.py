"""`TaskContext` and its companions by the import path of the documents."""

from soorma_ai.agents.contexts.task import DelegationSpec as DelegationSpec
from soorma_ai.agents.contexts.task import ResultContext as ResultContext
from soorma_ai.agents.contexts.task import TaskContext as TaskContext
