"""Authentication of callers, their keys, and the audit log."""

from datetime import datetime
from typing import Protocol, runtime_checkable

from soorma_ai.kernel.domain.identity import ApiKey, AuditEntry, Caller, TokenSources
from soorma_ai.kernel.ports.part_keys import StoreKey
from soorma_ai.kernel.ports.rows import AuditRow


class Authenticator(Protocol):
    async def authenticate(self, token: str) -> Caller:
        """Return the caller of a bearer token. Raise Unauthenticated for an unknown, expired or revoked one."""
        ...


@runtime_checkable
class SourcedAuthenticator(Protocol):
    """Authenticator with known origins of its tokens; the tokens of any other count as keys."""

    @property
    def token_sources(self) -> TokenSources: ...


class Keys(Protocol):
    async def add(self, key: ApiKey) -> None:
        """Add a key. Raise LocalProtocolError for a known id."""
        ...

    async def find(self, key_id: str) -> ApiKey | None:
        """Return a key, revoked and expired ones too. An earlier revocation is in the answer."""
        ...

    async def ls(self, tenant_id: str, limit: int) -> list[ApiKey]:
        """The newest first."""
        ...

    async def revoke(self, key_id: str, now: datetime) -> bool:
        """End a key. False for a revoked one; its first revocation stands. Raise NotFound."""
        ...


KEYS: StoreKey[Keys] = StoreKey("keys")


class Audit(Protocol):
    """Changes of callers from outside; `Upkeep.prune` removes old rows, older than AUDIT_KEPT."""

    async def record(self, entry: AuditEntry) -> None: ...

    async def entries(self, tenant_id: str, limit: int, *, before: int | None = None) -> list[AuditRow]:
        """The newest first, those before this `seq`."""
        ...
