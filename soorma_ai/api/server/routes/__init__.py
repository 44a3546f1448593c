"""Routes of the kernel: handlers for calls with an HTTP of their own, and the rows of its services."""

from soorma_ai.api.operation import Operation
from soorma_ai.api.server.routes import events, people, plans, registry, requests

OPERATIONS: tuple[Operation, ...] = (
    *plans.OPERATIONS,
    *requests.OPERATIONS,
    *events.OPERATIONS,
    *people.OPERATIONS,
    *registry.OPERATIONS,
)
