"""The progress of plans. It is read only: agents report by events."""

from soorma_ai.api.operation import operations
from soorma_ai.kernel.runtime.views.tracker import CALLS

OPERATIONS = operations(CALLS, "tracker", lambda call: call.client.tracker)
