"""Statements of figures of plans: counts by state, and costs of calls by their time. Each looks at so many rows at
most, however many there are."""

from datetime import UTC, datetime

from soorma_ai.features.tracking.ports import ActivePlans, CallCost, CallCosts
from soorma_ai.kernel.sql.codec import PLAN, epoch
from soorma_ai.kernel.sql.connection import Reader

# To the letter as the index plan_open_agent has it.
_IS_ACTIVE = "status NOT IN ('completed', 'failed', 'cancelled')"
_ACTIVE = f"""
    SELECT count(*), coalesce(sum(waits), 0), min(seq) FROM (
        SELECT seq, CASE
            WHEN status = 'paused' THEN 1
            WHEN json_valid(rest) AND json_extract(rest, '$.blocked') IS NOT NULL THEN 1
            WHEN EXISTS (
                SELECT 1 FROM expectation WHERE expectation.plan_id = plan.plan_id
                    AND expectation.status = 'open' AND expectation.kind IN ('wait', 'gate', 'doubt')
            ) THEN 1
            ELSE 0
        END AS waits
        FROM plan WHERE {_IS_ACTIVE} AND tenant = :tenant {{of_user}} LIMIT :most
    )
"""
# By the index plan_ended.
_FAILED = """
    SELECT count(*) FROM (
        SELECT 1 FROM plan
        WHERE tenant = :tenant AND julianday(json_extract(rest, '$.updated_at')) >= :since
            AND status IN ('completed', 'failed', 'cancelled') AND plan_id = root_plan_id
            AND status = 'failed' {of_user} LIMIT :most
    )
"""
_NEWEST = "SELECT seq, plan_id AS of_plan FROM plan WHERE tenant = :tenant {of_user} ORDER BY seq DESC LIMIT :most"
_EDGE = f"SELECT count(*), min(seq) FROM ({_NEWEST})"
# The minute is that of UTC.
_CALLS = f"""
    SELECT minute, count(*), coalesce(sum(usd), 0.0), count(*) FILTER (WHERE usd IS NULL) FROM (
        SELECT substr(json_extract(journal.rest, '$.at'), 1, 16) AS minute,
            CAST(json_extract(journal.rest, '$.cost_usd') AS DOUBLE PRECISION) AS usd
        FROM ({_NEWEST}) CROSS JOIN journal ON journal.plan_id = of_plan
        WHERE json_valid(journal.rest)
    )
    WHERE minute >= :since GROUP BY minute ORDER BY minute
"""
_PLAN = "SELECT plan.body FROM plan WHERE seq = ?"
_SECONDS_A_DAY, _EPOCH_IN_DAYS = 86_400.0, 2_440_587.5


def count_active(db: Reader, tenant_id: str, user_id: str | None, most: int) -> ActivePlans:
    values = {"tenant": tenant_id, "user": user_id, "most": most}
    count, waiting, first = db.execute(_ACTIVE.format(of_user=_of(user_id)), values).fetchone()
    is_part = count == most
    oldest = None if is_part or first is None else PLAN.record(db.execute(_PLAN, (first,)).fetchone()[0])
    return ActivePlans(count - waiting, waiting, is_part, oldest)


def count_failed(db: Reader, tenant_id: str, user_id: str | None, since: datetime, most: int) -> int:
    days = epoch(since) / _SECONDS_A_DAY + _EPOCH_IN_DAYS
    values = {"tenant": tenant_id, "user": user_id, "since": days, "most": most}
    return db.execute(_FAILED.format(of_user=_of(user_id)), values).fetchone()[0]


def costs_of_calls(db: Reader, tenant_id: str, user_id: str | None, since: datetime, most: int) -> CallCosts:
    minute = since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M")
    values = {"tenant": tenant_id, "user": user_id, "since": minute, "most": most}
    count, edge = db.execute(_EDGE.format(of_user=_of(user_id)), values).fetchone()
    rows = db.execute(_CALLS.format(of_user=_of(user_id)), values).fetchall()
    is_whole = count < most or PLAN.record(db.execute(_PLAN, (edge,)).fetchone()[0]).created_at < since
    return CallCosts(tuple(CallCost(_moment(at), calls, usd, unpriced) for at, calls, usd, unpriced in rows), is_whole)


def _of(user_id: str | None) -> str:
    return "" if user_id is None else "AND user_id = :user"


def _moment(minute: str) -> datetime:
    return datetime.fromisoformat(minute).replace(tzinfo=UTC)
