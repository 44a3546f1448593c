"""Removal of old data: plan trees ended long ago, and old events outside of plans.

A tree goes whole or not at all. It stays while anything of it may still be delivered (an open delivery, a dead letter,
an event on its way or kept for a later wait), and while another plan needs its goal.
"""

import json
from collections.abc import Sequence
from datetime import UTC
from typing import Any, NamedTuple

from soorma_ai.errors import LocalProtocolError
from soorma_ai.features.upkeep.ports import AgeConditions
from soorma_ai.kernel.domain.identity import AUDIT_KEPT
from soorma_ai.kernel.domain.limits import DRAWN
from soorma_ai.kernel.ports import Pruned
from soorma_ai.kernel.sql.codec import epoch
from soorma_ai.kernel.sql.connection import PARTS_IN_USE, Reader

_TREES, _REQUESTS, _LOOSE = "trees", "requests", "loose"

_ROOTS = "(SELECT value FROM json_each(:roots))"
_LEDGERS = f"(SELECT value FROM json_each(:roots) UNION ALL SELECT '{DRAWN}' || value FROM json_each(:roots))"
_GOING = "(SELECT value FROM json_each(:going))"
_PLANS = f"(SELECT plan_id FROM plan WHERE root_plan_id IN {_ROOTS})"
_FINAL = "('completed', 'failed', 'cancelled')"
# To the letter as the index plan_ended has it.
_CHANGED = "julianday(json_extract(rest, '$.updated_at'))"

ENDED = f"""
    SELECT plan_id, {_CHANGED}, seq FROM plan
    WHERE tenant = :tenant AND status IN {_FINAL} AND plan_id = root_plan_id
        AND {_CHANGED} < julianday(:before_text) AND {_CHANGED} >= :since AND NOT ({_CHANGED} = :since AND seq <= :seq)
        AND status IN (SELECT value FROM json_each(:statuses))
    ORDER BY {_CHANGED}, seq LIMIT :limit
"""

_SAME_GOAL = """
    SELECT DISTINCT other.root_plan_id FROM plan
    JOIN event ON event.id = plan.goal_id JOIN inbox ON inbox.event_seq = event.seq
    JOIN plan AS other ON other.plan_id = inbox.owner AND other.goal_id = plan.goal_id
    WHERE plan.plan_id = :root
"""

_TENANTS = """
    WITH RECURSIVE known(tenant) AS (
        SELECT min(tenant) FROM event
        UNION ALL
        SELECT (SELECT min(event.tenant) FROM event WHERE event.tenant > known.tenant) FROM known
        WHERE known.tenant IS NOT NULL
    )
    SELECT tenant FROM known WHERE tenant IS NOT NULL
"""


def tenants(db: Reader) -> list[str]:
    """Return them by name, each found by one look into an index."""
    return [tenant for (tenant,) in db.execute(_TENANTS)]


def _may_come(event: str) -> str:
    """Too young, or not everywhere done: a row of the alias `event` that is still of use."""
    return f"""(
        {event}.time >= :before
        OR EXISTS (SELECT 1 FROM outbox WHERE outbox.event_seq = {event}.seq)
        OR EXISTS (SELECT 1 FROM untaken WHERE untaken.event_seq = {event}.seq AND is_over = 0)
        OR EXISTS (SELECT 1 FROM early WHERE early.event_seq = {event}.seq AND early.expires > :now)
        OR EXISTS (
            SELECT 1 FROM inbox
            WHERE inbox.event_seq = {event}.seq AND (inbox.state <> 'done' OR inbox.ended_at >= :before)
        )
    )"""


def _is_needed(event: str) -> str:
    """Tell whether a plan that stays needs it, which it began or woke, or a task that it began."""
    return f"""(
        EXISTS (SELECT 1 FROM task WHERE task.task_id = {event}.id) OR
        EXISTS (SELECT 1 FROM expectation AS gate WHERE gate.task_id = {event}.id AND gate.status = 'open') OR
        EXISTS (
            SELECT 1 FROM inbox JOIN plan ON plan.plan_id = inbox.owner
            WHERE inbox.event_seq = {event}.seq AND plan.root_plan_id NOT IN {_GOING}
        )
        OR EXISTS (
            SELECT 1 FROM expectation JOIN plan ON plan.plan_id = expectation.plan_id
            WHERE expectation.met_by = {event}.id AND plan.root_plan_id NOT IN {_GOING}
        )
    )"""


def _is_awaited(event: str) -> str:
    """Tell whether the client, or the store, that sent this request waits."""
    return f"""EXISTS (
        SELECT 1 FROM expectation WHERE expectation.id = {event}.id AND expectation.kind IN ('client', 'reply') AND (
            expectation.closed_at >= :before
            OR (
                expectation.status = 'open'
                AND coalesce(julianday(json_extract(expectation.rest, '$.deadline')) >= julianday(:before_text), true)
            )
        )
    )"""


