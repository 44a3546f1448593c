"""Routes of the inbox."""

from soorma_ai.api.operation import operations
from soorma_ai.api.server.app_state import Call
from soorma_ai.features.human_tasks.link_tokens import Links
from soorma_ai.features.human_tasks.service import CALLS, Inbox, inbox_of


def _inbox(call: Call) -> Inbox:
    """Return the inbox of a request, with the links of its server."""
    return inbox_of(call.client, call.surroundings.find(Links))


OPERATIONS = operations(CALLS, "inbox", _inbox)
