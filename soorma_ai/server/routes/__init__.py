"""All operations, those that are asked most first."""

from soorma_ai.server.operation import AnyOperation
from soorma_ai.server.routes import (
    events,
    inbox,
    letters,
    memory,
    memos,
    people,
    plans,
    registry,
    remote,
    requests,
    tracker,
)

OPERATIONS: tuple[AnyOperation, ...] = (
    *plans.OPERATIONS,
    *requests.OPERATIONS,
    *events.OPERATIONS,
    *people.OPERATIONS,
    *inbox.OPERATIONS,
    *registry.OPERATIONS,
    *tracker.OPERATIONS,
    *memory.OPERATIONS,
    *memos.OPERATIONS,
    *letters.OPERATIONS,
    *remote.OPERATIONS,
)
