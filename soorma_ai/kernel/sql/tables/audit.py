"""Audit log: changes made by callers from outside."""

from soorma_ai.kernel.domain.identity import AuditEntry
from soorma_ai.kernel.ports import AuditRow
from soorma_ai.kernel.sql.codec import Codec, add_row, epoch
from soorma_ai.kernel.sql.connection import Reader

_ENTRY = Codec(AuditEntry)


def record(db: Reader, entry: AuditEntry) -> None:
    add_row(db, "audit", tenant=entry.tenant_id, at=epoch(entry.at), body=_ENTRY.text(entry))


def entries(db: Reader, tenant_id: str, limit: int, *, before: int | None = None) -> list[AuditRow]:
    found = db.execute(
        "SELECT seq, body FROM audit WHERE tenant = ? AND seq < ? ORDER BY seq DESC LIMIT ?",
        (tenant_id, 2**63 - 1 if before is None else before, limit),
    ).fetchall()
    return [AuditRow(seq, _ENTRY.record(body)) for seq, body in found]
