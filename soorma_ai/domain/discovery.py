"""Agents as others find them."""

from dataclasses import dataclass

from soorma_ai.domain.registry import AgentCapability, AgentKind, EventDefinition, EventRole


@dataclass(frozen=True)
class DiscoveredAgent:
    """A capability that is only a name has no events to tell of."""

    agent_id: str
    name: str
    description: str
    version: str
    capabilities: tuple[AgentCapability | str, ...]
    kind: AgentKind = AgentKind.AGENT
    events: tuple[tuple[EventRole, EventDefinition], ...] = ()
    live: bool = True

    def has(self, capability: str) -> bool:
        return capability in map(name_of, self.capabilities)

    def get_consumed_event_schema(self, capability: str) -> EventDefinition | None:
        """The request by which the capability is asked for."""
        found = self._described(capability)
        return found.consumed_event if found else None

    def get_produced_event_schema(self, capability: str) -> EventDefinition | None:
        """The first of the answers that it may give."""
        found = self._described(capability)
        return found.produced_events[0] if found and found.produced_events else None

    def _described(self, capability: str) -> AgentCapability | None:
        found = (one for one in self.capabilities if not isinstance(one, str))
        return next((one for one in found if one.task_name == capability), None)


def name_of(capability: AgentCapability | str) -> str:
    return capability if isinstance(capability, str) else capability.task_name
