"""Plans and backlogs as lists show them. Each statement looks at so many rows at most, however many there are."""

from collections.abc import Mapping, Sequence

from soorma_ai.features.tracking.ports import PlanFilter, StoredPlan, StoredPlans
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.sql.codec import PLAN
from soorma_ai.kernel.sql.connection import Reader
from soorma_ai.kernel.sql.tables import budget, expectations

MOST_LOOKED_AT = 5_000
_LAST_PLACE = 2**62

# Rows that one index keeps together, in its order.
_EXTENT = """
    SELECT count(*), min(seq) FROM (
        SELECT seq FROM plan WHERE {index} AND seq < :before ORDER BY seq DESC LIMIT :most
    )
"""
_SPENT = ", ".join(f"coalesce({one}, {'0.0' if one.endswith('_usd') else 0})" for one in budget.COLUMNS.split(", "))
_PAGE = """
    SELECT seq, plan.body, {spent}
    FROM plan LEFT JOIN budget USING (root_plan_id)
    WHERE {index} AND seq < :before AND seq >= :last {of} {search}
    ORDER BY seq DESC LIMIT :limit
"""
_SEARCH = """
    AND (instr(lower(plan_id), :search) > 0 OR instr(lower(agent), :search) > 0 OR instr(lower(user_id), :search) > 0
        OR instr(lower(iif(json_valid(rest), json_extract(rest, '$.goal_event'), '')), :search) > 0)
"""
_AWAITED = """
    SELECT expectation.body, status, closed_at, met_by, answer FROM expectation
    WHERE plan_id = ? AND status = 'open' ORDER BY opened_at, id LIMIT ?
"""
# By the index expectation_open_tenant, from its end.
_OPEN_REQUESTS = """
    SELECT expectation.body, status, closed_at, met_by, answer FROM expectation
    WHERE status = 'open' AND tenant = :tenant AND kind = 'client'
        AND (CAST(:user AS TEXT) IS NULL OR user_id = :user)
        {beyond}
    ORDER BY opened_at DESC, id DESC LIMIT :limit
"""
# Apart, so that the index leads to the place.
_BEYOND = "AND (opened_at, id) < (SELECT opened_at, id FROM expectation WHERE id = :before AND tenant = :tenant)"


def plan_page(
    db: Reader, tenant_id: str, user_id: str | None, wanted: PlanFilter, before: int, limit: int
) -> StoredPlans:
    """Each status is looked through by itself, since the index keeps each in order."""
    values: dict[str, object] = {
        "tenant": tenant_id,
        "user": user_id,
        "session": wanted.session_id,
        "search": wanted.search.lower(),
        "before": before or _LAST_PLACE,
        "most": MOST_LOOKED_AT,
        "limit": limit,
    }
    found = [_page(db, wanted, one, user_id, values) for one in wanted.statuses or (None,)]
    # What one of them has not looked at yet may belong before what another has found.
    floor = max((part.before for part in found if not part.is_end), default=0)
    rows = sorted((row for part in found for row in part.rows), key=lambda row: -row.seq)
    shown = [row for row in rows if row.seq >= floor][:limit]
    is_end = all(part.is_end for part in found) and len(shown) == len(rows)
    last = shown[-1].seq if len(shown) == limit else floor
    return StoredPlans(tuple(shown), 0 if is_end else last, is_end)


def _page(
    db: Reader, wanted: PlanFilter, status: PlanStatus | None, user_id: str | None, values: Mapping[str, object]
) -> StoredPlans:
    values = {**values, "status": None if status is None else str(status)}
    index, of = _conditions(user_id, wanted.session_id, status)
    looked, last = db.execute(_EXTENT.format(index=index), values).fetchone()
    page = _PAGE.format(spent=_SPENT, index=index, of=of, search=_SEARCH if wanted.search else "")
    found = db.execute(page, {**values, "last": last or 0}).fetchall()
    rows = tuple(StoredPlan(seq, PLAN.record(body), budget.read_amounts(spent)) for seq, body, *spent in found)
    if len(rows) == values["limit"]:
        return StoredPlans(rows, rows[-1].seq, is_end=False)
    return StoredPlans(rows, last or 0, is_end=looked < MOST_LOOKED_AT)


def _conditions(user_id: str | None, session_id: str | None, status: PlanStatus | None) -> tuple[str, str]:
    """Return the conditions for the narrowest index, and the other conditions on its rows."""
    by = {"session_id = :session": session_id, "user_id = :user": user_id, "status = :status": status}
    given = [condition for condition, value in by.items() if value is not None]
    if not given:
        return "tenant = :tenant", ""
    first, *rest = given
    if first.startswith("status"):
        return first, "AND +tenant = :tenant"
    return f"tenant = :tenant AND {first}", "".join(f"AND +{condition} " for condition in rest)


def first_awaited(db: Reader, plan_ids: Sequence[str], most: int) -> list[Expectation]:
    found = (row for plan_id in plan_ids for row in db.execute(_AWAITED, (plan_id, most)).fetchall())
    return [expectations.record(row) for row in found]


def open_requests(
    db: Reader, tenant_id: str, user_id: str | None, limit: int, before: str | None = None
) -> list[Expectation]:
    values = {"tenant": tenant_id, "user": user_id, "limit": limit, "before": before}
    statement = _OPEN_REQUESTS.format(beyond="" if before is None else _BEYOND)
    found = db.execute(statement, values).fetchall()
    return [expectations.record(row) for row in found]
