"""Who there is, what they take and make, and where an event has to go."""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from soorma_ai.adapters.sqlite import expectations, log
from soorma_ai.adapters.sqlite.codec import REGISTRATION, epoch, moment, registration
from soorma_ai.core.offer import make_offer
from soorma_ai.core.wake import OFFER_CHANGED, wake_for
from soorma_ai.domain.events import EventEnvelope
from soorma_ai.domain.registry import (
    AGENT_GONE_AFTER,
    EventDefinition,
    EventRole,
    RegisteredEvent,
    Registration,
)
from soorma_ai.domain.values import clip, compact
from soorma_ai.domain.waits import Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.errors import ConfigError
from soorma_ai.ports import AgentRow

_ANY = "*"


@dataclass(frozen=True)
class _Table:
    """Registrations, turned round: from an event to those who have to do with it."""

    takers: dict[tuple[str, str], list[Registration]] = field(default_factory=dict[tuple[str, str], list[Registration]])
    goals: set[tuple[str, str, str]] = field(default_factory=set[tuple[str, str, str]])
    events: dict[str, list[tuple[str | None, EventRole, EventDefinition]]] = field(
        default_factory=dict[str, list[tuple[str | None, EventRole, EventDefinition]]]
    )

    def add(self, one: Registration) -> None:
        for subscription in dict.fromkeys(one.subscriptions):
            self.takers.setdefault((subscription.topic, subscription.event_type), []).append(one)
        for role, definition in one.events:
            self.events.setdefault(definition.event_name, []).append((one.tenant_id, role, definition))
            if role is EventRole.TAKES_AS_GOAL:
                self.goals.add((one.agent, definition.topic, definition.event_name))


class Routes:
    """Used by the writing thread only. Read again after whatever may have changed it."""

    def __init__(self) -> None:
        self._table: _Table | None = None

    def forget(self) -> None:
        self._table = None

    def takers(self, db: sqlite3.Connection, event: EventEnvelope) -> list[tuple[str, bool]]:
        """Agents that subscribe to it, and whether it is a goal to them. A goal with a target is for that one only."""
        table = self._loaded(db)
        found: dict[str, bool] = {}
        for event_type in (event.type, _ANY):
            for one in table.takers.get((event.topic, event_type), ()):
                is_goal = (one.agent, event.topic, event.type) in table.goals
                if is_goal and event.target not in (None, one.agent):
                    continue
                if one.tenant_id is None or one.tenant_id == event.tenant_id:
                    found[one.agent] = is_goal
        return list(found.items())

    def definitions(self, db: sqlite3.Connection, tenant_id: str, event_type: str) -> list[EventDefinition]:
        return [definition for _, definition in self._known(db, tenant_id, event_type)]

    def is_awaited(self, db: sqlite3.Connection, tenant_id: str, event_type: str) -> bool:
        return any(role in (EventRole.AWAITS, EventRole.MAKES) for role, _ in self._known(db, tenant_id, event_type))

    def _known(
        self, db: sqlite3.Connection, tenant_id: str, event_type: str
    ) -> list[tuple[EventRole, EventDefinition]]:
        return [
            (role, definition)
            for tenant, role, definition in self._loaded(db).events.get(event_type, ())
            if tenant is None or tenant == tenant_id
        ]

    def _loaded(self, db: sqlite3.Connection) -> _Table:
        if self._table is None:
            table = _Table()
            for (body,) in db.execute("SELECT body FROM agent ORDER BY agent").fetchall():
                table.add(registration(body))
            self._table = table
        return self._table


def register(db: sqlite3.Connection, routes: Routes, registrations: Sequence[Registration], now: datetime) -> None:
    for one in registrations:
        for definition in _definitions_of(one):
            _define(db, one, definition)
        db.execute(
            "INSERT OR REPLACE INTO agent (agent, tenant, heartbeat, has_left, body) VALUES (?, ?, ?, 0, ?)",
            (one.agent, one.tenant_id, epoch(now), REGISTRATION.text(one)),
        )
    routes.forget()
    _offer_changed(db, [one.tenant_id for one in registrations], now)


def heartbeat(db: sqlite3.Connection, agents: Sequence[str], now: datetime) -> None:
    """An agent that comes back from silence is offered again, so plans that lacked it look again."""
    returned: list[str | None] = []
    for agent in agents:
        row = db.execute("SELECT tenant, heartbeat, has_left FROM agent WHERE agent = ?", (agent,)).fetchone()
        if row is None:
            continue
        db.execute("UPDATE agent SET heartbeat = ? WHERE agent = ?", (epoch(now), agent))
        if not row[2] and not _is_live(row[1], row[2], now):
            returned.append(row[0])
    _offer_changed(db, returned, now)


