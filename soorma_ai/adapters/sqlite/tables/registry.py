"""Who there is, what they take and make, and where an event has to go."""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from soorma_ai.adapters.sqlite.codec import REGISTRATION, epoch, moment, registration
from soorma_ai.adapters.sqlite.tables import events as log
from soorma_ai.adapters.sqlite.tables import expectations
from soorma_ai.core.deciding.offer import make_offer
from soorma_ai.core.delivery.route import patterns_of
from soorma_ai.core.expecting.wakeups import OFFER_CHANGED, wake_for
from soorma_ai.domain.events import EventEnvelope
from soorma_ai.domain.expectations import Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.domain.registry import AGENT_GONE_AFTER, EventDefinition, EventRole, RegisteredEvent, Registration
from soorma_ai.domain.values import clip, compact
from soorma_ai.errors import ConfigError, LocalProtocolError, NotFound
from soorma_ai.ports import AgentRow


@dataclass(frozen=True)
class _Table:
    """Registrations, turned round: from an event to those who have to do with it."""

    takers: dict[tuple[str, str], list[Registration]] = field(default_factory=dict[tuple[str, str], list[Registration]])
    goals: set[tuple[str, str, str]] = field(default_factory=set[tuple[str, str, str]])
    takes: set[tuple[str, str, str]] = field(default_factory=set[tuple[str, str, str]])
    events: dict[str, list[tuple[str | None, EventRole, EventDefinition]]] = field(
        default_factory=dict[str, list[tuple[str | None, EventRole, EventDefinition]]]
    )

    def add(self, one: Registration) -> None:
        for subscription in dict.fromkeys(one.subscriptions):
            self.takers.setdefault((subscription.topic, subscription.event_type), []).append(one)
        for role, definition in one.events:
            self.events.setdefault(definition.event_name, []).append((one.tenant_id, role, definition))
            if role in (EventRole.TAKES, EventRole.TAKES_AS_GOAL):
                self.takes.add((one.agent, definition.topic, definition.event_name))
            if role is EventRole.TAKES_AS_GOAL:
                self.goals.add((one.agent, definition.topic, definition.event_name))


class Routes:
    """Used by the writing thread only. Read again after whatever may have changed it."""

    def __init__(self) -> None:
        self._table: _Table | None = None

    def forget(self) -> None:
        self._table = None

    def takers(self, db: sqlite3.Connection, event: EventEnvelope) -> list[tuple[str, bool]]:
        """Agents that subscribe to it, and whether it is a goal to them. With a target, of those that do what it asks
        for only the one of that name, or those of that capability; who only listens hears it all the same."""
        table = self._loaded(db)
        found: dict[str, bool] = {}
        for pattern in patterns_of(event.type):
            for one in table.takers.get((event.topic, pattern), ()):
                is_goal = (one.agent, event.topic, event.type) in table.goals
                is_taker = (one.agent, event.topic, event.type) in table.takes
                if is_taker and event.target is not None and not _is_meant(one, event.target):
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


def _is_meant(one: Registration, target: str) -> bool:
    names = (capability if isinstance(capability, str) else capability.task_name for capability in one.capabilities)
    return target == one.agent or target in names


def register(db: sqlite3.Connection, routes: Routes, registrations: Sequence[Registration], now: datetime) -> None:
    for one in registrations:
        _must_keep_its_tenant(db, one)
        for definition in _definitions_of(one):
            _define(db, one, definition)
        db.execute(
            "INSERT OR REPLACE INTO agent (agent, tenant, heartbeat, has_left, body) VALUES (?, ?, ?, 0, ?)",
            (one.agent, one.tenant_id, epoch(now), REGISTRATION.text(one)),
        )
    routes.forget()
    _offer_changed(db, [one.tenant_id for one in registrations], now)


def _must_keep_its_tenant(db: sqlite3.Connection, one: Registration) -> None:
    """What waits under a name is of those it was registered for; whoever is shared may handle it too."""
    row = db.execute("SELECT tenant FROM agent WHERE agent = ?", (one.agent,)).fetchone()
    if row is not None and one.tenant_id not in (None, row[0]):
        whom = "all tenants" if row[0] is None else f"tenant {row[0]!r}"
        raise ConfigError(
            f"{one.agent} is registered for {whom}, and what waits under that name is theirs: give the agent of tenant "
            f"{one.tenant_id!r} another name, or deregister the former one first"
        )


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


def declare(db: sqlite3.Connection, agent: str, definition: EventDefinition, now: datetime) -> None:
    """One more event that the agent makes, until it registers anew. Raises LocalProtocolError."""
    row = db.execute("SELECT body FROM agent WHERE agent = ?", (agent,)).fetchone()
    if row is None:
        raise LocalProtocolError(f"{agent} is not registered, so it cannot own {definition.event_name!r}; start it")
    one = registration(row[0])
    made = (EventRole.MAKES, definition)
    if made in one.events:
        return
    try:
        _define(db, one, definition)
    except ConfigError as error:
        raise LocalProtocolError(str(error)) from error
    name = (EventRole.MAKES, definition.topic, definition.event_name)
    others = (e for e in one.events if (e[0], e[1].topic, e[1].event_name) != name)
    db.execute(
        "UPDATE agent SET body = ? WHERE agent = ?", (REGISTRATION.text(replace(one, events=(*others, made))), agent)
    )
    _offer_changed(db, [one.tenant_id], now)


