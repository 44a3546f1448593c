"""Calls of the kernel over HTTP. Written by `make clients`; do not edit."""

from soorma_ai.api.clients.messages import Page, delete, get, post
from soorma_ai.api.clients.sender import Sender
from soorma_ai.kernel.domain.events import EventEnvelope, Topic, topic_of
from soorma_ai.kernel.domain.expectations import Wait
from soorma_ai.kernel.domain.parameters import Agent, Id, Name
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.plans import PlanDetails, PlanRecord, Status
from soorma_ai.kernel.domain.registry import Backlog, DiscoveredAgent, EventDefinition, RegisteredEvent


class RegistryRows:
    """Agents and their events."""

    def __init__(self, caller: Sender) -> None:
        self._caller = caller

    async def query(
        self,
        *,
        name: Name | None = None,
        capability: Name | None = None,
        event: Name | None = None,
        topic: Topic | None = None,
        live: bool = True,
    ) -> list[DiscoveredAgent]:
        """Return the agents under all these conditions, by name. `event` and `topic` belong to one event of the agent.
        With `live=False`, gone agents are included."""
        return await self._caller.list(
            Page[DiscoveredAgent],
            None,
            "agents",
            name=name,
            capability=capability,
            event=event,
            topic=topic and topic_of(topic),
            live=live,
        )

    async def events(
        self, *, owner: Name | None = None, name: Name | None = None, topic: Topic | None = None, live: bool = True
    ) -> list[RegisteredEvent]:
        """Return the registered events, each with its agent. One name on two topics is two events. The results declared
        by a capability are included, as events of its agent."""
        return await self._caller.list(
            Page[RegisteredEvent],
            None,
            "events",
            "definitions",
            owner=owner,
            name=name,
            topic=topic and topic_of(topic),
            live=live,
        )

    async def backlogs(self) -> list[Backlog]:
        """Return the tenant's waiting deliveries by agent; of very many, a part. Raise Forbidden."""
        return await self._caller.list(Page[Backlog], None, "backlogs")

    async def deregister(self, agent: Agent) -> list[EventDefinition]:
        """Remove a gone agent for good, and return the definitions registered by it alone, also removed.

        Raises NotFound, and LocalProtocolError while it lives, or while a plan, a task or a delivery needs it. An
        operator removes the tenant's agents, a key of an agent that one, and only the trusted root the shared ones,
        else Forbidden."""
        return await self._caller.read_key(delete("agents", agent), "removed", list[EventDefinition])


class ClientRows:
    """Calls of the kernel, as one person of one tenant."""

    def __init__(self, caller: Sender) -> None:
        self._caller = caller

    async def resume_all(self, *, agent: str | None = None) -> list[str]:
        """Resume all plans in need of an operator: those of this person, for operators those of the tenant; with
        `agent`, those of one planner. Return their ids."""
        return await self._caller.read_key(
            post("resumptions", body={"agent": agent}, is_safe=True), "plan_ids", list[str]
        )

    async def plans(
        self, *, status: Status | None = None, session_id: Id | None = None, limit: int = 50
    ) -> list[PlanRecord]:
        """Return plans, the newest first. `status` may be 'active', too: all running plans."""
        return await self._caller.list(Page[PlanRecord], limit, "plans", status=status, session_id=session_id)

    async def plan(self, plan_id: Id) -> PlanDetails:
        """Return everything about a plan: its steps, decisions, usage and waits. Raise NotFound."""
        return await self._caller.read(get("plans", plan_id), PlanDetails)

    async def find_events(self, beginning: Id) -> list[EventEnvelope]:
        """Return the events in sight of this person with ids of this `beginning`, by id, at most 500."""
        return (await self._caller.read(get("lookup", "events", beginning=beginning), Page[EventEnvelope])).items

    async def waits(self, *, limit: int = 50, plan_id: Id | None = None) -> list[Wait]:
        """Return open questions for this person to see or to answer, the most urgent first; with a `plan_id` those of
        its tree."""
        return await self._caller.list(Page[Wait], limit, "waits", plan_id=plan_id)

    async def wait(self, wait_id: Id) -> Wait:
        """Return a question, open or closed. Raise NotFound without the right to see or answer it."""
        return await self._caller.read(get("waits", wait_id), Wait)

    async def find_waits(self, beginning: Id) -> list[Wait]:
        """Return the questions of this person with ids of this `beginning`: the open ones, or without any the closed
        ones."""
        return (await self._caller.read(get("lookup", "waits", beginning=beginning), Page[Wait])).items

    async def whoami(self) -> Person:
        """Return the person of these calls: tenant, name and roles. Roles are None for the trusted root."""
        return await self._caller.read(get("caller"), Person)
