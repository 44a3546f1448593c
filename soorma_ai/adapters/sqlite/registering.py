"""Agents that come, live, say what they make, and go."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from soorma_ai.adapters.sqlite.consequences import offer_changed
from soorma_ai.adapters.sqlite.tables import registry
from soorma_ai.adapters.sqlite.tables.registry import Routes
from soorma_ai.core.arrival.registering import (
    check_deregistering,
    check_tenant,
    definitions_of,
    heirs,
    names_of_its_own,
    with_made,
)
from soorma_ai.domain.registry import EventDefinition, Registration
from soorma_ai.errors import ConfigError, LocalProtocolError, NotFound


def register(db: sqlite3.Connection, routes: Routes, registrations: Sequence[Registration], now: datetime) -> None:
    for one in registrations:
        check_tenant(one, registry.tenants_of(db, one.agent))
        for definition in definitions_of(one):
            registry.define(db, one, definition)
        registry.save(db, one, now)
    routes.forget()
    offer_changed(db, [one.tenant_id for one in registrations], now)


def heartbeat(db: sqlite3.Connection, agents: Sequence[str], now: datetime) -> None:
    """An agent that comes back from silence is offered again, so plans that lacked it look again."""
    offer_changed(db, [tenant for agent in agents for tenant in registry.beat(db, agent, now)], now)


def declare(db: sqlite3.Connection, agent: str, definition: EventDefinition, now: datetime) -> None:
    """One more event that the agent makes, until it registers anew. Raises LocalProtocolError."""
    row = registry.find(db, agent, now)
    if row is None:
        raise LocalProtocolError(f"{agent} is not registered, so it cannot own {definition.event_name!r}; start it")
    changed = with_made(row.registration, definition)
    if changed is None:
        return
    try:
        registry.define(db, row.registration, definition)
    except ConfigError as error:
        raise LocalProtocolError(str(error)) from error
    registry.rewrite(db, changed)
    offer_changed(db, [changed.tenant_id], now)


def deregister(db: sqlite3.Connection, routes: Routes, agent: str, now: datetime) -> list[EventDefinition]:
    """The agent goes, and with it the definitions that no other agent registered; returns those. Raises NotFound, and
    LocalProtocolError for one that lives or that something still needs."""
    row = registry.find(db, agent, now)
    if row is None:
        raise NotFound(f"no agent {agent!r} is registered")
    others = registry.others(db, agent)
    needs = registry.needs(db, row.registration, names_of_its_own(row.registration, others))
    check_deregistering(agent, needs, lives=row.live)
    registry.remove(db, agent)
    routes.forget()
    inherited, gone = heirs(others), list[EventDefinition]()
    for key, definition in registry.defined_by(db, agent):
        if key in inherited:
            registry.bequeath(db, key, inherited[key])
        else:
            registry.undefine(db, key)
            gone.append(definition)
    return gone
