"""Moments at which something is published."""

import json
from collections.abc import Sequence
from datetime import datetime

from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.domain.effects import Schedule
from soorma_ai.kernel.domain.expectations import ExpectationStatus
from soorma_ai.kernel.domain.values import compact
from soorma_ai.kernel.rules.arrival.endings import is_made_of_plan
from soorma_ai.kernel.sql.codec import FAR_AWAY, behind, epoch
from soorma_ai.kernel.sql.connection import Reader
from soorma_ai.kernel.sql.rests import text_of
from soorma_ai.kernel.sql.tables import expectations


def schedule(db: Reader, timer: Schedule) -> None:
    """Schedule a timer. The same id again moves the timer. Its guard must exist; if that is closed by now, there is no
    timer."""
    if timer.guards is not None:
        status = expectations.status_of(db, timer.guards)
        if status is None:
            raise LocalProtocolError(
                f"timer {timer.id} guards {timer.guards}, which is not expected; record the expectation first"
            )
        if status is not ExpectationStatus.OPEN:
            return
    # The tenant is named for row-level security.
    body = compact({"tenantid": timer.event.tenant_id}) if is_made_of_plan(timer) else text_of(timer.event)
    db.execute(
        "INSERT INTO timer (id, due, guards, body, series) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
        "due = excluded.due, guards = excluded.guards, body = excluded.body, series = excluded.series",
        (timer.id, epoch(timer.due), timer.guards, body, timer.series),
    )


def keep(db: Reader, beginning: str, timers: Sequence[Schedule]) -> None:
    """Make these the timers with ids of this beginning; an existing one stays as it is."""
    named = json.dumps([timer.id for timer in timers])
    db.execute(
        "DELETE FROM timer WHERE id >= ? AND id < ? AND id NOT IN (SELECT value FROM json_each(?))",
        (beginning, behind(beginning), named),
    )
    for timer in timers:
        if db.execute("SELECT 1 FROM timer WHERE id = ?", (timer.id,)).fetchone() is None:
            schedule(db, timer)


def unschedule(db: Reader, timer_id: str) -> bool:
    """Return False if there is none (any more)."""
    return db.execute("DELETE FROM timer WHERE id = ?", (timer_id,)).rowcount == 1


def put_off(db: Reader, guards: str, before: datetime, later: datetime | None) -> None:
    """Move the timer of a deadline, and none of a series; to None it stays, and is not due before it is moved again."""
    db.execute(
        "UPDATE timer SET due = ? WHERE guards = ? AND due IN (?, ?) AND series IS NULL",
        (epoch(later) if later else FAR_AWAY, guards, epoch(before), FAR_AWAY),
    )


def due(db: Reader, now: datetime, limit: int) -> list[tuple[str, str | None, str | None, bytes, float | None]]:
    """Return id, guard, series and event of the due ones, in that order; the moment of a timer whose event a plan's row
    makes."""
    query = (
        "SELECT id, guards, series, CAST(body AS BLOB), CASE WHEN substr(body, 1, 11) = '{\"tenantid\"' THEN due END "
        "FROM timer WHERE due <= ? ORDER BY due, id LIMIT ?"
    )
    return db.execute(query, (epoch(now), limit)).fetchall()


def plan_columns(db: Reader, plan_id: str) -> tuple[str, str, str, str] | None:
    """Return tenant, user, root plan and goal by the columns, also of a damaged row."""
    query = "SELECT tenant, user_id, root_plan_id, goal_id FROM plan WHERE plan_id = ?"
    return db.execute(query, (plan_id,)).fetchone()


def is_overtaken(db: Reader, guards: str | None, series: str, now: datetime) -> bool:
    """Tell whether a later one of its series, or the end of its guard, overtook it."""
    query = "SELECT 1 FROM timer WHERE guards = ? AND due <= ? AND coalesce(series, ?) = ?"
    return db.execute(query, (guards, epoch(now), series, series)).fetchone() is not None
