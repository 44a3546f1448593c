"""Working memory, and sessions."""

import json
from typing import assert_never

from soorma_ai.errors import VersionConflict
from soorma_ai.kernel.domain import memory as domain
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.values import Json, compact
from soorma_ai.kernel.sql.codec import add_row, epoch, moment
from soorma_ai.kernel.sql.connection import Reader, Rows

_AT = "tenant = ? AND plan_id = ? AND key = ?"
_KIND = "coalesce(substr(body, 1, 1), '')"
# What is incremented, or told about when it cannot be; a list is long, and never read for that.
_SCALAR = "CASE WHEN substr(body, 1, 1) = '[' THEN '[]' ELSE coalesce(body, '0') END"
_SESSION = "SELECT session_id, plans, created_at, last_activity, user_id, name, metadata FROM session"


def recall(db: Reader, at: domain.MemoryKey) -> domain.StoredValue:
    row = db.execute(f"SELECT version, body FROM memory WHERE {_AT}", _place(at)).fetchone()
    if row is None or row[1] is None:
        return domain.StoredValue(row[0] if row else 0)
    value: Json = json.loads(row[1])
    if isinstance(value, list):
        found = db.execute(f"SELECT body FROM memory_item WHERE {_AT} ORDER BY ordinal", _place(at)).fetchall()
        value = [*value, *(json.loads(body) for (body,) in found)]
    return domain.StoredValue(row[0], exists=True, value=value)


def keys(db: Reader, tenant_id: str, plan_id: str) -> list[str]:
    found = db.execute(
        "SELECT key FROM memory WHERE tenant = ? AND plan_id = ? AND body IS NOT NULL ORDER BY key",
        (tenant_id, plan_id),
    ).fetchall()
    return [key for (key,) in found]


def change(db: Reader, given: domain.MemoryChange) -> None:
    """Change a value. A deleted key keeps its row: a later value is never mistaken for the one read before it."""
    at = given.at
    found = db.execute(f"SELECT version, items, {_KIND}, {_SCALAR} FROM memory WHERE {_AT}", _place(at)).fetchone()
    version, items, kind, scalar = found or (0, 0, "", "0")
    if given.expected_version is not None and given.expected_version != version:
        told = f"{at.key!r} of plan {at.plan_id} has changed since it was read; read it again"
        raise VersionConflict(told, counts=False)
    match given:
        case domain.StoreMemory(value=value):
            _write(db, at, version + 1, compact(value))
        case domain.DropMemory():
            _write(db, at, version + 1, None)
        case domain.IncrementMemory(by=by):
            before: Json = [] if kind == "[" else json.loads(scalar)
            _write(db, at, version + 1, compact(domain.add(at, before, by)))
        case domain.AppendMemory(items=added):
            if kind == "":
                _write(db, at, version + 1, "[]")
                items = 0
            elif kind != "[":
                raise domain.not_a_list(at, json.loads(scalar))
            _append(db, at, items, added)
        case _:
            assert_never(given)


def _write(db: Reader, at: domain.MemoryKey, version: int, body: str | None) -> None:
    db.execute(f"DELETE FROM memory_item WHERE {_AT}", _place(at))
    db.execute(
        "INSERT INTO memory (tenant, plan_id, key, version, items, body) VALUES (?, ?, ?, ?, 0, ?) "
        "ON CONFLICT (tenant, plan_id, key) DO UPDATE SET version = excluded.version, items = 0, body = excluded.body",
        (*_place(at), version, body),
    )


def _append(db: Reader, at: domain.MemoryKey, ordinal: int, added: tuple[Json, ...]) -> None:
    db.executemany(
        "INSERT INTO memory_item (tenant, plan_id, key, ordinal, body) VALUES (?, ?, ?, ?, ?)",
        [(*_place(at), ordinal + n, compact(item)) for n, item in enumerate(added)],
    )
    db.execute(f"UPDATE memory SET version = version + 1, items = ? WHERE {_AT}", (ordinal + len(added), *_place(at)))


_FILL_IN = """
    name = coalesce(session.name, excluded.name),
    metadata = CASE WHEN session.metadata = '{}' THEN excluded.metadata ELSE session.metadata END
"""


def open_session(db: Reader, opened: domain.OpenSession) -> None:
    """Raise VersionConflict for one that is another user's by now."""
    done = _add_session(db, opened, f"UPDATE SET {_FILL_IN} WHERE session.user_id = excluded.user_id")
    if done.rowcount == 0:
        raise VersionConflict(f"session {opened.session.session_id!r} is another user's; look again whose")


def _add_session(db: Reader, opened: domain.OpenSession, where_there_is_one: str) -> Rows:
    one = opened.session
    return add_row(
        db,
        "session",
        f"ON CONFLICT (tenant, session_id) DO {where_there_is_one}",
        tenant=opened.tenant_id,
        session_id=one.session_id,
        user_id=one.user_id,
        name=one.name,
        metadata=compact(one.metadata),
        created_at=epoch(one.created_at),
        last_activity=epoch(one.last_activity),
        plans=0,
    )


def join_session(db: Reader, plan: PlanRecord) -> None:
    """The session that a new plan names, which may be new as well."""
    of = plan.lineage
    if of.session_id is not None:
        made = domain.SessionSummary(of.session_id, 0, plan.created_at, plan.updated_at, of.user_id, None, {})
        _add_session(db, domain.OpenSession(of.tenant_id, made), "NOTHING")
        active(db, plan, new_plans=1)


def active(db: Reader, plan: PlanRecord, new_plans: int = 0) -> None:
    db.execute(
        "UPDATE session SET plans = plans + :new, "
        "last_activity = CASE WHEN last_activity > :at THEN last_activity ELSE :at END "
        "WHERE tenant = :tenant AND session_id = :session",
        {
            "new": new_plans,
            "at": epoch(plan.updated_at),
            "tenant": plan.lineage.tenant_id,
            "session": plan.lineage.session_id,
        },
    )


def session(db: Reader, tenant_id: str, session_id: str) -> domain.SessionSummary | None:
    row = db.execute(f"{_SESSION} WHERE tenant = ? AND session_id = ?", (tenant_id, session_id)).fetchone()
    return _session(row) if row else None


def sessions(db: Reader, tenant_id: str, limit: int, *, user_id: str | None = None) -> list[domain.SessionSummary]:
    """Return a page of sessions. Those of one user are found by an index that no activity changes, and sorted; no
    statistics say that it is the better one."""
    own = "INDEXED BY session_user WHERE tenant = :tenant AND user_id = :user"
    where = own if user_id is not None else "WHERE tenant = :tenant"
    found = db.execute(
        f"{_SESSION} {where} ORDER BY last_activity DESC, session_id LIMIT :limit",
        {"tenant": tenant_id, "user": user_id, "limit": limit},
    ).fetchall()
    return [_session(row) for row in found]


def _session(row: tuple[str, int, float, float, str, str | None, str]) -> domain.SessionSummary:
    session_id, plans, created_at, last_activity, user_id, name, metadata = row
    return domain.SessionSummary(
        session_id, plans, moment(created_at), moment(last_activity), user_id, name, json.loads(metadata)
    )


def _place(at: domain.MemoryKey) -> tuple[str, str, str]:
    return at.tenant_id, at.plan_id, at.key
