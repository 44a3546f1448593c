"""Parts of a handler's context that features bring: keys here, Protocols and records in the modules."""

from soorma_ai.context_parts.memos import HandlerMemos, Recall
from soorma_ai.context_parts.toolkit import Toolkit
from soorma_ai.context_parts.tracker import TrackerCalls
from soorma_ai.kernel.ports.part_keys import ContextKey

MEMOS: ContextKey[HandlerMemos] = ContextKey("long-term memory", feature="knowledge")
RECALL: ContextKey[Recall] = ContextKey("recall", feature="knowledge")
TOOLKIT: ContextKey[Toolkit] = ContextKey("toolkit", feature="retrieval")
TRACKER: ContextKey[TrackerCalls] = ContextKey("tracker", feature="tracking")
