"""API keys."""

from datetime import datetime

from msgspec.structs import replace

from soorma_ai.errors import LocalProtocolError, NotFound
from soorma_ai.kernel.domain.identity import ApiKey
from soorma_ai.kernel.sql.codec import Codec, add_row, epoch, moment
from soorma_ai.kernel.sql.connection import Reader

_KEY = Codec(ApiKey)


def add_key(db: Reader, key: ApiKey) -> None:
    done = add_row(
        db,
        "api_key",
        "ON CONFLICT DO NOTHING",
        key_id=key.key_id,
        tenant=key.tenant_id,
        made_at=epoch(key.made_at),
        body=_KEY.text(key),
    )
    if done.rowcount == 0:
        raise LocalProtocolError(f"there is an API key {key.key_id} already: make another")


def find_key(db: Reader, key_id: str) -> ApiKey | None:
    row = db.execute("SELECT body, revoked_at FROM api_key WHERE key_id = ?", (key_id,)).fetchone()
    return _key(*row) if row else None


def keys(db: Reader, tenant_id: str, limit: int) -> list[ApiKey]:
    found = db.execute(
        "SELECT body, revoked_at FROM api_key WHERE tenant = ? ORDER BY made_at DESC, key_id DESC LIMIT ?",
        (tenant_id, limit),
    ).fetchall()
    return [_key(*row) for row in found]


def revoke_key(db: Reader, key_id: str, now: datetime) -> bool:
    changed = db.execute(
        "UPDATE api_key SET revoked_at = ? WHERE key_id = ? AND revoked_at IS NULL", (epoch(now), key_id)
    )
    if changed.rowcount == 0 and find_key(db, key_id) is None:
        raise NotFound(f"there is no API key {key_id}")
    return changed.rowcount == 1


def revoke_keys_of(db: Reader, tenant_id: str, user_id: str, now: datetime) -> int:
    """Revoke the keys of a user, and return how many."""
    done = db.execute(
        "UPDATE api_key SET revoked_at = ? WHERE tenant = ? AND json_extract(body, '$.user_id') = ? "
        "AND revoked_at IS NULL",
        (epoch(now), tenant_id, user_id),
    )
    return done.rowcount


def _key(body: str, revoked_at: float | None) -> ApiKey:
    return replace(_KEY.record(body), revoked_at=None if revoked_at is None else moment(revoked_at))
