"""Port of the registry."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from soorma_ai.kernel.domain.registry import EventDefinition, RegisteredEvent, Registration
from soorma_ai.kernel.ports.rows import AgentRow


class Registry(Protocol):
    async def register(self, registrations: Sequence[Registration], now: datetime) -> None:
        """Raise ConfigError when a version is registered with another content."""
        ...

    async def heartbeat(self, agents: Sequence[str], now: datetime) -> None: ...

    async def leave(self, agents: Sequence[str]) -> None:
        """Mark agents as gone; their deliveries are kept."""
        ...

    async def live_events(self, tenant_id: str, now: datetime) -> Sequence[RegisteredEvent]: ...

    async def all_events(self, tenant_id: str) -> Sequence[RegisteredEvent]:
        """Return known events, also of gone agents."""
        ...

    async def agents(self, now: datetime) -> list[AgentRow]: ...

    async def agent(self, agent: str, now: datetime) -> AgentRow | None:
        """Return an agent, a gone one too."""
        ...

    async def definitions(self, tenant_id: str, event_name: str) -> list[EventDefinition]:
        """Return every version on every topic, of gone agents too."""
        ...

    async def deregister(self, agent: str, now: datetime) -> list[EventDefinition]:
        """Return the definitions removed with the agent. Raise NotFound, and LocalProtocolError while it is needed."""
        ...
