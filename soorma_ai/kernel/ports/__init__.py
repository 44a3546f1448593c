"""The seams: what the shell needs from the outside, as small as its callers."""

from soorma_ai.kernel.ports.bus import Bus, Clock, Neighbours
from soorma_ai.kernel.ports.embedding import Embedder
from soorma_ai.kernel.ports.identity import KEYS, Audit, Authenticator, Keys
from soorma_ai.kernel.ports.inlet import Inlet, Post
from soorma_ai.kernel.ports.model import Message, ModelAnswer, ModelQuestion, ModelSettings, Prompt, Prompts, Reasoner
from soorma_ai.kernel.ports.people import COLLEAGUES, Colleagues
from soorma_ai.kernel.ports.queue import Hands, Queue
from soorma_ai.kernel.ports.registry import Registry
from soorma_ai.kernel.ports.rows import (
    LONGEST_RUN,
    AgentRow,
    AuditRow,
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
from soorma_ai.kernel.ports.store_key import StoreKey

__all__ = [
    "COLLEAGUES",
    "KEYS",
    "LONGEST_RUN",
    "AgentRow",
    "Audit",
    "AuditRow",
    "Authenticator",
    "Brought",
    "Bus",
    "Clock",
    "Colleagues",
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
    "Message",
    "ModelAnswer",
    "ModelQuestion",
    "ModelSettings",
    "Neighbours",
    "Note",
    "PartRows",
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
    "StoreKey",
    "StoredEvent",
    "StoredPlan",
    "StoredPlans",
    "Swept",
    "WantedPart",
    "Work",
]
