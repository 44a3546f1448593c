"""All operations over HTTP: those of the kernel, and those of each feature."""

from soorma_ai.api.server import routes
from soorma_ai.features.dead_letters import operations as dead_letters
from soorma_ai.features.human_tasks import operations as human_tasks
from soorma_ai.features.identity import operations as identity
from soorma_ai.features.knowledge import operations as knowledge
from soorma_ai.features.plan_memory import operations as plan_memory
from soorma_ai.features.remote import operations as remote
from soorma_ai.features.tracking import operations as tracking
from soorma_ai.features.trials import operations as trials
from soorma_ai.features.upkeep import operations as upkeep

OPERATIONS = (
    *routes.OPERATIONS,
    *tracking.OPERATIONS,
    *trials.OPERATIONS,
    *plan_memory.OPERATIONS,
    *dead_letters.OPERATIONS,
    *human_tasks.OPERATIONS,
    *knowledge.OPERATIONS,
    *remote.OPERATIONS,
)
# With those of the owner of a store.
OWNER_OPERATIONS = (*OPERATIONS, *upkeep.OWNER_OPERATIONS, *identity.OWNER_OPERATIONS, *trials.OWNER_OPERATIONS)
