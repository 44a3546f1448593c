"""All operations, those that are asked most first."""

from soorma_ai.api.operation import Operation
from soorma_ai.api.server.routes import dead_letters, events, memory, people, plans, registry, requests, tracker
from soorma_ai.features.human_tasks import operations as inbox
from soorma_ai.features.knowledge import operations as memos
from soorma_ai.features.remote import operations

OPERATIONS: tuple[Operation, ...] = (
    *plans.OPERATIONS,
    *requests.OPERATIONS,
    *events.OPERATIONS,
    *people.OPERATIONS,
    *inbox.OPERATIONS,
    *registry.OPERATIONS,
    *tracker.OPERATIONS,
    *memory.OPERATIONS,
    *memos.OPERATIONS,
    *dead_letters.OPERATIONS,
    *operations.OPERATIONS,
)
