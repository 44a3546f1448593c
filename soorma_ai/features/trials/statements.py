"""Statements for calls of models in trials."""

from soorma_ai.features.trials.records import TrialCall
from soorma_ai.kernel.sql.codec import Codec, add_row, epoch
from soorma_ai.kernel.sql.connection import Connection, Reader

_CALL = Codec(TrialCall)

OLD = (
    """
    DELETE FROM trial_call WHERE call_id IN (
        SELECT call_id FROM trial_call WHERE tenant = :tenant AND at < :before ORDER BY at LIMIT :limit
    )
    """,
)
SOME_OF_PERSON = (
    """
    DELETE FROM trial_call WHERE call_id IN (
        SELECT call_id FROM trial_call WHERE tenant = :tenant AND user_id = :user LIMIT :limit
    )
    """,
)


def find_calls(db: Reader, tenant_id: str, question: str, model: str) -> list[TrialCall]:
    query = "SELECT body FROM trial_call WHERE tenant = ? AND question = ? AND model = ? ORDER BY at, call_id"
    return [_CALL.record(body) for (body,) in db.execute(query, (tenant_id, question, model)).fetchall()]


def open_call(db: Connection, call: TrialCall) -> None:
    add_row(
        db,
        "trial_call",
        call_id=call.call_id,
        tenant=call.tenant_id,
        user_id=call.user_id,
        question=call.question,
        model=call.model,
        at=epoch(call.at),
        body=_CALL.text(call),
    )


def close_call(db: Connection, call: TrialCall) -> None:
    query = "UPDATE trial_call SET body = ? WHERE call_id = ? AND tenant = ?"
    db.execute(query, (_CALL.text(call), call.call_id, call.tenant_id))
