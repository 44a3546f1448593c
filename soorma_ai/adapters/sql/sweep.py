"""The sweep: finds what would hang, and sets it going again."""

import logging
from datetime import datetime

from soorma_ai.adapters.sql.codec import PLAN
from soorma_ai.adapters.sql.connection import Connection
from soorma_ai.adapters.sql.tables import events as log
from soorma_ai.adapters.sql.tables import inbox, memos, untaken
from soorma_ai.core.arrival.endings import ARRIVES_WITHIN, set_going
from soorma_ai.domain.plans import PlanRecord
from soorma_ai.errors import ConfigError
from soorma_ai.ports import Swept

EXPIRED_AT_ONCE = 1_000

_LOG = logging.getLogger("soorma_ai.store")

STRANDED_PLANS = """
    SELECT plan.body FROM plan WHERE status IN ('pending', 'running', 'paused')
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


def sweep(db: Connection, now: datetime) -> Swept:
    """A plan's own deadline does not count as something that comes: it may be days away."""
    untaken.drop_expired(db, now)
    memos.drop_expired(db, now, EXPIRED_AT_ONCE)
    sent_again = log.send_again(db, now - ARRIVES_WITHIN)
    unblocked = inbox.unblock(db)
    stranded = [plan for (body,) in db.execute(STRANDED_PLANS).fetchall() if (plan := _read(body)) is not None]
    for plan in stranded:
        log.publish_once(db, set_going(plan, now).event)
    return Swept(sent_again, unblocked, tuple(plan.plan_id for plan in stranded))


def _read(body: str) -> PlanRecord | None:
    """One that cannot be read holds up no other."""
    try:
        return PLAN.record(body)
    except ConfigError as error:
        _LOG.warning("a plan cannot be set going", extra={"reason": str(error)})
        return None
