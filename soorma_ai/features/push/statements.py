"""Statements for pushes."""

from datetime import datetime

from soorma_ai.errors import LocalProtocolError
from soorma_ai.features.push.ports import MOST_OF_TASK
from soorma_ai.features.push.records import TaskPush
from soorma_ai.kernel.sql.codec import FAR_AWAY, Codec, add_row, epoch
from soorma_ai.kernel.sql.connection import Connection, Reader

_PUSH = Codec(TaskPush)
_THIS = "tenant = ? AND user_id = ? AND task_id = ? AND push_id = ?"

OF_PERSON = ("DELETE FROM task_push WHERE tenant = :tenant AND user_id = :user",)
# A push of an open task is due again and again.
OLD = (
    f"""
    DELETE FROM task_push WHERE (tenant, user_id, task_id, push_id) IN (
        SELECT tenant, user_id, task_id, push_id FROM task_push
        WHERE tenant = :tenant AND at < :before AND due >= {FAR_AWAY} LIMIT :limit
    )
    """,
)


def keep_push(db: Connection, push: TaskPush) -> TaskPush:
    kept = pushes_of(db, push.tenant_id, push.user_id, push.task_id)
    before = next((one for one in kept if one.push_id == push.push_id), None)
    if before is not None and before.receiver == push.receiver:
        return before
    if before is None and len(kept) >= MOST_OF_TASK:
        raise LocalProtocolError(f"the task has {MOST_OF_TASK} push notification configs already: delete one of them")
    add_row(
        db,
        "task_push",
        "ON CONFLICT (tenant, user_id, task_id, push_id) DO UPDATE SET gateway = excluded.gateway, "
        "due = excluded.due, fence = task_push.fence + 1, at = excluded.at, body = excluded.body",
        tenant=push.tenant_id,
        user_id=push.user_id,
        task_id=push.task_id,
        push_id=push.push_id,
        gateway=push.gateway,
        due=epoch(push.begun_at),
        fence=0,
        at=epoch(push.begun_at),
        body=_PUSH.text(push),
    )
    return push


def pushes_of(db: Reader, tenant_id: str, user_id: str, task_id: str) -> list[TaskPush]:
    query = "SELECT body FROM task_push WHERE tenant = ? AND user_id = ? AND task_id = ? ORDER BY push_id"
    return [_PUSH.record(body) for (body,) in db.execute(query, (tenant_id, user_id, task_id)).fetchall()]


def remove_push(db: Connection, tenant_id: str, user_id: str, task_id: str, push_id: str) -> bool:
    done = db.execute(f"DELETE FROM task_push WHERE {_THIS}", (tenant_id, user_id, task_id, push_id))
    return done.rowcount == 1


def due_pushes(db: Reader, gateway: str, now: datetime, limit: int) -> list[TaskPush]:
    query = "SELECT body FROM task_push WHERE gateway = ? AND due <= ? ORDER BY due LIMIT ?"
    return [_PUSH.record(body) for (body,) in db.execute(query, (gateway, epoch(now), limit)).fetchall()]


def claim_push(db: Connection, push: TaskPush, now: datetime, until: datetime) -> tuple[TaskPush, int] | None:
    query = f"UPDATE task_push SET due = ?, fence = fence + 1 WHERE {_THIS} AND due <= ? RETURNING body, fence"
    row = db.execute(query, (epoch(until), *_key_of(push), epoch(now))).fetchone()
    return None if row is None else (_PUSH.record(row[0]), int(row[1]))


def save_push(db: Connection, push: TaskPush, fence: int, due: datetime | None) -> bool:
    values = (FAR_AWAY if due is None else epoch(due), _PUSH.text(push), *_key_of(push), fence)
    return db.execute(f"UPDATE task_push SET due = ?, body = ? WHERE {_THIS} AND fence = ?", values).rowcount == 1


def _key_of(push: TaskPush) -> tuple[str, str, str, str]:
    return push.tenant_id, push.user_id, push.task_id, push.push_id
