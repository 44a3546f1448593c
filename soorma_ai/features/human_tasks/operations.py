"""Routes of the inbox."""

from soorma_ai.api.operation import operations
from soorma_ai.api.server.app_state import Call
from soorma_ai.features.human_tasks.link_tokens import Links
from soorma_ai.features.human_tasks.service import CALLS, Inbox


def inbox_of(call: Call) -> Inbox:
    client = call.client
    return Inbox(client.services, client.person, client.caller, call.surroundings.find(Links))


OPERATIONS = operations(CALLS, "inbox", inbox_of)