def leave(db: sqlite3.Connection, agents: Sequence[str]) -> None:
    db.executemany("UPDATE agent SET has_left = 1 WHERE agent = ?", [(agent,) for agent in agents])


def known_events(db: sqlite3.Connection, tenant_id: str, live_at: datetime | None = None) -> list[RegisteredEvent]:
    """With `live_at`, only those of agents that live then. In a fixed order, whoever registered first."""
    found = db.execute(
        "SELECT body, heartbeat, has_left FROM agent WHERE tenant IS NULL OR tenant = ?", (tenant_id,)
    ).fetchall()
    events = [
        RegisteredEvent(one.agent, one.kind, role, definition)
        for body, heartbeat, has_left in found
        if live_at is None or _is_live(heartbeat, has_left, live_at)
        for one in (registration(body),)
        for role, definition in one.events
    ]
    return sorted(events, key=_place)


def agents(db: sqlite3.Connection, now: datetime) -> list[AgentRow]:
    found = db.execute("SELECT agent, tenant, body, heartbeat, has_left FROM agent ORDER BY agent").fetchall()
    return [
        AgentRow(agent, tenant, registration(body), moment(heartbeat), _is_live(heartbeat, has_left, now))
        for agent, tenant, body, heartbeat, has_left in found
    ]


def _place(event: RegisteredEvent) -> tuple[str, str, str, str, str]:
    definition = event.definition
    return definition.topic, definition.event_name, event.agent, event.role, definition.version


def _is_live(heartbeat: float, has_left: int, now: datetime) -> bool:
    return not has_left and now - moment(heartbeat) < AGENT_GONE_AFTER


def _definitions_of(one: Registration) -> Iterable[EventDefinition]:
    for _, definition in one.events:
        yield definition
    for capability in one.capabilities:
        if isinstance(capability, str):
            continue
        yield capability.consumed_event
        yield from capability.produced_events


def _define(db: sqlite3.Connection, one: Registration, definition: EventDefinition) -> None:
    key = (one.tenant_id or "", str(definition.topic), definition.event_name, definition.version)
    content = compact({"payload": definition.payload_schema, "response": definition.response_schema})
    stored = db.execute(
        "SELECT agent, content FROM definition WHERE tenant = ? AND topic = ? AND event_name = ? AND version = ?", key
    ).fetchone()
    if stored is None:
        db.execute(
            "INSERT INTO definition (tenant, topic, event_name, version, agent, content, body) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*key, one.agent, content, definition.model_dump_json()),
        )
    elif stored[1] == content:
        db.execute(
            "UPDATE definition SET body = ? WHERE tenant = ? AND topic = ? AND event_name = ? AND version = ?",
            (definition.model_dump_json(), *key),
        )
    else:
        raise ConfigError(
            f"{one.agent} registers {definition.event_name!r} on {definition.topic}, version {definition.version!r}, "
            f"with another content than {stored[0]} did: {clip(content, 300)} against {clip(stored[1], 300)}; "
            "a version stands for one content: give the new one a new version"
        )


def park(db: sqlite3.Connection, expectation: Expectation, now: datetime) -> None:
    """Waits for an offer. One that came since the plan looked is an answer at once: its registration saw no wait."""
    live = known_events(db, expectation.tenant_id, live_at=now)
    if make_offer(expectation.agent, live, (), None).is_empty:
        expectations.expect(db, expectation, now)
        return
    wake = wake_for(OFFER_CHANGED, expectation, now)
    met = replace(expectation, status=ExpectationStatus.MET, closed_at=now, met_by=wake.id)
    expectations.insert(db, met)
    log.publish_once(db, wake)


def _offer_changed(db: sqlite3.Connection, tenants: Sequence[str | None], now: datetime) -> None:
    """None among the tenants is an agent shared by all."""
    if not tenants:
        return
    for parked in expectations.opened_of_kind(db, ExpectationKind.OFFER):
        if None in tenants or parked.tenant_id in tenants:
            wake = wake_for(OFFER_CHANGED, parked, now)
            expectations.close(db, parked.id, ExpectationStatus.MET, now, met_by=wake.id)
            log.publish_once(db, wake)
