"""Routes of API keys, for the owner of a store."""

from soorma_ai.api.operation import operations
from soorma_ai.api.server.app_state import Call
from soorma_ai.features.identity.keys import CALLS, key_ring_of
from soorma_ai.kernel.domain.calls import CallTable
from soorma_ai.kernel.domain.identity import ApiKey

HANDLERS = CallTable()


@HANDLERS("POST /keys", CALLS["add"], "add_key", key="key_id")
async def add_key(call: Call, key: ApiKey) -> str:
    """Store an API key, with the hash of a secret that never comes here."""
    await key_ring_of(call.client).add(key)
    return key.key_id


OWNER_OPERATIONS = (*operations(HANDLERS, "owner"), *operations(CALLS, "owner", lambda call: key_ring_of(call.client)))
