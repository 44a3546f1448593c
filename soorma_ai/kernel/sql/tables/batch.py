"""Deliveries that stand in line behind one in hand, and may be handled with it: its lease covers them."""

from collections.abc import Sequence
from datetime import datetime

from soorma_ai.errors import RemoteProtocolError
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.ports import Delivery
from soorma_ai.kernel.sql.codec import epoch
from soorma_ai.kernel.sql.connection import Reader
from soorma_ai.kernel.sql.tables.inbox import COPIES, lease_lost, seqs

BEHIND = f"""
    SELECT inbox.seq, inbox.fence, CAST(event.body AS BLOB), {COPIES}
    FROM inbox JOIN event ON event.seq = inbox.event_seq
    WHERE inbox.agent = ? AND inbox.owner = ? AND inbox.state = 'blocked' ORDER BY inbox.seq LIMIT ?
"""

_END = """
    UPDATE inbox SET state = 'done', ended_at = ?, attempt = attempt + 1, fence = fence + 1
    WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) AND state = 'blocked' AND fence = 0
"""

_NOTE = """
    UPDATE inbox SET fence = fence + 1
    WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) AND state = 'blocked'
"""


def behind(db: Reader, delivery: Delivery, limit: int) -> list[Delivery]:
    found: list[Delivery] = []
    for seq, fence, body, copies in db.execute(BEHIND, (delivery.agent, delivery.owner, limit)).fetchall():
        try:
            event = EventEnvelope.from_json(body)
        except RemoteProtocolError:
            return found  # it is set aside when it comes first
        if fence > 0:
            return found
        found.append(Delivery(seq, delivery.agent, delivery.owner, event, 1, 1, copies=copies))
    return found


def end(db: Reader, following: Sequence[Delivery], now: datetime) -> None:
    """End the deliveries handled with the head of their line. Raise LeaseLost when one of them stands behind it no
    more."""
    if following and db.execute(_END, (epoch(now), seqs(following))).rowcount != len(following):
        raise lease_lost(following[0])


def note_in_hand(db: Reader, in_vain: Sequence[Delivery]) -> None:
    """Note that these have been in hand, and are handled alone from now on."""
    if in_vain:
        db.execute(_NOTE, (seqs(in_vain),))
