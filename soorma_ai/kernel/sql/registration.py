"""Registration, heart-beats, further declarations and departures of agents."""

from collections.abc import Sequence
from datetime import datetime

from soorma_ai.errors import ConfigError, LocalProtocolError, NotFound
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.registry import TAKEN, EventDefinition, Registration
from soorma_ai.kernel.rules.arrival import contracts
from soorma_ai.kernel.rules.arrival import registration as rules
from soorma_ai.kernel.sql.apply import offer_changed
from soorma_ai.kernel.sql.codec import epoch, moment, registration, registration_text
from soorma_ai.kernel.sql.connection import Connection
from soorma_ai.kernel.sql.tables import audit, open_work, registry
from soorma_ai.kernel.sql.tables.registry import Routes

_NEXT_REVISION = "(SELECT coalesce(max(revision), 0) + 1 FROM agent)"
_KEY = "tenant = ? AND topic = ? AND event_name = ? AND version = ?"


def register(db: Connection, routes: Routes, registrations: Sequence[Registration], now: datetime) -> None:
    for one in registrations:
        rules.check_name(one)
        new = [definition for definition in rules.definitions_of(one) if _define(db, one, definition)]
        if not one.store:
            _check_contracts(db, one, new, now)
        db.executemany(
            "INSERT INTO taking (agent, topic, event_name) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            [(one.agent, str(event.topic), event.event_name) for role, event in one.events if role in TAKEN],
        )
        db.execute(
            "INSERT INTO agent (agent, tenant, heartbeat, has_left, body, revision) "
            f"VALUES (?, ?, ?, 0, ?, {_NEXT_REVISION}) ON CONFLICT (agent) DO UPDATE SET tenant = excluded.tenant, "
            "heartbeat = excluded.heartbeat, has_left = 0, body = excluded.body, revision = excluded.revision",
            (one.agent, one.tenant_id, epoch(now), registration_text(one)),
        )
    routes.forget()
    offer_changed(db, [one.tenant_id for one in registrations], now)


def heartbeat(db: Connection, routes: Routes, agents: Sequence[str], now: datetime) -> None:
    """An agent that comes back from silence is offered again, so plans that lacked it look again."""
    routes.rows.forget()
    returned: list[str | None] = []
    for agent in agents:
        row = db.execute("SELECT tenant, heartbeat, has_left FROM agent WHERE agent = ?", (agent,)).fetchone()
        if row is not None and rules.comes_back(moment(row[1]), now, has_left=bool(row[2])):
            returned.append(row[0])
        db.execute("UPDATE agent SET heartbeat = ? WHERE agent = ?", (epoch(now), agent))
    offer_changed(db, returned, now)


def declare(db: Connection, agent: str, definition: EventDefinition, now: datetime) -> None:
    """Add an event that the agent makes, until it registers anew. Raises LocalProtocolError."""
    row = registry.find(db, agent, now)
    if row is None:
        name = plain_name(agent)
        raise LocalProtocolError(f"{name} is not registered, so it cannot own {definition.event_name!r}; start it")
    changed = rules.with_made(row.registration, definition)
    if changed is None:
        return
    try:
        _define(db, row.registration, definition)
    except ConfigError as error:
        raise LocalProtocolError(str(error)) from error
    row_of_it = (registration_text(changed), agent)
    db.execute(f"UPDATE agent SET body = ?, revision = {_NEXT_REVISION} WHERE agent = ?", row_of_it)
    offer_changed(db, [changed.tenant_id], now)


def deregister(db: Connection, routes: Routes, agent: str, now: datetime) -> list[EventDefinition]:
    """The agent goes, and with it the definitions that no other agent registered; returns those. Raises NotFound, and
    LocalProtocolError for one that lives or that something still needs."""
    row = registry.find(db, agent, now)
    if row is None:
        raise NotFound(f"no agent {plain_name(agent)!r} is registered")
    others = registry.others(db, row.registration)
    needs = registry.needs(db, row.registration, rules.names_of_its_own(row.registration, others))
    rules.check_deregistering(agent, needs, lives=row.live)
    db.execute("DELETE FROM agent WHERE agent = ?", (agent,))
    db.execute("DELETE FROM taking WHERE agent = ?", (agent,))
    routes.forget()
    inherited, gone = rules.heirs(others), list[EventDefinition]()
    for *key, body in db.execute(
        "SELECT tenant, topic, event_name, version, body FROM definition WHERE agent = ? ORDER BY topic, event_name",
        (agent,),
    ).fetchall():
        heir = inherited.get((key[0], key[1], key[2], key[3]))
        if heir is None:
            db.execute(f"DELETE FROM definition WHERE {_KEY}", key)
            gone.append(EventDefinition.model_validate_json(body))
        else:
            db.execute(f"UPDATE definition SET agent = ? WHERE {_KEY}", (heir, *key))
    return gone


def _check_contracts(db: Connection, one: Registration, new: Sequence[EventDefinition], now: datetime) -> None:
    """Compare with the former registration, and record the changes. A version known before is not compared: an old
    process may start again, and a release go back. Raise ConfigError."""
    former = registry.find(db, one.agent, now)
    if former is None:
        return
    for change in contracts.find_changes(former.registration, one):
        if change.is_narrower and change.now in new and not change.is_declared:
            work = open_work.find_open_work(db, one.tenant_id, one.agent, change.now)
            contracts.check_change(one.name, change, contracts.find_broken(change, work))
        audit.record(db, contracts.audit_entry(one, change, now))


def _define(db: Connection, one: Registration, definition: EventDefinition) -> bool:
    """Return True for a new version."""
    key, body = rules.key_of(one, definition), definition.model_dump_json()
    kept = db.execute(f"SELECT content, agent FROM definition WHERE {_KEY}", key).fetchone()
    if kept is None:
        db.execute(
            "INSERT INTO definition (tenant, topic, event_name, version, agent, content, body) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*key, one.agent, rules.content_of(definition), body),
        )
        return True
    content, keeper = kept
    if not one.store and _lives_elsewhere(db, keeper):
        # What another store has announced first keeps no agent of this one from starting.
        taken_over = (one.agent, rules.content_of(definition), body, *key)
        db.execute(f"UPDATE definition SET agent = ?, content = ?, body = ? WHERE {_KEY}", taken_over)
        return False
    rules.check_content(one, definition, content, keeper)
    if keeper == one.agent:
        db.execute(f"UPDATE definition SET body = ? WHERE {_KEY}", (body, *key))
    return False


def _lives_elsewhere(db: Connection, agent: str) -> bool:
    row = db.execute("SELECT body FROM agent WHERE agent = ?", (agent,)).fetchone()
    return row is not None and bool(registration(row[0]).store)
