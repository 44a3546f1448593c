"""Statements for shadows."""

from soorma_ai.errors import LimitExceeded
from soorma_ai.features.trials.records import ModelTrial, TrialCall
from soorma_ai.features.trials.shadow.records import Outcome, Sample, ShadowCall, ShadowDay, ShadowReport
from soorma_ai.features.trials.statements import close_call, open_call
from soorma_ai.kernel.sql.codec import Codec, add_row, epoch
from soorma_ai.kernel.sql.connection import Connection, Reader
from soorma_ai.kernel.sql.database import StorePart, reading, writing

_TRIAL = Codec(ModelTrial)
MOST_DAYS = 7

OLD = (
    """
    DELETE FROM shadow WHERE decision_id IN (
        SELECT decision_id FROM shadow WHERE tenant = :tenant AND at < :before ORDER BY at LIMIT :limit
    )
    """,
    "DELETE FROM shadow_budget WHERE tenant = :tenant AND at < :before AND :limit > 0",
)
SOME_OF_PERSON = (
    """
    DELETE FROM shadow WHERE decision_id IN (
        SELECT decision_id FROM shadow WHERE tenant = :tenant AND user_id = :user LIMIT :limit
    )
    """,
)
_ADD = """
    INSERT INTO shadow_budget (tenant, planner, day, at, usd) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (tenant, planner, day) DO UPDATE SET usd = shadow_budget.usd + excluded.usd
"""


def open_shadow(db: Connection, opened: ShadowCall) -> bool:
    sample, call = opened.sample, opened.call
    if not _is_stored(db, sample):
        return False
    spent, usd, most = _spent(db, opened), call.usd or 0.0, sample.shadow.max_usd_a_day
    if spent + usd > most:
        raise LimitExceeded("max_usd_a_day", f"{spent:.4f} of {most} used, and a call may cost {usd:.4f}")
    if not _keep(db, sample, epoch(call.at), None):
        return False
    _add_cost(db, opened, usd)
    open_call(db, call)
    return True


def close_shadow(db: Connection, opened: ShadowCall, closed: TrialCall) -> None:
    _add_cost(db, opened, (closed.usd or 0.0) - (opened.call.usd or 0.0))
    close_call(db, closed)


def keep_outcome(db: Connection, outcome: Outcome) -> None:
    sample = outcome.sample
    if _is_stored(db, sample) and not _keep(db, sample, epoch(outcome.at), outcome.trial):
        query = "UPDATE shadow SET body = ? WHERE decision_id = ? AND tenant = ?"
        db.execute(query, (_TRIAL.text(outcome.trial), sample.decision_id, sample.tenant_id))


def find_report(db: Reader, tenant_id: str, planner: str, limit: int) -> ShadowReport:
    query = "SELECT body FROM shadow WHERE tenant = ? AND planner = ? ORDER BY at DESC, decision_id LIMIT ?"
    found = [body for (body,) in db.execute(query, (tenant_id, planner, limit)).fetchall()]
    days = db.execute(
        "SELECT day, usd FROM shadow_budget WHERE tenant = ? AND planner = ? ORDER BY day DESC LIMIT ?",
        (tenant_id, planner, MOST_DAYS),
    ).fetchall()
    trials = tuple(_TRIAL.record(body) for body in found if body is not None)
    return ShadowReport(planner, trials, len(found) - len(trials), tuple(ShadowDay(day, usd) for day, usd in days))


def _is_stored(db: Reader, sample: Sample) -> bool:
    query = "SELECT 1 FROM plan WHERE plan_id = ? AND tenant = ?"
    return db.execute(query, (sample.entry.plan_id, sample.tenant_id)).fetchone() is not None


def _keep(db: Connection, sample: Sample, at: float, trial: ModelTrial | None) -> bool:
    """Keep a decision; False for a kept one."""
    done = add_row(
        db,
        "shadow",
        "ON CONFLICT (decision_id) DO NOTHING",
        decision_id=sample.decision_id,
        tenant=sample.tenant_id,
        user_id=sample.user_id,
        planner=sample.planner,
        at=at,
        body=None if trial is None else _TRIAL.text(trial),
    )
    return done.rowcount == 1


def _spent(db: Reader, opened: ShadowCall) -> float:
    sample = opened.sample
    query = "SELECT usd FROM shadow_budget WHERE tenant = ? AND planner = ? AND day = ?"
    row = db.execute(query, (sample.tenant_id, sample.planner, opened.day)).fetchone()
    return float(row[0]) if row else 0.0


def _add_cost(db: Connection, opened: ShadowCall, usd: float) -> None:
    sample = opened.sample
    db.execute(_ADD, (sample.tenant_id, sample.planner, opened.day, epoch(opened.call.at), usd))


class SqlShadows(StorePart):
    open_shadow = writing(open_shadow)
    close_shadow = writing(close_shadow)
    keep_outcome = writing(keep_outcome)
    shadow_report = reading(find_report)
