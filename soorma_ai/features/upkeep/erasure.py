"""Erasure of a user's data, done or not, in short transactions. The place is kept in a row of `forgetting`; after a
kill it continues from there.

Events on their way are removed with the rest: a handler with one in hand finds the lease lost, and nothing of it is
committed. Pages are overwritten (`secure_delete`), and the words of the index are merged away.
"""

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from soorma_ai.errors import TransientError
from soorma_ai.features.upkeep.sql_retention import MOVE_PLACES, REMOVE_EVENTS, REMOVE_PLANS, REMOVE_SOME
from soorma_ai.kernel.domain.events import Lineage
from soorma_ai.kernel.domain.people import NO_USER
from soorma_ai.kernel.ports import Forgotten
from soorma_ai.kernel.rules.arrival.endings import timer_of_plan
from soorma_ai.kernel.rules.arrival.untaken import timer_of_request
from soorma_ai.kernel.sql.connection import Connection, Reader
from soorma_ai.kernel.sql.tables.events import USER

TREES_AT_ONCE = 20
_TREES, _EVENTS, _ASKED, _MEMOS, _WORDS = "trees", "events", "asked", "memos", "words"
_NEXT = {_TREES: _EVENTS, _EVENTS: _ASKED, _ASKED: _MEMOS, _MEMOS: _WORDS}

_ROOTS = "(SELECT value FROM json_each(:roots))"
_PLANS = f"(SELECT plan_id FROM plan WHERE root_plan_id IN {_ROOTS})"
_SEQS = "(SELECT CAST(value AS BIGINT) FROM json_each(:seqs))"
_IDS = "(SELECT value FROM json_each(:ids))"
# The row of a fork is nobody's, and its lineage has the user of its origin.
_TREES_OF_USER = """
    SELECT DISTINCT root_plan_id FROM (
        SELECT root_plan_id FROM plan WHERE tenant = :tenant AND user_id = :user
        UNION ALL
        SELECT root_plan_id FROM plan WHERE tenant = :tenant AND user_id = :nobody
            AND CASE WHEN json_valid(rest) THEN coalesce(json_extract(rest, '$.lineage.user_id'), :usual) END = :user
    ) AS own LIMIT :trees
"""
# Nothing of these trees can happen any more. To the letter as the indexes have it.
_STOP = (
    f"DELETE FROM inbox WHERE owner IN {_PLANS} AND state IN ('queued', 'leased', 'in_doubt')",
    f"DELETE FROM inbox WHERE owner IN {_PLANS} AND state = 'blocked'",
    f"DELETE FROM sub_task WHERE (agent, task_id) IN (SELECT agent, task_id FROM task WHERE root_plan_id IN {_ROOTS})",
    f"DELETE FROM task WHERE root_plan_id IN {_ROOTS}",
    MOVE_PLACES,
)
_OPEN = f"SELECT id FROM expectation WHERE root_plan_id IN {_ROOTS} AND status = 'open'"
_OF_TREES = f"SELECT seq FROM event WHERE root_plan_id IN {_ROOTS} LIMIT :limit"
_GOALS = f"SELECT event.seq FROM plan JOIN event ON event.id = plan.goal_id WHERE plan.root_plan_id IN {_ROOTS}"
_MET = f"SELECT id FROM expectation WHERE plan_id IN {_PLANS} LIMIT :limit"
# What came to them from others, whose events stay.
_FROM_OTHERS = f"""
    DELETE FROM inbox WHERE owner IN {_PLANS} AND event_seq IN (
        SELECT event.seq FROM expectation CROSS JOIN event ON event.id = expectation.met_by
        WHERE expectation.id IN {_IDS}
    )
"""
_LOOKED_AT = f"""
    SELECT seq, id, {USER} = :user FROM event WHERE tenant = :tenant AND seq > :after ORDER BY seq LIMIT :limit
"""
_ASKED_AT = """
    SELECT rowid, id, tenant = :tenant AND user_id = :user FROM expectation
    WHERE rowid > :after ORDER BY rowid LIMIT :limit
"""
_OF_EVENTS = (
    f"DELETE FROM sub_task WHERE (agent, task_id) IN (SELECT agent, task_id FROM task WHERE task_id IN {_IDS})",
    f"DELETE FROM task WHERE task_id IN {_IDS}",
)
_OF_EXPECTATIONS = (
    f"UPDATE plan SET place = place + 1 WHERE plan_id IN (SELECT plan_id FROM expectation WHERE id IN {_IDS})",
    f"DELETE FROM timer WHERE guards IN {_IDS}",
    f"DELETE FROM wait_key WHERE expectation_id IN {_IDS}",
    f"DELETE FROM asked_role WHERE expectation_id IN {_IDS}",
    f"DELETE FROM expectation WHERE id IN {_IDS}",
)
_SESSIONS = """
    DELETE FROM session WHERE tenant = :tenant AND session_id IN (
        SELECT session_id FROM session WHERE tenant = :tenant AND user_id = :user LIMIT :limit
    )
"""


