"""Routes of trials."""

from soorma_ai.api.operation import operations
from soorma_ai.api.server.app_state import Call
from soorma_ai.features.trials.cases.service import CALLS as CASE_CALLS
from soorma_ai.features.trials.cases.service import cases_of
from soorma_ai.features.trials.forks.service import CALLS as FORK_CALLS
from soorma_ai.features.trials.forks.service import forks_of
from soorma_ai.features.trials.records import TrialCall
from soorma_ai.features.trials.retirement.service import CALLS as MODEL_CALLS
from soorma_ai.features.trials.retirement.service import models_of
from soorma_ai.features.trials.service import CALLS, TRY_MODEL, trials_of
from soorma_ai.kernel.domain.calls import CallTable

HANDLERS = CallTable()


@HANDLERS("POST /trial-calls/find", TRY_MODEL, "find_trial_calls", key="calls")
async def find_trial_calls(call: Call, question: str, model: str) -> list[TrialCall]:
    """Return the calls about a question."""
    client = call.client
    return [*await trials_of(client).trial_ledger.trial_calls(client.person.tenant_id, question, model)]


@HANDLERS("POST /trial-calls/open", TRY_MODEL, "open_trial_call", key="call_id")
async def open_trial_call(call: Call, trial_call: TrialCall) -> str:
    """Keep the reservation of a call."""
    await trials_of(call.client).trial_ledger.open_trial_call(trial_call)
    return trial_call.call_id


@HANDLERS("POST /trial-calls/close", TRY_MODEL, "close_trial_call", key="call_id")
async def close_trial_call(call: Call, trial_call: TrialCall) -> str:
    """Keep the cost and the answer of a call."""
    await trials_of(call.client).trial_ledger.close_trial_call(trial_call)
    return trial_call.call_id


OPERATIONS = (
    *operations(CALLS, "plans", lambda call: trials_of(call.client)),
    *operations(FORK_CALLS, "plans", lambda call: forks_of(call.client)),
    *operations(CASE_CALLS, "cases", lambda call: cases_of(call.client)),
    *operations(MODEL_CALLS, "models", lambda call: models_of(call.client)),
)
OWNER_OPERATIONS = operations(HANDLERS, "owner")