def deregister(db: sqlite3.Connection, routes: Routes, agent: str, now: datetime) -> list[EventDefinition]:
    """The agent goes, and with it the definitions that no other agent registered; returns those. Raises NotFound, and
    LocalProtocolError for one that lives or that something still needs."""
    row = db.execute("SELECT tenant, body, heartbeat, has_left FROM agent WHERE agent = ?", (agent,)).fetchone()
    if row is None:
        raise NotFound(f"no agent {agent!r} is registered")
    one, others = registration(row[1]), _others(db, agent)
    reason = "it lives: stop it first" if _is_live(row[2], row[3], now) else _still_needed(db, one, others)
    if reason:
        raise LocalProtocolError(f"{agent} cannot be deregistered: {reason}")
    db.execute("DELETE FROM agent WHERE agent = ?", (agent,))
    routes.forget()
    heirs = {_key(other, definition): other.agent for other in others for definition in _definitions_of(other)}
    gone: list[EventDefinition] = []
    for *key, body in db.execute(
        "SELECT tenant, topic, event_name, version, body FROM definition WHERE agent = ? ORDER BY topic, event_name",
        (agent,),
    ).fetchall():
        where = "WHERE tenant = ? AND topic = ? AND event_name = ? AND version = ?"
        heir = heirs.get((key[0], key[1], key[2], key[3]))
        if heir is None:
            db.execute(f"DELETE FROM definition {where}", key)
            gone.append(EventDefinition.model_validate_json(body))
        else:
            db.execute(f"UPDATE definition SET agent = ? {where}", (heir, *key))
    return gone


def _others(db: sqlite3.Connection, agent: str) -> list[Registration]:
    found = db.execute("SELECT body FROM agent WHERE agent <> ? ORDER BY agent", (agent,)).fetchall()
    return [registration(body) for (body,) in found]


def _still_needed(db: sqlite3.Connection, one: Registration, others: Sequence[Registration]) -> str:
    """Work of its own that is not done, and what plans wait for that only it makes or takes."""
    if db.execute(
        "SELECT 1 FROM inbox WHERE agent = ? AND state IN ('queued', 'leased', 'in_doubt') LIMIT 1", (one.agent,)
    ).fetchone():
        return "deliveries wait for it: start it, or cancel what they belong to"
    if db.execute("SELECT 1 FROM task WHERE agent = ? LIMIT 1", (one.agent,)).fetchone():
        return "it has tasks that have not ended: start it, or cancel what they belong to"
    plan = db.execute(
        "SELECT plan_id FROM plan WHERE agent = ? AND status NOT IN ('completed', 'failed', 'cancelled') LIMIT 1",
        (one.agent,),
    ).fetchone()
    if plan:
        return f"plan {plan[0]} is pursued by it: start it, or cancel the plan"
    shared = {definition.event_name for other in others for _, definition in other.events}
    for name in sorted({definition.event_name for _, definition in one.events} - shared):
        waiting = db.execute(
            "SELECT plan_id FROM expectation WHERE event_type = :name AND status = 'open' AND plan_id IS NOT NULL "
            "AND (:tenant IS NULL OR tenant = :tenant) LIMIT 1",
            {"name": name, "tenant": one.tenant_id},
        ).fetchone()
        if waiting:
            return f"plan {waiting[0]} waits for {name!r}, which nobody else registers: cancel the plan"
    return ""


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


def definitions(db: sqlite3.Connection, tenant_id: str, event_name: str) -> list[EventDefinition]:
    """Every version on every topic, of agents that are gone too."""
    found = db.execute(
        "SELECT body FROM definition WHERE event_name = ? AND tenant IN ('', ?) ORDER BY topic, version",
        (event_name, tenant_id),
    ).fetchall()
    return [EventDefinition.model_validate_json(body) for (body,) in found]


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
    key = _key(one, definition)
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


def _key(one: Registration, definition: EventDefinition) -> tuple[str, str, str, str]:
    return one.tenant_id or "", str(definition.topic), definition.event_name, definition.version


def park(db: sqlite3.Connection, expectation: Expectation, now: datetime) -> None:
    """Waits for an offer. One that came since the plan looked is an answer at once: its registration saw no wait."""
    live = known_events(db, expectation.tenant_id, live_at=now)
    offer = make_offer(expectation.agent, live, (), None)
    if not any(offer.takes(name) for name in (expectation.event_type, *expectation.others)):
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
