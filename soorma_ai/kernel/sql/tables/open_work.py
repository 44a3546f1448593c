"""Open work with an event: held and waiting requests, replies, waits, and states of plans."""

import json
from collections.abc import Iterator

from soorma_ai.kernel.domain.events import EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.plans import ValueKind
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.kernel.rules.arrival.contracts import OpenWork
from soorma_ai.kernel.sql.connection import Reader
from soorma_ai.kernel.sql.tables import events as log
from soorma_ai.kernel.sql.tables import expectations

_OF_TENANT = "(CAST(:tenant AS TEXT) IS NULL OR {table}.tenant = :tenant)"
_OPEN = f"""
    SELECT expectation.body, status, closed_at, met_by, answer FROM expectation
    WHERE status = 'open' AND {_OF_TENANT.format(table="expectation")}
"""
_HELD = f"{_OPEN} AND kind = 'gate' AND event_type = :name ORDER BY opened_at, id"
_WAITS = f"{_OPEN} AND kind = 'wait' AND event_type = :name ORDER BY opened_at, id"
# The id of a reply is that of its request.
_REPLIES = f"""
    {_OPEN} AND kind IN ('reply', 'child', 'client')
        AND EXISTS (SELECT 1 FROM event WHERE event.id = expectation.id AND event.type = :name)
    ORDER BY opened_at, id
"""
_WAITING = f"""
    SELECT event_seq FROM untaken WHERE is_over = 0 AND event_type = :name AND {_OF_TENANT.format(table="untaken")}
    UNION
    SELECT inbox.event_seq FROM inbox CROSS JOIN event ON event.seq = inbox.event_seq
    WHERE inbox.agent = :agent AND inbox.state IN ('blocked', 'queued', 'leased', 'in_doubt')
        AND event.type = :name AND event.topic = :topic
    ORDER BY 1
"""
_MACHINES = f"""
    SELECT plan.plan_id, plan_value.body FROM plan CROSS JOIN plan_value ON plan_value.plan_id = plan.plan_id
    WHERE plan.status NOT IN ('completed', 'failed', 'cancelled') AND {_OF_TENANT.format(table="plan")}
        AND plan_value.kind = '{ValueKind.MACHINE}' AND instr(plan_value.body, :name) > 0
    ORDER BY plan.plan_id
"""


def find_open_work(db: Reader, tenant_id: str | None, agent: str, definition: EventDefinition) -> OpenWork:
    """Return the open work with an event of this agent; without a tenant, that of all tenants."""
    wanted = {"tenant": tenant_id, "agent": agent, "name": definition.event_name, "topic": str(definition.topic)}
    return OpenWork(
        held=_expectations(db, _HELD, wanted),
        waiting=[*_requests(db, wanted)],
        replies=_expectations(db, _REPLIES, wanted),
        waits=_expectations(db, _WAITS, wanted),
        states=[*_states(db, wanted)],
    )


def _expectations(db: Reader, query: str, wanted: dict[str, str | None]) -> list[Expectation]:
    return [*map(expectations.record, db.execute(query, wanted).fetchall())]


def _requests(db: Reader, wanted: dict[str, str | None]) -> Iterator[EventEnvelope]:
    for (seq,) in db.execute(_WAITING, wanted).fetchall():
        event = log.readable(db, seq)
        if event is not None:
            yield event


def _states(db: Reader, wanted: dict[str, str | None]) -> Iterator[tuple[str, str]]:
    for plan_id, body in db.execute(_MACHINES, wanted).fetchall():
        states: dict[str, JsonObject] = json.loads(body)
        for state, config in states.items():
            action = config.get("action")
            if isinstance(action, dict) and action.get("event_type") == wanted["name"]:
                yield plan_id, state
