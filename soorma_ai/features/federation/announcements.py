"""Rules for agents of other stores: the announcement of our own, and the acceptance of others'."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.kernel.domain.events import CLIENT, SYSTEM, EventTopic
from soorma_ai.kernel.domain.registry import (
    AGENT_GONE_AFTER,
    AgentCapability,
    EventDefinition,
    EventRole,
    Registration,
    Subscription,
)
from soorma_ai.kernel.domain.stores import AnnouncedAgent, Announcement, store_of_mailbox

# Of each other store: what it announces costs the reading of it for every decision.
MOST_AGENTS = 1_000


class KnownAgent(Struct, frozen=True):
    """A registration as it stands, and whether its agent lives."""

    registration: Registration
    lives: bool


@dataclass
class AnnouncementOutcome:
    """Effects of an announcement. `refused` are agents, each with the reason."""

    registered: list[AnnouncedAgent] = field(default_factory=list[AnnouncedAgent])
    alive: list[AnnouncedAgent] = field(default_factory=list[AnnouncedAgent])
    left: list[str] = field(default_factory=list[str])
    refused: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


def describe_outside(one: Registration) -> Registration | None:
    """Return an agent's description for other stores: its requests, the only travelling events; None for an agent
    without any. Approvals are left out: they are asked for in the agent's own store."""
    taken = tuple(
        (EventRole.TAKES, _without_approval(definition))
        for role, definition in one.events
        if role is EventRole.TAKES and definition.topic is EventTopic.ACTION_REQUESTS
    )
    if not taken:
        return None
    names = {definition.event_name for _, definition in taken}
    return replace(
        one,
        events=taken,
        capabilities=tuple(
            _without_approvals(able) if isinstance(able, AgentCapability) else able
            for able in one.capabilities
            if isinstance(able, str) or _is_asked_by(able, names)
        ),
        subscriptions=tuple(Subscription(EventTopic.ACTION_REQUESTS, name) for name in sorted(names)),
    )


def announce(
    store: str,
    known: Iterable[tuple[Registration, timedelta]],
    left: Iterable[Registration] = (),
    *,
    asks: bool = False,
) -> list[Announcement]:
    """Return a store's announcement of its live agents, each with the time of its silence, and of departed ones: one
    for each of their tenants, or one that only `asks`."""
    living: dict[str | None, list[AnnouncedAgent]] = {}
    gone: dict[str | None, list[str]] = {}
    for one, silent in known:
        outside = describe_outside(one) if not one.store else None
        if outside is not None:
            living.setdefault(one.tenant_id, []).append(AnnouncedAgent(outside, silent))
    for one in left:
        if not one.store:
            gone.setdefault(one.tenant_id, []).append(one.agent)
    tenants = dict.fromkeys((*living, *gone)) or ({None: None} if asks else {})
    return [
        Announcement(store, tenant, tuple(living.get(tenant, ())), tuple(gone.get(tenant, ())), asks)
        for tenant in tenants
    ]


def hear(said: Announcement, known: Mapping[str, KnownAgent], count: int) -> AnnouncementOutcome:
    """Decide about an announcement. A name of an agent of this store stays its own until it is deregistered, and one of
    another store's for as long as that lives. `known` are agents of the names in it, and `count` the number of the
    announcing store's agents here, if one is unknown."""
    heard = AnnouncementOutcome()
    for announced in said.living:
        one = describe_outside(announced.registration)
        before = known.get(announced.registration.agent)
        is_new = before is None or before.registration.store != said.store
        if one is None or announced.silent >= AGENT_GONE_AFTER:
            continue
        if fault := _fault(one, said, before):
            heard.refused.append((one.agent, fault))
        elif is_new and count >= MOST_AGENTS:
            heard.refused.append((one.agent, f"its store has {MOST_AGENTS:,} agents here already"))
        else:
            count += is_new
            taken = AnnouncedAgent(replace(one, store=said.store), max(announced.silent, timedelta(0)))
            is_same = before is not None and before.lives and before.registration == taken.registration
            (heard.alive if is_same else heard.registered).append(taken)
    for name in said.left:
        before = known.get(name)
        if before and (before.registration.store, before.registration.tenant_id) == (said.store, said.tenant_id):
            heard.left.append(name)
    return heard


def _fault(one: Registration, said: Announcement, before: KnownAgent | None) -> str:
    """Return why an agent is not taken; empty when it is."""
    if one.agent in ("", CLIENT, SYSTEM) or store_of_mailbox(one.agent) is not None:
        return "no agent can be called so"
    if one.tenant_id != said.tenant_id:
        return f"it is of tenant {one.tenant_id!r}, and was announced for {said.tenant_id!r}"
    if before is None or before.registration.store == said.store:
        return ""
    if not before.registration.store:
        return "an agent of this store has that name: rename one, or deregister the one here"
    return f"an agent of store {before.registration.store!r} has that name, and lives" if before.lives else ""


def _is_asked_by(able: AgentCapability, names: set[str]) -> bool:
    return able.consumed_event.topic is EventTopic.ACTION_REQUESTS and able.consumed_event.event_name in names


def _without_approvals(able: AgentCapability) -> AgentCapability:
    results = (one for one in able.produced_events if one.topic is EventTopic.ACTION_RESULTS)
    return able.model_copy(
        update={
            "consumed_event": _without_approval(able.consumed_event),
            "produced_events": tuple(map(_without_approval, results)),
        }
    )


def _without_approval(definition: EventDefinition) -> EventDefinition:
    return definition.model_copy(update={"approval": None, "irreversible": False})
