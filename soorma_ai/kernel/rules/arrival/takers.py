"""Takers of events: an index from each event to its agents, made of the registrations."""

from collections import defaultdict
from collections.abc import Collection, Iterable

from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic
from soorma_ai.kernel.domain.names import agent_meant, plain_name
from soorma_ai.kernel.domain.plans import plan_id_of
from soorma_ai.kernel.domain.registry import TAKEN, EventDefinition, EventRole, Registration, name_of
from soorma_ai.kernel.domain.stores import mailbox_of, store_of_mailbox
from soorma_ai.kernel.rules.arrival.effects import FIRST, LAST, Put
from soorma_ai.kernel.rules.delivery.route import patterns_of

_NO_ROLES: frozenset[EventRole] = frozenset()


class Index:
    """Registrations by event. Of no use any more as soon as a registration has changed."""

    def __init__(self, registrations: Iterable[Registration]) -> None:
        self._listening: defaultdict[tuple[EventTopic, str], list[Registration]] = defaultdict(list)
        self._roles: defaultdict[tuple[str, EventTopic, str], set[EventRole]] = defaultdict(set)
        self._known: defaultdict[str, list[tuple[Registration, EventRole, EventDefinition]]] = defaultdict(list)
        self._stores: dict[str, str] = {}
        for one in registrations:
            if one.store:
                self._stores[one.agent] = one.store
            for subscription in dict.fromkeys(one.subscriptions):
                self._listening[subscription.topic, subscription.event_type].append(one)
            for role, definition in one.events:
                self._known[definition.event_name].append((one, role, definition))
                self._roles[one.agent, definition.topic, definition.event_name].add(role)

    def takers(self, event: EventEnvelope) -> tuple[tuple[Put, ...], tuple[Put, ...]]:
        """Return the inboxes of an event, of agents of its tenant and shared ones: takers of the request (with a
        target, only the agent of that name, or those of that capability); for a goal the line of its new plan, at the
        nearest agent of one name; and listeners. An event for agents of another store goes into its mailbox, once."""
        meant = self._targets(event)
        takers: dict[str, Put] = {}
        listeners: dict[str, Put] = {}
        for pattern in patterns_of(event.type):
            for one in self._listening.get((event.topic, pattern), ()):
                if one.tenant_id not in (None, event.tenant_id) or (one.store and event.stays):
                    continue
                roles = self._roles.get((one.agent, event.topic, event.type), _NO_ROLES)
                if roles.isdisjoint(TAKEN):
                    listeners[one.agent] = Put(one.agent, event.id)
                elif meant is not None and one.agent not in meant:
                    continue
                elif one.store:
                    box = mailbox_of(one.store)
                    takers[box] = Put(box, event.id)
                else:
                    is_goal = EventRole.TAKES_AS_GOAL in roles
                    owner, priority = (plan_id_of(event.id, one.agent), LAST) if is_goal else (event.id, FIRST)
                    takers[one.agent] = Put(one.agent, owner, priority)
        return _nearest(event, takers.values()), tuple(listeners.values())

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
        return store_of_mailbox(sender) is not None or self.takes(sender, request_type)

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


def _nearest(event: EventEnvelope, takers: Collection[Put]) -> tuple[Put, ...]:
    """Leave out agents with a nearer namesake for the same plan."""
    beginning: defaultdict[str, list[str]] = defaultdict(list)
    for put in takers:
        if put.priority == LAST:
            beginning[put.owner].append(put.agent)
    pairs = [agents for agents in beginning.values() if len(agents) > 1]
    left_out = {one for agents in pairs for one in agents if one != agent_meant(plain_name(one), event.source, agents)}
    return tuple(put for put in takers if put.agent not in left_out)
