"""Extension: working memory of plans and sessions, for programs outside."""

from soorma_ai.features.plan_memory.ports import FEATURE, PLAN_MEMORY
from soorma_ai.features.plan_memory.store import SqlPlanMemory
from soorma_ai.kernel.extension import Extension
from soorma_ai.kernel.sql.storage import Storage

EXTENSION = Extension(name=FEATURE, storage=Storage(parts={PLAN_MEMORY: SqlPlanMemory}))
