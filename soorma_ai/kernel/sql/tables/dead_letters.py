"""Events that could be brought to no agent, kept as dead letters to nobody."""

from collections.abc import Mapping
from datetime import datetime

from soorma_ai.errors import RemoteProtocolError
from soorma_ai.kernel.domain.dead_letters import NOBODY
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.sql.codec import epoch
from soorma_ai.kernel.sql.connection import Reader
from soorma_ai.kernel.sql.tables import events as log

_SET_ASIDE = """
    INSERT INTO inbox (agent, event_seq, owner, priority, state, attempt, reason, ended_at)
    SELECT :nobody, seq, id, 0, 'dead', 1, :reason, coalesce(:at, time) FROM event WHERE seq = :event
    ON CONFLICT (agent, event_seq) DO UPDATE
    SET state = 'dead', attempt = inbox.attempt + 1, reason = excluded.reason, ended_at = excluded.ended_at
    WHERE inbox.state = 'dead' OR inbox.reason IS NULL
"""


def set_aside(db: Reader, event: EventEnvelope, reason: str, now: datetime) -> None:
    """Keep a letter; one that was discarded stays so."""
    _set_aside(db, log.keep(db, event), reason, now)


def set_unreadable_aside(db: Reader, rows: Mapping[int, RemoteProtocolError]) -> None:
    """Out of the outbox. They died when they were published, as far as anybody can tell."""
    for seq, error in rows.items():
        _set_aside(db, seq, log.unreadable(error, event_seq=seq), None)


def _set_aside(db: Reader, event_seq: int, reason: str, at: datetime | None) -> None:
    log.leave_outbox(db, event_seq)
    given = {"nobody": NOBODY, "event": event_seq, "reason": reason, "at": epoch(at) if at else None}
    db.execute(_SET_ASIDE, given)
