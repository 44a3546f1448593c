"""The sweep: it finds plans about to hang, and wakes them."""

import json
import logging
from collections.abc import Sequence
from datetime import datetime

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.ports import Swept
from soorma_ai.kernel.rules.arrival.endings import ARRIVES_WITHIN, set_going
from soorma_ai.kernel.sql.codec import PLAN
from soorma_ai.kernel.sql.connection import Connection, Reader
from soorma_ai.kernel.sql.tables import events as log
from soorma_ai.kernel.sql.tables import inbox, untaken

_LOG = logging.getLogger("soorma_ai.store")

# Plans that are looked at at once.
PAGE = 500
LIVE = ("pending", "running", "paused")

# Those of a page for which nothing is expected and in whose line is nothing, and the last of the page. Each is looked
# up by itself: for NOT EXISTS a server would read all that is open. Few have to be read as JSON.
_SUSPECTS = """
    SELECT seq, plan_id,
        (
            SELECT 1 FROM expectation WHERE expectation.plan_id = page.plan_id AND status = 'open' AND (
                instr(expectation.rest, '"branch_of"') = 0
                OR json_extract(expectation.rest, '$.branch_of') IS NULL
            ) LIMIT 1
        ) IS NULL
        AND (
            SELECT 1 FROM inbox WHERE owner = page.plan_id AND state IN ('queued', 'leased', 'in_doubt') LIMIT 1
        ) IS NULL
        AND (SELECT 1 FROM inbox WHERE owner = page.plan_id AND state = 'blocked' LIMIT 1) IS NULL
    FROM (SELECT seq, plan_id FROM plan WHERE status = :status AND seq > :after ORDER BY seq LIMIT :most) AS page
    ORDER BY seq
"""
# Asked again where it is written, with what is on its way.
_STRANDED = """
    SELECT plan.body FROM plan
    WHERE plan_id IN (SELECT value FROM json_each(?)) AND status IN ('pending', 'running', 'paused')
        AND NOT EXISTS (SELECT 1 FROM expectation WHERE expectation.plan_id = plan.plan_id AND status = 'open'
            AND json_extract(expectation.rest, '$.branch_of') IS NULL)
        AND NOT EXISTS (
            SELECT 1 FROM inbox WHERE owner = plan.plan_id AND state IN ('queued', 'leased', 'in_doubt')
        )
        AND NOT EXISTS (SELECT 1 FROM inbox WHERE owner = plan.plan_id AND state = 'blocked')
        AND NOT EXISTS (
            SELECT 1 FROM outbox JOIN event ON event.seq = outbox.event_seq WHERE event.plan_id = plan.plan_id
        )
"""


def tidy(db: Connection, now: datetime) -> Swept:
    untaken.drop_expired(db, now)
    db.features.tidy(db, now)
    return Swept(log.send_again(db, now - ARRIVES_WITHIN), inbox.unblock(db))


def plans_to_check(db: Reader, status: str, after: int) -> tuple[list[str], int | None]:
    """Read some plans of a status behind this place; return those with nothing to come, and the place to continue
    behind, None at the end. A plan's own deadline does not count: it may be days away."""
    page = db.execute(_SUSPECTS, {"status": status, "after": after, "most": PAGE}).fetchall()
    found = [plan_id for _, plan_id, is_suspect in page if is_suspect]
    return found, page[-1][0] if len(page) == PAGE else None


def set_stranded_going(db: Connection, now: datetime, plan_ids: Sequence[str]) -> list[str]:
    """Return which of these plans are stranded, and are set going."""
    rows = db.execute(_STRANDED, (json.dumps(list(plan_ids)),)).fetchall()
    stranded = [plan for (body,) in rows if (plan := _read(body)) is not None]
    for plan in stranded:
        log.publish_once(db, set_going(plan, now).event)
    return [plan.plan_id for plan in stranded]


def _read(body: str) -> PlanRecord | None:
    """Return the plan, or None if its row cannot be read, which holds up no other."""
    try:
        return PLAN.record(body)
    except ConfigError as error:
        _LOG.warning("a plan cannot be set going", extra={"reason": str(error)})
        return None
