"""Receivers of an event: agents, and its new plans."""

import json
from collections.abc import Sequence

from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.plans import plan_id_of
from soorma_ai.kernel.ports import EventHandling
from soorma_ai.kernel.rules.arrival.effects import LAST
from soorma_ai.kernel.sql.connection import Reader

_ON_ITS_WAY = """
    SELECT target, body, id FROM (
        SELECT CASE WHEN json_valid(event.rest) THEN json_extract(event.rest, '$.target') END AS target,
            CAST(event.body AS BLOB) AS body, event.id
        FROM outbox JOIN event ON event.seq = outbox.event_seq
    ) AS leaving WHERE target IS NOT NULL
"""


def goal_of(db: Reader, plan_id: str) -> tuple[str, EventEnvelope] | None:
    """Return the planner and the goal of a plan that has arrived, or is on its way to the planner that it names."""
    row = db.execute(
        "SELECT inbox.agent, CAST(event.body AS BLOB) FROM inbox JOIN event ON event.seq = inbox.event_seq "
        "WHERE inbox.owner = ? AND inbox.priority = 1",
        (plan_id,),
    ).fetchone()
    row = row or next((found for found in db.execute(_ON_ITS_WAY) if plan_id_of(found[2], found[0]) == plan_id), None)
    return (row[0], EventEnvelope.from_json(row[1])) if row else None


def receivers_of(db: Reader, event_ids: Sequence[str]) -> list[EventHandling]:
    found = db.execute(
        "SELECT event.id, inbox.agent, inbox.state, inbox.attempt, inbox.priority = ? OR EXISTS "
        "(SELECT 1 FROM task WHERE task.agent = inbox.agent AND task.task_id = event.id) "
        "FROM event JOIN inbox ON inbox.event_seq = event.seq WHERE event.id IN (SELECT value FROM json_each(?))",
        (LAST, json.dumps(list(event_ids))),
    ).fetchall()
    return [
        EventHandling(
            event_id,
            agent,
            has_begun=attempt > 0 or state not in ("blocked", "queued"),
            has_ended=state in ("done", "dead") and not goes_on,
            is_dead=state == "dead",
        )
        for event_id, agent, state, attempt, goes_on in found
    ]


def plans_of(db: Reader, goal_id: str) -> list[str]:
    """Return the plans that an event has begun, or is to begin."""
    found = db.execute(
        "SELECT inbox.owner FROM event JOIN inbox ON inbox.event_seq = event.seq WHERE event.id = ? AND priority = 1",
        (goal_id,),
    ).fetchall()
    return [plan_id for (plan_id,) in found]
