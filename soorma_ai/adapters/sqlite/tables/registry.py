"""Who there is, and what they take and make."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from soorma_ai.adapters.sqlite.codec import REGISTRATION, epoch, moment, registration
from soorma_ai.core.arrival.registering import (
    DefinitionKey,
    Kept,
    Needs,
    check_content,
    comes_back,
    content_of,
    events_of,
    is_live,
    key_of,
)
from soorma_ai.core.arrival.takers import Index
from soorma_ai.domain.registry import EventDefinition, RegisteredEvent, Registration
from soorma_ai.ports import AgentRow

_KEY = "tenant = ? AND topic = ? AND event_name = ? AND version = ?"


class Routes:
    """Used by the writing thread only. Read again after whatever may have changed it."""

    def __init__(self) -> None:
        self._index: Index | None = None

    def forget(self) -> None:
        self._index = None

    def index(self, db: sqlite3.Connection) -> Index:
        if self._index is None:
            found = db.execute("SELECT body FROM agent ORDER BY agent").fetchall()
            self._index = Index(registration(body) for (body,) in found)
        return self._index


def tenants_of(db: sqlite3.Connection, agent: str) -> list[str | None]:
    """At most one; None is an agent shared by all."""
    return [tenant for (tenant,) in db.execute("SELECT tenant FROM agent WHERE agent = ?", (agent,)).fetchall()]


def find(db: sqlite3.Connection, agent: str, now: datetime) -> AgentRow | None:
    row = db.execute(f"{_AGENT} WHERE agent = ?", (agent,)).fetchone()
    return _agent(row, now) if row else None


def others(db: sqlite3.Connection, agent: str) -> list[Registration]:
    found = db.execute("SELECT body FROM agent WHERE agent <> ? ORDER BY agent", (agent,)).fetchall()
    return [registration(body) for (body,) in found]


def save(db: sqlite3.Connection, one: Registration, now: datetime) -> None:
    db.execute(
        "INSERT OR REPLACE INTO agent (agent, tenant, heartbeat, has_left, body) VALUES (?, ?, ?, 0, ?)",
        (one.agent, one.tenant_id, epoch(now), REGISTRATION.text(one)),
    )


def rewrite(db: sqlite3.Connection, one: Registration) -> None:
    db.execute("UPDATE agent SET body = ? WHERE agent = ?", (REGISTRATION.text(one), one.agent))


def beat(db: sqlite3.Connection, agent: str, now: datetime) -> list[str | None]:
    """The tenant of one that comes back from silence."""
    row = db.execute("SELECT tenant, heartbeat, has_left FROM agent WHERE agent = ?", (agent,)).fetchone()
    if row is None:
        return []
    db.execute("UPDATE agent SET heartbeat = ? WHERE agent = ?", (epoch(now), agent))
    tenant, heartbeat, has_left = row
    return [tenant] if comes_back(moment(heartbeat), now, has_left=bool(has_left)) else []


def leave(db: sqlite3.Connection, agents: Sequence[str]) -> None:
    db.executemany("UPDATE agent SET has_left = 1 WHERE agent = ?", [(agent,) for agent in agents])


def remove(db: sqlite3.Connection, agent: str) -> None:
    db.execute("DELETE FROM agent WHERE agent = ?", (agent,))


def define(db: sqlite3.Connection, one: Registration, definition: EventDefinition) -> None:
    key, body = key_of(one, definition), definition.model_dump_json()
    kept = db.execute(f"SELECT agent, content FROM definition WHERE {_KEY}", key).fetchone()
    if kept is None:
        db.execute(
            "INSERT INTO definition (tenant, topic, event_name, version, agent, content, body) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*key, one.agent, content_of(definition), body),
        )
        return
    check_content(one, definition, Kept(*kept))
    db.execute(f"UPDATE definition SET body = ? WHERE {_KEY}", (body, *key))


def defined_by(db: sqlite3.Connection, agent: str) -> list[tuple[DefinitionKey, EventDefinition]]:
    found = db.execute(
        "SELECT tenant, topic, event_name, version, body FROM definition WHERE agent = ? ORDER BY topic, event_name",
        (agent,),
    ).fetchall()
    return [((tenant, topic, name, version), _definition(body)) for tenant, topic, name, version, body in found]


def undefine(db: sqlite3.Connection, key: DefinitionKey) -> None:
    db.execute(f"DELETE FROM definition WHERE {_KEY}", key)


def bequeath(db: sqlite3.Connection, key: DefinitionKey, heir: str) -> None:
    db.execute(f"UPDATE definition SET agent = ? WHERE {_KEY}", (heir, *key))


def needs(db: sqlite3.Connection, one: Registration, names: Sequence[str]) -> Needs:
    """`names` are the events that only this agent names."""
    deliveries = db.execute(
        "SELECT 1 FROM inbox WHERE agent = ? AND state IN ('queued', 'leased', 'in_doubt') LIMIT 1", (one.agent,)
    ).fetchone()
    tasks = db.execute("SELECT 1 FROM task WHERE agent = ? LIMIT 1", (one.agent,)).fetchone()
    plan = db.execute(
        "SELECT plan_id FROM plan WHERE agent = ? AND status NOT IN ('completed', 'failed', 'cancelled') LIMIT 1",
        (one.agent,),
    ).fetchone()
    awaited = (
        (plan_id, name)
        for name in names
        for (plan_id,) in db.execute(
            "SELECT plan_id FROM expectation WHERE event_type = :name AND status = 'open' AND plan_id IS NOT NULL "
            "AND (:tenant IS NULL OR tenant = :tenant) LIMIT 1",
            {"name": name, "tenant": one.tenant_id},
        ).fetchall()
    )
    return Needs(deliveries is not None, tasks is not None, plan[0] if plan else None, next(awaited, None))


def known_events(db: sqlite3.Connection, tenant_id: str, live_at: datetime | None = None) -> list[RegisteredEvent]:
    """With `live_at`, only those of agents that live then."""
    found = db.execute(
        "SELECT body, heartbeat, has_left FROM agent WHERE tenant IS NULL OR tenant = ?", (tenant_id,)
    ).fetchall()
    known = (
        (registration(body), live_at is not None and is_live(moment(heartbeat), live_at, has_left=bool(has_left)))
        for body, heartbeat, has_left in found
    )
    return events_of(known, only_live=live_at is not None)


def definitions(db: sqlite3.Connection, tenant_id: str, event_name: str) -> list[EventDefinition]:
    """Every version on every topic, of agents that are gone too."""
    found = db.execute(
        "SELECT body FROM definition WHERE event_name = ? AND tenant IN ('', ?) ORDER BY topic, version",
        (event_name, tenant_id),
    ).fetchall()
    return [_definition(body) for (body,) in found]


def agents(db: sqlite3.Connection, now: datetime) -> list[AgentRow]:
    return [_agent(row, now) for row in db.execute(f"{_AGENT} ORDER BY agent").fetchall()]


_AGENT = "SELECT agent, tenant, body, heartbeat, has_left FROM agent"


def _agent(row: tuple[str, str | None, str, float, int], now: datetime) -> AgentRow:
    agent, tenant, body, heartbeat, has_left = row
    lives = is_live(moment(heartbeat), now, has_left=bool(has_left))
    return AgentRow(agent, tenant, registration(body), moment(heartbeat), lives)


def _definition(body: str) -> EventDefinition:
    return EventDefinition.model_validate_json(body)
