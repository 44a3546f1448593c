"""Statements about mailboxes, which are inboxes of other stores."""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta

from soorma_ai.kernel.domain.stores import MAILBOX
from soorma_ai.kernel.ports import Delivery
from soorma_ai.kernel.sql.codec import behind, epoch
from soorma_ai.kernel.sql.connection import Connection, Reader
from soorma_ai.kernel.sql.database import StorePart, reading, writing
from soorma_ai.kernel.sql.tables import inbox
from soorma_ai.kernel.sql.tenant_scope import HOUSE

_MAIL = f"""{inbox.CLAIM}
    WHERE inbox.agent = ? AND inbox.state IN ('queued', 'leased') AND {inbox.NO_SUSPECT} AND inbox.ready_at <= ?
        AND inbox.attempt BETWEEN ? AND ?
    ORDER BY inbox.priority, inbox.seq LIMIT ?
"""
_MOST_POSTS = 2**31 - 1

# CROSS: the events are looked up first, and not all that waits in the mailbox.
_NAMED = f"""
    {inbox.CLAIM.replace("FROM inbox JOIN event ON", "FROM event CROSS JOIN inbox ON")}
    WHERE event.id IN (SELECT value FROM json_each(?)) AND event.tenant = ? AND inbox.agent = ?
        AND inbox.state IN ('queued', 'leased')
"""


def mailboxes(db: Reader) -> list[str]:
    query = "SELECT DISTINCT agent FROM inbox WHERE agent >= ? AND agent < ? AND state IN ('queued', 'leased')"
    return sorted(name for (name,) in db.execute(query, (MAILBOX, behind(MAILBOX))).fetchall())


def claim_mail(db: Connection, mailbox: str, now: datetime, lease: timedelta, fresh: int, again: int) -> list[Delivery]:
    # What was never sent is not put off, which the index tells without the rows.
    taken = inbox.take(db, _MAIL, (mailbox, 0.0, 0, 0, fresh), now, lease)
    if again:
        taken += inbox.take(db, _MAIL, (mailbox, epoch(now), 1, _MOST_POSTS, again), now, lease)
    return taken


def claim_named(
    db: Connection, mailbox: str, tenant_id: str, event_ids: Sequence[str], now: datetime, lease: timedelta
) -> list[Delivery]:
    return inbox.take(db, _NAMED, (json.dumps(list(event_ids)), tenant_id, mailbox), now, lease)


class SqlMail(StorePart):
    mailboxes = reading(mailboxes, HOUSE)
    claim_mail = writing(claim_mail, HOUSE)
    claim_named = writing(claim_named, HOUSE)
