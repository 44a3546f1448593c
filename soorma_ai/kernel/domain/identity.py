"""Identity of callers, as their tokens give it; API keys; entries of the audit log."""

from datetime import datetime, timedelta

from msgspec import Struct

from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.records import Record

# What somebody changed is known for as long as this, however early they prune.
AUDIT_KEPT = timedelta(days=90)


class AgentRights(Record, frozen=True):
    """Agent of a token, and the events open to it."""

    name: str
    takes: frozenset[str] = frozenset()
    makes: frozenset[str] = frozenset()


class TokenSources(Struct, frozen=True):
    """Origins of tokens: issuers of signed ones, and keys."""

    issuers: tuple[str, ...] = ()
    has_keys: bool = True


class Caller(Struct, frozen=True):
    """A person of a tenant with roles; `key_id` names the key, for limits and the audit."""

    person: Person
    agent: AgentRights | None = None
    key_id: str | None = None


class ApiKey(Record, frozen=True):
    """Stored key: `secret_hash` is the SHA-256 of its secret, in hexadecimal, and the secret is in no place."""

    key_id: str
    secret_hash: str
    tenant_id: str
    user_id: str
    made_at: datetime
    roles: frozenset[str] = frozenset()
    agent: AgentRights | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    def __post_init__(self) -> None:
        """Raise LocalProtocolError for a key without a person or agent, and for a moment without a time zone."""
        if not (self.tenant_id and self.user_id):
            raise LocalProtocolError("a key is somebody's of some tenant: give both names")
        if any(at is not None and at.tzinfo is None for at in (self.made_at, self.expires_at, self.revoked_at)):
            raise LocalProtocolError("the moments of a key have a time zone; give aware datetimes")

    def is_good(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    @property
    def caller(self) -> Caller:
        return Caller(Person(self.tenant_id, self.user_id, self.roles), self.agent, self.key_id)


class AuditEntry(Record, frozen=True):
    """Change from outside, made or refused. `what` is the id of its subject. `outcome` is 'done', the result of an
    answer, or the code of the error. `for_user` is the absent colleague of a substitute's change."""

    tenant_id: str
    user_id: str
    key_id: str | None
    call: str
    what: str
    at: datetime
    outcome: str
    for_user: str = ""
