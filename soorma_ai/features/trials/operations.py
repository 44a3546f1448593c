"""Routes of trials."""

from soorma_ai.api.operation import operations
from soorma_ai.features.trials.service import CALLS, trials_of

OPERATIONS = operations(CALLS, "plans", lambda call: trials_of(call.client))
