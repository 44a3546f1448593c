"""Statements of the counts of a tenant. Each statement looks at so many rows at most, however many there are."""

from datetime import datetime

from soorma_ai.api.server.tenant_stats import AGES, TenantStats
from soorma_ai.kernel.domain.expectations import ExpectationKind
from soorma_ai.kernel.sql.codec import epoch, moment
from soorma_ai.kernel.sql.connection import Reader
from soorma_ai.kernel.sql.tables import inbox

# The list of kinds is said beside each, since an index of some rows serves only where its condition is said.
_QUESTIONS = """
    SELECT kind, CASE WHEN opened_at > :one THEN 0 WHEN opened_at > :two THEN 1 WHEN opened_at > :three THEN 2 ELSE 3
        END AS age, count(*)
    FROM ({asked}) AS asked GROUP BY kind, age
""".format(
    asked=" UNION ALL ".join(
        f"SELECT * FROM (SELECT kind, opened_at FROM expectation WHERE tenant = :tenant AND status = 'open' "
        f"AND kind = '{kind}' AND kind IN ('wait', 'gate', 'doubt') LIMIT :most) AS {kind}s"
        for kind in ("wait", "gate", "doubt")
    )
)
_DEAD = """
    SELECT count(*) FROM (SELECT event_seq FROM inbox WHERE state = 'dead' ORDER BY seq DESC LIMIT :most) AS dead
    CROSS JOIN event ON event.seq = event_seq WHERE tenant = :tenant
"""
_UNTAKEN = """
    SELECT count(*) FROM (
        SELECT expires FROM untaken WHERE is_over = 0 AND tenant = :tenant ORDER BY event_seq LIMIT :most
    ) AS waiting WHERE expires > :now
"""
_UNSENT = """
    SELECT count(*), min(time) FROM (SELECT event_seq FROM outbox ORDER BY event_seq LIMIT :most) AS leaving
    CROSS JOIN event ON event.seq = event_seq WHERE CAST(:tenant AS TEXT) IS NULL OR tenant = :tenant
"""


def tenant_stats(db: Reader, tenant_id: str, now: datetime, at_most: int) -> TenantStats:
    values: dict[str, object] = {"tenant": tenant_id, "now": epoch(now), "most": at_most}
    ages = dict(zip(("one", "two", "three"), (epoch(now - age) for age in AGES), strict=True))
    questions = db.execute(_QUESTIONS, {**values, **ages}).fetchall()
    (dead,), (untaken,) = db.execute(_DEAD, values).fetchone(), db.execute(_UNTAKEN, values).fetchone()
    unsent, since = unsent_events(db, tenant_id, at_most)
    return TenantStats(
        inbox.backlogs(db, tenant_id, at_most),
        {(ExpectationKind(kind), age): count for kind, age, count in questions},
        dead,
        untaken,
        unsent,
        since,
    )


def unsent_events(db: Reader, tenant_id: str | None, at_most: int) -> tuple[int, datetime | None]:
    """Return how many events no bus has brought yet, of a tenant or of all, and when the first of them was made."""
    count, since = db.execute(_UNSENT, {"tenant": tenant_id, "most": at_most}).fetchone()
    return count, None if since is None else moment(since)