def must_not_be_forgotten(db: Reader, users: Iterable[tuple[str, str]]) -> None:
    """Raise TransientError for a user, by tenant and id, with an unfinished erasure: new data would go with the rest,
    or stay where the removal has passed already."""
    for tenant_id, user_id in set(users):
        query = "SELECT 1 FROM forgetting WHERE tenant = ? AND user_id = ?"
        if db.execute(query, (tenant_id, user_id)).fetchone() is not None:
            raise TransientError(f"{user_id!r} is being forgotten; what they begin is taken again when that is done")


def users(db: Reader) -> set[tuple[str, str]]:
    """Return users with an unfinished erasure, by tenant and id."""
    return set(db.execute("SELECT tenant, user_id FROM forgetting").fetchall())


def begin(db: Connection, tenant_id: str, user_id: str, now: datetime) -> int:
    """Write down that a user is to be forgotten, and end their rights; return the number of revoked keys."""
    db.execute("INSERT INTO forgetting (tenant, user_id) VALUES (?, ?) ON CONFLICT DO NOTHING", (tenant_id, user_id))
    return sum(one.begin(db, tenant_id, user_id, now) for one in db.features.removals if one.begin)


def go_on(db: Connection, limit: int, tenant_id: str | None = None, user_id: str | None = None) -> Forgotten:
    """Remove about this number of rows of this user, or of any user with an unfinished erasure; `is_done` when there is
    none."""
    row = db.execute(
        "SELECT tenant, user_id, stage, after_seq FROM forgetting "
        "WHERE (CAST(:tenant AS TEXT) IS NULL OR (tenant = :tenant AND user_id = :user)) LIMIT 1",
        {"tenant": tenant_id, "user": user_id},
    ).fetchone()
    if row is None:
        return Forgotten(is_done=True)
    with db.overwriting():
        batch = _ErasureBatch(db, row[0], row[1], limit)
        batch.do(row[2], row[3])
    return Forgotten(batch.plans, batch.events, batch.memos)