_REQUEST_STAYS = f"({_may_come('request')} OR {_is_needed('request')} OR {_is_awaited('request')})"
_STAYS = f"""(
    {_may_come("event")} OR {_is_needed("event")} OR {_is_awaited("event")}
    OR EXISTS (
        SELECT 1 FROM expectation AS asked JOIN event AS request ON request.id = asked.id
        WHERE asked.met_by = event.id AND asked.kind = 'client' AND {_REQUEST_STAYS}
    )
)"""

LOOSE = f"""
    SELECT event.seq, event.time, {_STAYS} FROM event
    WHERE event.tenant = :tenant AND event.root_plan_id IS NULL
        AND event.time < :before AND event.time >= :since AND NOT (event.time = :since AND event.seq <= :seq)
    ORDER BY event.time, event.seq LIMIT :limit
"""

# Each finds a row where a tree has to stay.
LIVE = (
    f"""SELECT 1 FROM plan WHERE root_plan_id IN {_ROOTS} AND (
        status NOT IN {_FINAL} OR {_CHANGED} >= julianday(:before_text)
        OR (plan_id = root_plan_id AND status NOT IN (SELECT value FROM json_each(:statuses)))
    )""",
    f"SELECT 1 FROM expectation WHERE plan_id IN {_PLANS} AND status = 'open'",
    f"SELECT 1 FROM expectation WHERE root_plan_id IN {_ROOTS} AND status = 'open'",
    f"SELECT 1 FROM task WHERE root_plan_id IN {_ROOTS}",
    f"SELECT 1 FROM inbox WHERE owner IN {_PLANS} AND state IN ('queued', 'leased', 'in_doubt')",
    f"SELECT 1 FROM inbox WHERE owner IN {_PLANS} AND state = 'blocked'",
    f"""SELECT 1 FROM expectation
        JOIN event ON event.id = expectation.met_by
        JOIN inbox ON inbox.event_seq = event.seq AND inbox.owner = expectation.plan_id
        WHERE expectation.plan_id IN {_PLANS} AND inbox.state <> 'done'""",
    f"SELECT 1 FROM event WHERE root_plan_id IN {_ROOTS} AND {_may_come('event')}",
    f"""SELECT 1 FROM event WHERE id IN (SELECT goal_id FROM plan WHERE root_plan_id IN {_ROOTS})
        AND ({_may_come("event")} OR {_is_needed("event")} OR {_is_awaited("event")})""",
)

# The events of a tree: what carries its id, what began its plans, and what met their waits and is of no more use.
_OWN = f"SELECT seq FROM event WHERE root_plan_id IN {_ROOTS}"
_EVENTS = f"""
    {_OWN}
    UNION SELECT event.seq FROM plan JOIN event ON event.id = plan.goal_id WHERE plan.root_plan_id IN {_ROOTS}
    UNION SELECT event.seq FROM expectation JOIN event ON event.id = expectation.met_by
        WHERE expectation.plan_id IN {_PLANS} AND event.root_plan_id IS NULL AND NOT {_STAYS}
"""

_SIZE = f"""
    SELECT (SELECT count(*) FROM event WHERE root_plan_id IN {_ROOTS})
        + (SELECT count(*) FROM step WHERE plan_id IN {_PLANS})
        + (SELECT count(*) FROM journal WHERE plan_id IN {_PLANS})
        + (SELECT count(*) FROM expectation WHERE plan_id IN {_PLANS})
        + (SELECT count(*) FROM prompt_part WHERE plan_id IN {_PLANS})
"""

_FIRST = f"SELECT plan_id FROM plan WHERE plan_id IN {_ROOTS} ORDER BY {_CHANGED}, seq LIMIT 1"

# What grows with a plan, by its key.
_HISTORY = {"step": "plan_id, ordinal", "journal": "seq", "expectation": "id", "prompt_part": "plan_id, tenant, digest"}
REMOVE_PLANS = (
    f"DELETE FROM timer WHERE guards IN (SELECT id FROM expectation WHERE plan_id IN {_PLANS})",
    f"DELETE FROM wait_key WHERE expectation_id IN (SELECT id FROM expectation WHERE plan_id IN {_PLANS})",
    *(f"DELETE FROM {table} WHERE plan_id IN {_PLANS}" for table in (*_HISTORY, "shown", "cancellation", "plan_value")),
    *(f"DELETE FROM {table} WHERE tenant = :tenant AND plan_id IN {_PLANS}" for table in ("memory", "memory_item")),
    f"DELETE FROM budget WHERE root_plan_id IN {_LEDGERS}",
    f"DELETE FROM plan WHERE root_plan_id IN {_ROOTS}",
)
REMOVE_SOME = tuple(
    f"DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {table} WHERE plan_id IN {_PLANS} LIMIT :limit)"
    for table, key in _HISTORY.items()
)
# For states of these plans in the memory of other processes, while the plans are there.
MOVE_PLACES = f"UPDATE plan SET place = place + 1 WHERE root_plan_id IN {_ROOTS}"

