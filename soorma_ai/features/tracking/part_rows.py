"""Rows of a part of a plan: as many as the part has, however long the plan is."""

from collections.abc import Sequence

from soorma_ai.features.tracking.ports import WantedPart
from soorma_ai.kernel.domain.decisions import Showing
from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.history import JournalEntry
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.values import compact
from soorma_ai.kernel.ports import PartRows
from soorma_ai.kernel.sql.codec import JOURNAL, SHOWING
from soorma_ai.kernel.sql.connection import Reader
from soorma_ai.kernel.sql.tables import events as log
from soorma_ai.kernel.sql.tables import expectations

_LAST_PLACE = 2**62

_EXTENT = """
    SELECT min(seq), max(seq) FROM journal WHERE agent = ? AND cause_id IN (SELECT value FROM json_each(?))
"""
_DECISIONS = "SELECT journal.body FROM journal WHERE plan_id = ? AND seq >= ? AND seq <= ? ORDER BY seq LIMIT ?"
_BEFORE = "SELECT count(*) FROM journal WHERE plan_id = ? AND seq < ?"
_SHOWN = "SELECT digest, body FROM shown WHERE plan_id = ? AND digest IN (SELECT value FROM json_each(?))"
_PLACES = "SELECT id, seq FROM event WHERE id IN (SELECT value FROM json_each(?))"


def rows_of_part(db: Reader, plan: PlanRecord, wanted: WantedPart) -> PartRows:
    before, decisions = _decisions(db, plan, wanted)
    still_open = expectations.of_plan_or_tenant(db, plan_id=plan.plan_id)
    known = {one.id: one for one in (*expectations.find_all(db, wanted.expectations), *still_open)}
    return PartRows(
        decisions=tuple(decisions),
        decisions_before=before,
        shown=_read_showings(db, plan.plan_id, [entry.shown for entry in decisions]),
        expectations=tuple(sorted(known.values(), key=lambda one: (one.opened_at, one.id))),
        events=tuple(_events(db, plan, wanted)),
    )


def _decisions(db: Reader, plan: PlanRecord, wanted: WantedPart) -> tuple[int, list[JournalEntry]]:
    """Return the decisions of the part, and the number of those before them. The choices of others meanwhile are among
    them."""
    first, last = db.execute(_EXTENT, (plan.agent, compact([*wanted.causes]))).fetchone()
    first, last = 0 if wanted.is_first else first, _LAST_PLACE if wanted.is_last else last
    if first is None or last is None:
        return 0, []
    found = db.execute(_DECISIONS, (plan.plan_id, first, last, wanted.most)).fetchall()
    (before,) = db.execute(_BEFORE, (plan.plan_id, first)).fetchone()
    return before, [JOURNAL.record(body) for (body,) in found]


def _read_showings(db: Reader, plan_id: str, digests: Sequence[str]) -> dict[str, Showing]:
    found = db.execute(_SHOWN, (plan_id, compact([*dict.fromkeys(digests)]))).fetchall()
    return {digest: SHOWING.record(body) for digest, body in found}


def _events(db: Reader, plan: PlanRecord, wanted: WantedPart) -> list[EventEnvelope]:
    until = [wanted.until] if wanted.until else []
    places = dict(db.execute(_PLACES, (compact([*wanted.causes, *until]),)).fetchall())
    first = min((places[cause] for cause in wanted.causes if cause in places), default=None)
    if first is None:
        return []
    last = places.get(wanted.until or "", _LAST_PLACE)
    tenant_id, root = plan.lineage.tenant_id, plan.root_plan_id
    rows = log.events(db, after=first - 1, tenant_id=tenant_id, root_plan_id=root, limit=wanted.most)
    return [row.event for row in rows if row.seq <= last]
