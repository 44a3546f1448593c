"""API keys of a tenant, which the trusted root gives and takes."""

from soorma_ai.errors import NotFound
from soorma_ai.kernel.domain.calls import Act, CallTable, Right
from soorma_ai.kernel.domain.identity import ApiKey, Caller
from soorma_ai.kernel.domain.parameters import Id
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.ports import KEYS
from soorma_ai.kernel.rules.authority import Owner, check
from soorma_ai.kernel.runtime.client.client import Client
from soorma_ai.kernel.runtime.handling.handling import Services, must_be_outside
from soorma_ai.kernel.runtime.views.audit import changing

CALLS = CallTable("keys.")


class KeyRing:
    """Every call raises Forbidden for anybody but the root."""

    def __init__(self, services: Services, person: Person, caller: Caller | None = None) -> None:
        self._services = services
        self._person = person
        self._caller = caller

    @CALLS.local(Act.GRANT)
    async def add(self, key: ApiKey) -> None:
        """Store a key of this tenant; `soorma_ai.adapters.tokens.new_key` makes one. Raise LocalProtocolError for an id
        that there is."""
        must_be_outside()
        async with changing(self._services, self._caller, "keys.add", key.key_id) as change:
            self._check(CALLS["add"], key.tenant_id, f"no tenant {key.tenant_id!r} here")
            await change.store.part(KEYS).add(key)

    @CALLS.local(Act.GRANT)
    async def ls(self, *, limit: int = 50) -> list[ApiKey]:
        """Return the keys, revoked and expired ones too, the newest first."""
        self._check(CALLS["ls"], self._person.tenant_id)
        return await self._services.store.part(KEYS).ls(self._person.tenant_id, limit)

    @CALLS("POST /keys/{key_id}/revoke", Act.GRANT, "revoke_key", key="revoked")
    async def revoke(self, key_id: Id) -> bool:
        """End a key, from the next call on that comes with it. False when it was revoked before. Raise NotFound."""
        must_be_outside()
        key, tenant_id = await self._services.store.part(KEYS).find(key_id), self._person.tenant_id
        async with changing(self._services, self._caller, "keys.revoke", key_id) as change:
            self._check(CALLS["revoke"], tenant_id)
            # One of another tenant is as good as none, for whoever asks.
            if key is None or key.tenant_id != tenant_id:
                raise NotFound(f"there is no API key {key_id}")
            return await change.store.part(KEYS).revoke(key_id, self._services.clock.now())

    def _check(self, right: Right, tenant_id: str, missing: str = "") -> None:
        check(self._person, right, Owner(tenant_id), missing)


def key_ring_of(client: Client) -> KeyRing:
    """Return the calls of a client's person."""
    return KeyRing(client.services, client.person, client.caller)