_SEQS = "(SELECT CAST(value AS BIGINT) FROM json_each(:seqs))"
_IDS = f"(SELECT id FROM event WHERE seq IN {_SEQS})"
# Payers that go with an event: handlings outside of any plan, by their names, and plans that it never came to begin.
_PAYERS = f"""(
    SELECT inbox.agent || ':' || event.id FROM inbox JOIN event ON event.seq = inbox.event_seq
    WHERE inbox.event_seq IN {_SEQS}
    UNION ALL SELECT '{DRAWN}' || id FROM event WHERE seq IN {_SEQS}
    UNION ALL SELECT owner FROM inbox
    WHERE event_seq IN {_SEQS} AND NOT EXISTS (SELECT 1 FROM plan WHERE plan.plan_id = inbox.owner)
)"""
REMOVE_EVENTS = (
    *(f"DELETE FROM {table} WHERE plan_id IN {_PAYERS}" for table in ("journal", "shown", "prompt_part")),
    f"DELETE FROM budget WHERE root_plan_id IN {_PAYERS}",
    f"DELETE FROM inbox WHERE event_seq IN {_SEQS}",
    f"DELETE FROM early WHERE event_seq IN {_SEQS}",
    f"DELETE FROM untaken WHERE event_seq IN {_SEQS}",
    f"DELETE FROM stray WHERE event_id IN {_IDS}",
    f"DELETE FROM expectation WHERE id IN {_IDS} AND plan_id IS NULL",
    f"DELETE FROM expectation WHERE task_id IN {_IDS}",
    f"DELETE FROM event WHERE seq IN {_SEQS}",
)

_REMOVE_REQUESTS = """
    DELETE FROM expectation WHERE id IN (
        SELECT id FROM expectation
        WHERE status = 'open' AND kind = 'client' AND opened_at < :before AND tenant = :tenant
            AND julianday(json_extract(rest, '$.deadline')) < julianday(:before_text)
            AND NOT EXISTS (
                SELECT 1 FROM event WHERE event.id = expectation.id AND (
                    EXISTS (SELECT 1 FROM outbox WHERE outbox.event_seq = event.seq)
                    OR EXISTS (SELECT 1 FROM inbox WHERE inbox.event_seq = event.seq AND inbox.state <> 'done')
                    OR EXISTS (SELECT 1 FROM task WHERE task.task_id = event.id)
                )
            )
        LIMIT :limit
    )
"""

_REMOVE_GATES = """
    DELETE FROM expectation WHERE id IN (
        SELECT id FROM expectation
        WHERE kind = 'gate' AND plan_id IS NULL AND task_id IS NULL AND tenant = :tenant AND closed_at < :before
        LIMIT :limit
    )
"""


_REMOVE_AUDIT = """
    DELETE FROM audit WHERE seq IN (
        SELECT seq FROM audit WHERE tenant = :tenant AND at < :audit_before ORDER BY at LIMIT :limit
    )
"""


# What is in use is written again once a day.
_REMOVE_PARTS = """
    DELETE FROM prompt_part WHERE (plan_id, tenant, digest) IN (
        SELECT plan_id, tenant, digest FROM prompt_part
        WHERE plan_id = '' AND tenant = :tenant AND used_at < :parts_before LIMIT :limit
    )
"""


_REMOVE_OLD = (_REMOVE_REQUESTS, _REMOVE_GATES, _REMOVE_AUDIT, _REMOVE_PARTS)


class _PrunePosition(NamedTuple):
    """Place of a run: the next batch looks behind it (`since`, `seq`)."""

    stage: str
    since: float = -1e18
    seq: int = 0

    @classmethod
    def read(cls, text: str) -> "_PrunePosition":
        try:
            stage, since, seq = json.loads(text)
            return cls(str(stage), float(since), int(seq))
        except (ValueError, TypeError) as error:
            raise LocalProtocolError(f"{text!r} is no place to go on from; give `after` of the batch before") from error


def prune(
    db: Reader, old: AgeConditions, statements: Sequence[str], limit: int, after: str | None, *, dry_run: bool
) -> tuple[Pruned, bool]:
    """Return the sum of one batch, and whether it has written. `statements` remove old rows of features."""
    batch = _PruneBatch(db, old, () if dry_run else (*_REMOVE_OLD, *statements), limit, dry_run)
    place = _PrunePosition(_TREES) if after is None else _PrunePosition.read(after)
    stages = {_TREES: batch.trees, _REQUESTS: batch.requests}
    then = stages.get(place.stage, batch.loose)(place)
    return Pruned(batch.plans, batch.events, batch.kept, json.dumps(then) if then else None), batch.has_written


