"""Takers of events: an index from each event to its agents, made of the registrations."""

from collections import defaultdict
from collections.abc import Iterable

from msgspec import Struct

from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic
from soorma_ai.kernel.domain.names import agent_meant, plain_name
from soorma_ai.kernel.domain.plans import plan_id_of
from soorma_ai.kernel.domain.registry import TAKEN, EventDefinition, EventRole, Registration, name_of
from soorma_ai.kernel.domain.stores import mailbox_of, store_of_mailbox
from soorma_ai.kernel.rules.arrival.effects import LAST, Put
from soorma_ai.kernel.rules.delivery.route import patterns_of

_NO_ROLES: frozenset[EventRole] = frozenset()


# Kinds of events with their inboxes at hand.
MOST_KINDS = 4096


class EventKind(Struct, frozen=True):
    """Registrations about events of one kind: inboxes of takers, each with whether it begins a plan, and of listeners;
    definitions. `is_taken`: by an agent, beside listeners. `is_awaited`: a wait for such an event may be opened."""

    takers: tuple[tuple[str, bool], ...]
    listeners: tuple[str, ...]
    definitions: tuple[EventDefinition, ...]
    is_taken: bool
    is_awaited: bool

    def puts(self, event: EventEnvelope) -> tuple[tuple[Put, ...], tuple[Put, ...]]:
        """Return the inboxes of an event of this kind, of takers and of listeners; for a goal the line of its new
        plan."""
        takers = [
            Put(inbox, plan_id_of(event.id, inbox), LAST) if is_goal else Put(inbox, event.id)
            for inbox, is_goal in self.takers
        ]
        return tuple(takers), tuple([Put(inbox, event.id) for inbox in self.listeners])


class Index:
    """Registrations by event. Of no use any more as soon as a registration has changed."""

    def __init__(self, registrations: Iterable[Registration]) -> None:
        self._listening: defaultdict[tuple[EventTopic, str], list[Registration]] = defaultdict(list)
        self._roles: defaultdict[tuple[str, EventTopic, str], set[EventRole]] = defaultdict(set)
        self._known: defaultdict[str, list[tuple[Registration, EventRole, EventDefinition]]] = defaultdict(list)
        self._stores: dict[str, str] = {}
        self._kinds: dict[tuple[object, ...], EventKind] = {}
        self._answering: dict[tuple[str, str], bool] = {}
        for one in registrations:
            if one.store:
                self._stores[one.agent] = one.store
            for subscription in dict.fromkeys(one.subscriptions):
                self._listening[subscription.topic, subscription.event_type].append(one)
            for role, definition in one.events:
                self._known[definition.event_name].append((one, role, definition))
                self._roles[one.agent, definition.topic, definition.event_name].add(role)

    def kind_of(self, event: EventEnvelope) -> EventKind:
        """Return the kind of an event, with inboxes of agents of its tenant and shared ones: takers of the request
        (with a target, only the agent of that name, or those of that capability; for a goal the nearest agent of one
        name), and listeners. An event for agents of another store goes into its mailbox, once."""
        kind = event.topic, event.type, event.tenant_id, event.stays, event.target, event.source
        found = self._kinds.get(kind)
        if found is None:
            if len(self._kinds) >= MOST_KINDS:
                self._kinds.clear()
            found = self._kinds[kind] = self._find_kind(event)
        return found

    def _find_kind(self, event: EventEnvelope) -> EventKind:
        meant = self._targets(event)
        takers: dict[str, bool] = {}
        listeners: dict[str, None] = {}
        for pattern in patterns_of(event.type):
            for one in self._listening.get((event.topic, pattern), ()):
                if one.tenant_id not in (None, event.tenant_id) or (one.store and event.stays):
                    continue
                roles = self._roles.get((one.agent, event.topic, event.type), _NO_ROLES)
                if roles.isdisjoint(TAKEN):
                    listeners[one.agent] = None
                elif meant is not None and one.agent not in meant:
                    continue
                elif one.store:
                    takers[mailbox_of(one.store)] = False
                else:
                    takers[one.agent] = EventRole.TAKES_AS_GOAL in roles
        left_out = _farther(event.source, [agent for agent, is_goal in takers.items() if is_goal])
        return EventKind(
            tuple(one for one in takers.items() if one[0] not in left_out),
            tuple(listeners),
            tuple(self.definitions(event.tenant_id, event.type)),
            is_taken=self.is_taken(event),
            is_awaited=self.is_awaited(event.tenant_id, event.type),
        )

    def is_taken(self, request: EventEnvelope) -> bool:
        """Tell whether an agent takes the request; a listener by a pattern does not count."""
        meant = self._targets(request)
        return any(
            one.tenant_id in (None, request.tenant_id)
            and not (one.store and request.stays)
            and (meant is None or one.agent in meant)
            for one in self._listening.get((request.topic, request.type), ())
        )

    def takes(self, agent: str, request_type: str) -> bool:
        """Tell whether an agent takes such requests; a listener by a pattern does not count."""
        takers = self._listening.get((EventTopic.ACTION_REQUESTS, request_type), ())
        return any(one.agent == agent for one in takers)

    def may_answer(self, sender: str, request_type: str) -> bool:
        """Tell whether this is a taker of such requests, or another store as the sender for its own takers."""
        key = sender, request_type
        found = self._answering.get(key)
        if found is None:
            if len(self._answering) >= MOST_KINDS:
                self._answering.clear()
            found = store_of_mailbox(sender) is not None or self.takes(sender, request_type)
            self._answering[key] = found
        return found

    def inbox_of(self, sender: str) -> str:
        """Return the inbox of a request delivered to this agent."""
        store = self._stores.get(sender)
        return mailbox_of(store) if store is not None else sender

    def requests(self) -> list[str]:
        """Names of requests with a taker."""
        return [name for topic, name in self._listening if topic is EventTopic.ACTION_REQUESTS]

    def _targets(self, event: EventEnvelope) -> frozenset[str] | None:
        """Return the takers named by its target; None: it has no target."""
        target = event.target
        if target is None:
            return None
        taking = [
            one
            for one in self._listening.get((event.topic, event.type), ())
            if one.tenant_id in (None, event.tenant_id) and not (one.store and event.stays)
        ]
        able = {one.agent for one in taking if target in map(name_of, one.capabilities)}
        named = agent_meant(target, event.source, (one.agent for one in taking))
        return frozenset(able if named is None else {named, *able})

    def definitions(self, tenant_id: str, event_type: str) -> list[EventDefinition]:
        return [definition for _, definition in self._of_tenant(tenant_id, event_type)]

    def is_awaited(self, tenant_id: str, event_type: str) -> bool:
        """Tell whether a wait for such an event may ever be opened."""
        return any(role in (EventRole.AWAITS, EventRole.MAKES) for role, _ in self._of_tenant(tenant_id, event_type))

    def _of_tenant(self, tenant_id: str, event_type: str) -> list[tuple[EventRole, EventDefinition]]:
        known = self._known.get(event_type, ())
        return [(role, definition) for one, role, definition in known if one.tenant_id in (None, tenant_id)]


def _farther(asker: str, agents: Iterable[str]) -> set[str]:
    """Return the agents with a nearer namesake for the same plan."""
    named: defaultdict[str, list[str]] = defaultdict(list)
    for agent in agents:
        named[plain_name(agent)].append(agent)
    return {one for name, ones in named.items() for one in ones if one != agent_meant(name, asker, ones)}
