"""Events kept for a wait that is not open yet."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime

from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.rules.arrival import early as rules
from soorma_ai.kernel.rules.arrival.effects import KeepEarly
from soorma_ai.kernel.rules.arrival.matching import EarlyEvent, names_of
from soorma_ai.kernel.sql.codec import epoch
from soorma_ai.kernel.sql.connection import Reader
from soorma_ai.kernel.sql.tables import events as log
from soorma_ai.kernel.sql.tables.expectations import open_waits

_KEPT = """
    SELECT count(*), coalesce(sum(length(event.rest)), 0) FROM event WHERE seq IN (
        SELECT event_seq FROM early
        WHERE tenant = :tenant AND event_type = :type AND key IN (SELECT value FROM json_each(:keys)) AND expires > :now
    )
"""

_CAME = """
    SELECT DISTINCT event_seq FROM early
    WHERE tenant = ? AND event_type IN (SELECT value FROM json_each(?))
        AND key IN (SELECT value FROM json_each(?)) AND expires > ?
    ORDER BY event_seq
"""


def find_early(db: Reader, wait: Expectation, now: datetime) -> Iterator[EarlyEvent]:
    """Events kept under its names, in order of arrival."""
    names = names_of(wait)
    if not names:
        return
    types, keys = (json.dumps(sorted(set(part))) for part in zip(*names, strict=True))
    for (seq,) in db.execute(_CAME, (wait.tenant_id, types, keys, epoch(now))).fetchall():
        event = log.readable(db, seq)
        if event is not None:
            yield EarlyEvent(seq, event)


def must_have_room(db: Reader, event: EventEnvelope, keys: Sequence[str], now: datetime) -> None:
    """Raise Overloaded for a new event where very many are kept for a wait under these keys that is not open yet."""
    if open_waits(db, event.tenant_id, event.type, keys):
        return
    named = {"tenant": event.tenant_id, "type": event.type, "keys": json.dumps(list(keys)), "now": epoch(now)}
    count, length = db.execute(_KEPT, named).fetchone()
    if rules.is_full(count, length) and not log.is_known(db, event.id):
        raise rules.refuse_early(event, keys[-1], count, length)


def keep(db: Reader, seq: int, kept: KeepEarly, now: datetime) -> None:
    drop_expired(db, now)
    db.executemany(
        "INSERT INTO early (tenant, event_type, key, event_seq, expires) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        [(kept.tenant_id, kept.stray.event_type, key, seq, epoch(kept.until)) for key in kept.keys],
    )


def forget(db: Reader, seq: int) -> None:
    db.execute("DELETE FROM early WHERE event_seq = ?", (seq,))


def drop_expired(db: Reader, now: datetime) -> None:
    db.execute("DELETE FROM early WHERE expires <= ?", (epoch(now),))
