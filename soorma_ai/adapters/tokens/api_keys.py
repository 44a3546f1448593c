"""API keys: made here, and looked up in the store."""

import secrets
from collections.abc import Collection
from datetime import datetime

from soorma_ai.api.tokens import KeyToken, admit, parse_token
from soorma_ai.errors import Unauthenticated
from soorma_ai.kernel.domain.identity import AgentRights, ApiKey, Caller
from soorma_ai.kernel.ports import KEYS
from soorma_ai.kernel.runtime.client.client import Client

ID_BYTES = 8
SECRET_BYTES = 32


def new_key(
    tenant_id: str,
    user_id: str,
    made_at: datetime,
    *,
    roles: Collection[str] = (),
    agent: AgentRights | None = None,
    expires_at: datetime | None = None,
) -> tuple[ApiKey, str]:
    """Return a new key for `platform.keys.add`, and its token, shown this once and stored in no place."""
    token = KeyToken(secrets.token_hex(ID_BYTES), secrets.token_urlsafe(SECRET_BYTES))
    key = ApiKey(
        key_id=token.key_id,
        secret_hash=token.secret_hash,
        tenant_id=tenant_id,
        user_id=user_id,
        made_at=made_at,
        roles=frozenset(roles),
        agent=agent,
        expires_at=expires_at,
    )
    return key, str(token)


class ApiKeys:
    """Authenticates by the keys in a platform's store. It keeps none of them, so that one which is revoked stops with
    the next call: a look-up is one row by its id."""

    def __init__(self, platform: Client) -> None:
        self._platform = platform

    async def authenticate(self, token: str) -> Caller:
        """Return the key's person. Raise Unauthenticated."""
        services, given = self._platform.services, parse_token(token)
        if given is None:
            raise Unauthenticated("this is no API key: one begins with 'soorma_'")
        return admit(given, await services.store.part(KEYS).find(given.key_id), services.clock.now())