class _ErasureBatch:
    def __init__(self, db: Connection, tenant_id: str, user_id: str, limit: int) -> None:
        self._db = db
        self._limit = limit
        self._tenant_id, self._user_id = tenant_id, user_id
        self._whose = {"tenant": tenant_id, "user": user_id, "limit": limit}
        self.plans = self.events = self.memos = 0

    def do(self, stage: str, after: int) -> None:
        """Remove a batch. New events in a tree go first, at any stage."""
        if self._remove_trees():
            return
        stages = {_EVENTS: self._remove_events, _ASKED: self._remove_asked, _MEMOS: self._remove_memos}
        if stage == _WORDS:
            self._merge_words(after)
            return
        place = stages[stage](after) if stage in stages else None
        self._keep_place(stage if place is not None else _NEXT[stage], place or 0)

    def _remove_trees(self) -> bool:
        found = self._find(_TREES_OF_USER, trees=TREES_AT_ONCE, nobody=NO_USER, usual=Lineage().user_id)
        if not found:
            return False
        roots = json.dumps([root for (root,) in found])
        for statement in _STOP:
            self._change(statement, roots=roots)
        self._drop_expectations([id for (id,) in self._find(_OPEN, roots=roots)])
        plans = [plan_id for (plan_id,) in self._find(_PLANS[1:-1], roots=roots)]
        self._drop_timers([timer_of_plan(plan_id) for plan_id in plans])
        if not self._remove_part(roots):
            self._remove_seqs([seq for (seq,) in self._find(_GOALS, roots=roots)])
            for statement in REMOVE_PLANS:
                self._change(statement, roots=roots)
            self.plans += len(plans)
        return True

    def _remove_part(self, roots: str) -> bool:
        """Remove the growing tables of a plan. False when nothing of them is left."""
        seqs = [seq for (seq,) in self._find(_OF_TREES, roots=roots)]
        self._remove_seqs(seqs)
        room = self._limit - len(seqs)
        if room > 0:
            ids = [id for (id,) in self._find(_MET, roots=roots, limit=room)]
            self._change(_FROM_OTHERS, roots=roots, ids=json.dumps(ids))
            self._drop_expectations(ids)
            room -= len(ids)
        for statement in REMOVE_SOME:
            if room > 0:
                room -= self._change(statement, roots=roots, limit=room)
        return room <= 0

    def _remove_events(self, after: int) -> int | None:
        found = self._find(_LOOKED_AT, after=after)
        self._remove_seqs([seq for seq, _, is_own in found if is_own])
        return found[-1][0] if len(found) == self._limit else None

    def _remove_asked(self, after: int) -> int | None:
        found = self._find(_ASKED_AT, after=after)
        self._drop_expectations([id for _, id, is_own in found if is_own])
        return found[-1][0] if len(found) == self._limit else None

    def _remove_memos(self, after: int) -> int | None:
        """Sessions and rows of features go behind the last of them."""
        removals, tenant_id, user_id = self._db.features.removals, self._tenant_id, self._user_id
        removed = [one.kept(self._db, tenant_id, user_id, self._limit) for one in removals if one.kept]
        self.memos += sum(removed)
        some = (_SESSIONS, *(statement for one in removals for statement in one.some_of_person))
        if self._limit in removed or self._limit in [self._change(statement) for statement in some]:
            return after
        for statement in (statement for one in removals for statement in one.of_person):
            self._change(statement)
        return None

    def _merge_words(self, is_begun: int) -> None:
        """Go on until no word that was removed stands in an index."""
        merges = [one.merge(self._db, bool(is_begun)) for one in self._db.features.removals if one.merge]
        if not any(merges):
            self._change("DELETE FROM forgetting WHERE tenant = :tenant AND user_id = :user")
        else:
            self._keep_place(_WORDS, 1)

    def _remove_seqs(self, seqs: list[int]) -> None:
        self.events += len(seqs)
        text = json.dumps(seqs)
        ids = self._find(f"SELECT id FROM event WHERE seq IN {_SEQS}", seqs=text)
        names = [id for (id,) in ids]
        for statement in _OF_EVENTS:
            self._change(statement, ids=json.dumps(names))
        self._drop_expectations(
            [id for (id,) in self._find(f"SELECT id FROM expectation WHERE task_id IN {_IDS}", ids=json.dumps(names))]
        )
        self._drop_timers([timer_of_request(name) for name in names])
        self._change(f"DELETE FROM outbox WHERE event_seq IN {_SEQS}", seqs=text)
        for statement in REMOVE_EVENTS:
            self._change(statement, seqs=text)

    def _drop_expectations(self, ids: list[str]) -> None:
        of_features = (statement for one in self._db.features.removals for statement in one.of_questions)
        for statement in (*of_features, *_OF_EXPECTATIONS) if ids else ():
            self._change(statement, ids=json.dumps(ids))

    def _drop_timers(self, ids: list[str]) -> None:
        self._change(f"DELETE FROM timer WHERE id IN {_IDS}", ids=json.dumps(ids))

    def _keep_place(self, stage: str, after: int) -> None:
        self._change(
            "UPDATE forgetting SET stage = :stage, after_seq = :after WHERE tenant = :tenant AND user_id = :user",
            stage=stage,
            after=after,
        )

    def _find(self, query: str, **values: str | int) -> list[Any]:
        return self._db.execute(query, self._whose | values).fetchall()

    def _change(self, statement: str, **values: str | int) -> int:
        return self._db.execute(statement, self._whose | values).rowcount