class _PruneBatch:
    def __init__(self, db: Reader, old: AgeConditions, statements: Sequence[str], limit: int, dry_run: bool) -> None:
        self._db = db
        self._limit = limit
        self._dry_run = dry_run
        self._old = statements
        self._values = {
            "tenant": old.tenant_id,
            "before": epoch(old.before),
            "before_text": old.before.astimezone(UTC).isoformat(),
            "statuses": json.dumps(list(old.statuses)),
            "now": epoch(old.now),
            "audit_before": epoch(min(old.before, old.now - AUDIT_KEPT)),
            "parts_before": epoch(old.before) - PARTS_IN_USE,
            "limit": limit,
            "roots": "[]",
            "going": "[]",
        }
        self._rows, self.has_written = 0, False
        self._going: set[str] = set()
        self.plans = self.events = self.kept = 0

    def trees(self, place: _PrunePosition) -> _PrunePosition:
        found = self._find(ENDED, since=place.since, seq=place.seq)
        for plan_id, changed, seq in found:
            roots = self._roots_of_one_event(plan_id)
            if self._is_live(roots):
                self.kept += 1
            elif self._is_first(plan_id, roots) and not self._has_room(roots):
                then = place
                break
            place = _PrunePosition(_TREES, changed, seq)
        else:
            then = place if len(found) == self._limit else _PrunePosition(_REQUESTS)
        self._remove_trees()
        return then

    def requests(self, place: _PrunePosition) -> _PrunePosition:
        """Remove clients' requests without an answer, long after the end of their wait, answers and notices of some,
        records of old changes, and unused prompt texts."""
        removed = max(map(self._change, self._old), default=0)
        return place if removed == self._limit else _PrunePosition(_LOOSE)

    def loose(self, place: _PrunePosition) -> _PrunePosition | None:
        found = self._find(LOOSE, since=place.since, seq=place.seq)
        self._remove_events([seq for seq, _, stays in found if not stays])
        return _PrunePosition(_LOOSE, found[-1][1], found[-1][0]) if len(found) == self._limit else None

    def _roots_of_one_event(self, plan_id: str) -> set[str]:
        """The roots of the trees that one event began: they share it, so they go together."""
        return {plan_id, *(root for (root,) in self._find(_SAME_GOAL, root=plan_id))}

    def _is_first(self, plan_id: str, roots: set[str]) -> bool:
        """Tell whether it is the first of a group to go together; at that one all of them are checked."""
        return len(roots) == 1 or self._find(_FIRST, roots=_json(roots)) == [(plan_id,)]

    def _is_live(self, roots: set[str]) -> bool:
        going = _json({*self._going, *roots})
        return any(self._find(f"{one} LIMIT 1", roots=_json(roots), going=going) for one in LIVE)

    def _has_room(self, roots: set[str]) -> bool:
        """Return False when they wait for the next batch. A tree too big for any goes in parts, its plans last."""
        ((size,),) = self._find(_SIZE, roots=_json(roots))
        if self._rows and self._rows + size > self._limit:
            return False
        if size > self._limit and not self._dry_run:
            self._remove_some(_json(roots))
            return False
        self._rows += size
        self._going |= roots
        return True

    def _remove_trees(self) -> None:
        if not self._going:
            return
        going = _json(self._going)
        ((self.plans,),) = self._find(f"SELECT count(*) FROM plan WHERE root_plan_id IN {_ROOTS}", roots=going)
        self._remove_events([seq for (seq,) in self._find(_EVENTS, roots=going, going=going)])
        if not self._dry_run:
            for statement in REMOVE_PLANS:
                self._change(statement, roots=going)

    def _remove_some(self, roots: str) -> None:
        seqs = [seq for (seq,) in self._find(f"{_OWN} LIMIT :limit", roots=roots)]
        self._remove_events(seqs)
        room = self._limit - len(seqs)
        for statement in REMOVE_SOME:
            room -= self._change(statement, roots=roots, limit=room)
        self._change(MOVE_PLACES, roots=roots)

    def _remove_events(self, seqs: list[int]) -> None:
        self.events += len(seqs)
        if seqs and not self._dry_run:
            for statement in REMOVE_EVENTS:
                self._change(statement, seqs=json.dumps(seqs))

    def _find(self, query: str, **values: str | float) -> list[Any]:
        return self._db.execute(query, self._values | values).fetchall()

    def _change(self, statement: str, **values: str | float) -> int:
        count = self._db.execute(statement, self._values | values).rowcount
        self.has_written |= count > 0
        return count


def _json(ids: set[str]) -> str:
    return json.dumps(sorted(ids))
