"""Agents, and their events, taken and made."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time
from typing import Generic, TypeVar

from msgspec import Struct

from soorma_ai.kernel.domain.registry import EventDefinition, RegisteredEvent, Registration
from soorma_ai.kernel.ports import AgentRow
from soorma_ai.kernel.rules.arrival.registration import Needs, events_of, gone_at, is_live
from soorma_ai.kernel.rules.arrival.takers import Index
from soorma_ai.kernel.sql.codec import definition, moment, registration
from soorma_ai.kernel.sql.connection import Connection, Reader

K = TypeVar("K")
T = TypeVar("T")

_AWAITED = """
    SELECT plan_id, event_type FROM expectation
    WHERE status = 'open' AND plan_id IS NOT NULL AND event_type IN (SELECT value FROM json_each(:names))
        AND (CAST(:tenant AS TEXT) IS NULL OR tenant = :tenant) LIMIT 1
"""
_AGENT = "SELECT agent, tenant, body, heartbeat, has_left FROM agent"


MOST_KEPT = 64
MOST_DEFINITIONS = 1024
_PRESENT = "SELECT agent, revision, heartbeat, has_left FROM agent WHERE tenant IS NULL OR tenant = ?"
_LONG_AGO, _FAR_AWAY = (datetime.combine(day, time(), UTC) for day in (date.min, date.max))
# Agent, revision, heart-beat, and whether it has left.
_Agents = tuple[tuple[str, int, float, int], ...]
# The number of the registry, whether only what lives counts, and agents by their revision, with whether they do.
_Rows = tuple[int, bool, tuple[tuple[str, int, bool], ...]]


class RegistryRows:
    """Rows of the registry that are known in this process. A change forgets them. A read keeps them if only this
    process changes them, and no change is under way."""

    def __init__(self) -> None:
        self._agents: dict[str, _Agents] = {}
        self._definitions: dict[tuple[str, str], tuple[EventDefinition, ...]] = {}

    def forget(self) -> None:
        self._agents, self._definitions = {}, {}

    def known_agents(self, tenant_id: str) -> _Agents | None:
        return self._agents.get(tenant_id)

    def known_definitions(self, tenant_id: str, event_name: str) -> tuple[EventDefinition, ...] | None:
        return self._definitions.get((tenant_id, event_name))

    def agents(self, db: Reader, tenant_id: str) -> _Agents:
        found = self._agents.get(tenant_id)
        if found is None:
            found = tuple(db.execute(_PRESENT, (tenant_id,)).fetchall())
            if db.is_settled:
                _keep(self._agents, tenant_id, found, MOST_KEPT)
        return found

    def definitions(self, db: Reader, tenant_id: str, event_name: str) -> tuple[EventDefinition, ...]:
        key = tenant_id, event_name
        found = self._definitions.get(key)
        if found is None:
            found = tuple(definitions(db, tenant_id, event_name))
            if db.is_settled:
                _keep(self._definitions, key, found, MOST_DEFINITIONS)
        return found


class Routes:
    """Routes of events, used by the writing thread only. They are read again after every possible change. `number` is
    the latest known number of the registry."""

    def __init__(self) -> None:
        self._index: Index | None = None
        self.epoch = 0
        self.number = 0
        self.rows = RegistryRows()

    def forget(self) -> None:
        self._index = None
        self.epoch += 1
        self.rows.forget()

    def note_number(self, number: int) -> None:
        if number > self.number:
            self.number = number

    def index(self, db: Connection) -> Index:
        if self._index is None:
            found = db.find_everywhere("SELECT body FROM agent ORDER BY agent")
            self._index = Index(registration(body) for (body,) in found)
        return self._index


class _EventList(Struct, frozen=True):
    """Registered events by these rows, the same from one moment until before another."""

    rows: _Agents
    since: datetime
    until: datetime
    events: tuple[RegisteredEvent, ...]


class EventCache:
    """Registered events, put together once for as long as no registration changes and the same agents live.

    Routes are forgotten before the change is committed, so a read before it must be told from one after it: this is the
    use of revisions, and of the registry's number for changes of other processes. With unnumbered changes, nothing is
    kept.
    """

    def __init__(self, routes: Routes, *, keeps: bool) -> None:
        self._routes = routes
        self._keeps = keeps
        self._kept: dict[_Rows, tuple[RegisteredEvent, ...]] = {}
        self._last: dict[tuple[str, bool], _EventList] = {}
        self._epoch = 0

    def known_events(self, tenant_id: str, live_at: datetime | None = None) -> tuple[RegisteredEvent, ...] | None:
        """Return `events` without a read; None where it needs one."""
        last = self._last.get((tenant_id, live_at is not None))
        if last is None or last.rows is not self._routes.rows.known_agents(tenant_id):
            return None
        return last.events if live_at is None or last.since <= live_at < last.until else None

    def events(self, db: Reader, tenant_id: str, live_at: datetime | None = None) -> tuple[RegisteredEvent, ...]:
        """Return known events; with `live_at`, only those of agents that live then."""
        if not self._keeps:
            return tuple(all_events(db, tenant_id, live_at))
        rows, at = self._routes.rows.agents(db, tenant_id), (tenant_id, live_at is not None)
        if (known := self.known_events(tenant_id, live_at)) is not None:
            return known
        found = self._find(db, tenant_id, rows, live_at)
        if db.is_settled:
            _keep(self._last, at, _EventList(rows, *_bounds(rows, live_at), found), 2 * MOST_KEPT)
        return found

    def definitions(self, db: Reader, tenant_id: str, event_name: str) -> list[EventDefinition]:
        return list(self._routes.rows.definitions(db, tenant_id, event_name))

    def _find(self, db: Reader, tenant_id: str, rows: _Agents, live_at: datetime | None) -> tuple[RegisteredEvent, ...]:
        epoch = self._routes.epoch
        if epoch != self._epoch or len(self._kept) > MOST_KEPT:
            self._kept, self._epoch = {}, epoch
        kept = self._kept  # another thread may begin anew
        agents = tuple(
            (agent, revision, live_at is None or is_live(moment(heartbeat), live_at, has_left=bool(has_left)))
            for agent, revision, heartbeat, has_left in rows
        )
        key = db.registry, live_at is not None, agents
        if key not in kept:
            kept[key] = tuple(all_events(db, tenant_id, live_at))
        return kept[key]


class TenantRows(Generic[T]):
    """Rows of a tenant with the changes of the registry: known until the next one. A file keeps them only while no
    change is under way, a server under the number of its registry."""

    def __init__(self, routes: Routes, find: Callable[[Reader, str], T], *, is_alone: bool) -> None:
        self._routes = routes
        self._find = find
        self._is_alone = is_alone
        self._kept: dict[str, tuple[int, int, T]] = {}

    def known(self, tenant_id: str) -> T | None:
        epoch, number, found = self._kept.get(tenant_id, (-1, -1, None))
        return found if (epoch, number) == (self._routes.epoch, self._routes.number) else None

    def read(self, db: Reader, tenant_id: str) -> T:
        epoch, found = self._routes.epoch, self._find(db, tenant_id)
        if db.is_settled or not self._is_alone:
            _keep(self._kept, tenant_id, (epoch, db.registry, found), MOST_DEFINITIONS)
        return found


def _keep(kept: dict[K, T], key: K, value: T, most: int) -> None:
    if len(kept) >= most:
        kept.clear()
    kept[key] = value


def _bounds(rows: _Agents, live_at: datetime | None) -> tuple[datetime, datetime]:
    """Return since when, and until before when, the same of these agents live as at this moment."""
    if live_at is None:
        return _LONG_AGO, _FAR_AWAY
    ends = [gone_at(moment(heartbeat)) for _, _, heartbeat, has_left in rows if not has_left]
    since = max((end for end in ends if end <= live_at), default=_LONG_AGO)
    return since, min((end for end in ends if end > live_at), default=_FAR_AWAY)


def find(db: Reader, agent: str, now: datetime) -> AgentRow | None:
    row = db.execute(f"{_AGENT} WHERE agent = ?", (agent,)).fetchone()
    return _agent(row, now) if row else None


def others(db: Reader, one: Registration) -> list[Registration]:
    """Return other agents of its tenant and shared ones; of a shared agent, all."""
    found = db.execute(
        "SELECT body FROM agent WHERE agent <> ? AND (tenant IS NULL OR tenant = coalesce(CAST(? AS TEXT), tenant)) "
        "ORDER BY agent",
        (one.agent, one.tenant_id),
    ).fetchall()
    return [registration(body) for (body,) in found]


def leave(db: Reader, routes: Routes, agents: Sequence[str]) -> None:
    routes.rows.forget()
    db.executemany("UPDATE agent SET has_left = 1 WHERE agent = ?", [(agent,) for agent in agents])


def needs(db: Reader, one: Registration, names: Sequence[str]) -> Needs:
    """`names` are the events that only this agent names."""
    deliveries = db.execute(
        "SELECT 1 FROM inbox WHERE agent = ? AND state IN ('queued', 'leased', 'in_doubt') LIMIT 1", (one.agent,)
    ).fetchone()
    tasks = db.execute("SELECT 1 FROM task WHERE agent = ? LIMIT 1", (one.agent,)).fetchone()
    plan = db.execute(
        "SELECT plan_id FROM plan WHERE agent = ? AND status NOT IN ('completed', 'failed', 'cancelled') LIMIT 1",
        (one.agent,),
    ).fetchone()
    awaited = db.execute(_AWAITED, {"names": json.dumps(list(names)), "tenant": one.tenant_id}).fetchone()
    return Needs(deliveries is not None, tasks is not None, plan[0] if plan else None, awaited)


def live_events(db: Reader, tenant_id: str, now: datetime) -> list[RegisteredEvent]:
    return all_events(db, tenant_id, now)


def all_events(db: Reader, tenant_id: str, live_at: datetime | None = None) -> list[RegisteredEvent]:
    """Known events; with `live_at`, only those of agents that live then."""
    found = db.execute(
        "SELECT body, heartbeat, has_left FROM agent WHERE tenant IS NULL OR tenant = ?", (tenant_id,)
    ).fetchall()
    known = (
        (registration(body), live_at is not None and is_live(moment(heartbeat), live_at, has_left=bool(has_left)))
        for body, heartbeat, has_left in found
    )
    takings = db.execute("SELECT agent, topic, event_name FROM taking ORDER BY seq").fetchall()
    return events_of(known, takings, only_live=live_at is not None)


def definitions(db: Reader, tenant_id: str, event_name: str) -> list[EventDefinition]:
    found = db.execute(
        "SELECT body FROM definition WHERE event_name = ? AND tenant IN ('', ?) ORDER BY topic, version",
        (event_name, tenant_id),
    ).fetchall()
    return [definition(body) for (body,) in found]


def agents(db: Reader, now: datetime) -> list[AgentRow]:
    return [_agent(row, now) for row in db.execute(f"{_AGENT} ORDER BY agent").fetchall()]


def _agent(row: tuple[str, str | None, str, float, int], now: datetime) -> AgentRow:
    agent, tenant, body, heartbeat, has_left = row
    lives = is_live(moment(heartbeat), now, has_left=bool(has_left))
    return AgentRow(agent, tenant, registration(body), moment(heartbeat), lives)
