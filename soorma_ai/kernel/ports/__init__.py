"""The seams: what the shell needs from the outside, as small as its callers."""

from soorma_ai.features.human_tasks.ports import People
from soorma_ai.features.knowledge.ports import Memos
from soorma_ai.features.upkeep.ports import Upkeep
from soorma_ai.kernel.ports.bus import Bus, Clock, Neighbours
from soorma_ai.kernel.ports.embedding import Embedder
from soorma_ai.kernel.ports.identity import Audit, Authenticator, Keys
from soorma_ai.kernel.ports.inlet import Inlet, Post
from soorma_ai.kernel.ports.model import Message, ModelAnswer, ModelQuestion, ModelSettings, Prompt, Prompts, Reasoner
from soorma_ai.kernel.ports.queue import Hands, Queue
from soorma_ai.kernel.ports.registry import Registry
from soorma_ai.kernel.ports.rows import (
    LONGEST_RUN,
    MOST_LOANS,
    AgentRow,
    AuditRow,
    Borrower,
    Brought,
    DeadLetterRow,
    Delivery,
    EventPage,
    Forgotten,
    Note,
    PartRows,
    Place,
    PlanFilter,
    Pruned,
    Settlement,
    StoredEvent,
    StoredPlan,
    StoredPlans,
    Swept,
    WantedPart,
    Work,
)
from soorma_ai.kernel.ports.store import DeadLetters, EventLog, Memory, Plans, Store

__all__ = [
    "LONGEST_RUN",
    "MOST_LOANS",
    "AgentRow",
    "Audit",
    "AuditRow",
    "Authenticator",
    "Borrower",
    "Brought",
    "Bus",
    "Clock",
    "DeadLetterRow",
    "DeadLetters",
    "Delivery",
    "Embedder",
    "EventLog",
    "EventPage",
    "Forgotten",
    "Hands",
    "Inlet",
    "Keys",
    "Memory",
    "Memos",
    "Message",
    "ModelAnswer",
    "ModelQuestion",
    "ModelSettings",
    "Neighbours",
    "Note",
    "PartRows",
    "People",
    "Place",
    "PlanFilter",
    "Plans",
    "Post",
    "Prompt",
    "Prompts",
    "Pruned",
    "Queue",
    "Reasoner",
    "Registry",
    "Settlement",
    "Store",
    "StoredEvent",
    "StoredPlan",
    "StoredPlans",
    "Swept",
    "Upkeep",
    "WantedPart",
    "Work",
]
