"""Memory, registry and tracker of a platform elsewhere."""

from collections.abc import Iterable, Mapping
from typing import Any

from soorma_ai.api.clients.address import Rest
from soorma_ai.api.clients.answers import Deleted, Deregistered, Discovered, Keys, Value
from soorma_ai.api.clients.messages import Page, delete, get, post
from soorma_ai.api.clients.sender import Caller
from soorma_ai.errors import LocalProtocolError, NotFound
from soorma_ai.features.knowledge.client import AsyncMemos
from soorma_ai.kernel.domain.events import EventTopic, topic_of
from soorma_ai.kernel.domain.expectations import Untaken
from soorma_ai.kernel.domain.memory import PlanSummary
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.domain.registry import DiscoveredAgent, Discovery, EventDefinition, RegisteredEvent
from soorma_ai.kernel.domain.tracking import (
    Action,
    Backlog,
    DelegationGroup,
    PlanNode,
    PlanPage,
    PlanProgress,
    TimelineEntry,
)
from soorma_ai.kernel.domain.values import Json, JsonObject, json_object
from soorma_ai.kernel.rules.memory import json_value

_WORKING = "working-memory"


class AsyncMemory(AsyncMemos):
    """The working memory of plans; every call raises NotFound for a plan that is not there for who calls. What outlives
    plans is explained by AsyncMemos."""

    async def retrieve(self, key: str, plan_id: str) -> Any:
        """Return a value, None for what is not there."""
        try:
            return (await self._caller.read(get(_WORKING, plan_id, Rest(key)), Value)).value
        except NotFound:
            await self.keys(plan_id)  # raises where it is the plan that is not there
            return None

    async def keys(self, plan_id: str) -> list[str]:
        return (await self._caller.read(get(_WORKING, plan_id), Keys)).keys

    async def store(self, key: str, value: Any, plan_id: str) -> None:
        await self._caller.ask(post(_WORKING, plan_id, body={"key": key, "value": json_value(key, value)}))

    async def delete(self, key: str, plan_id: str) -> bool:
        """Remove a value. False when there was nothing."""
        return (await self._caller.read(delete(_WORKING, plan_id, Rest(key)), Deleted)).deleted

    async def cleanup(self, plan_id: str) -> int:
        """Remove everything of the plan, and return how many keys that were."""
        return sum([await self.delete(key, plan_id) for key in await self.keys(plan_id)])

    async def everything(self, plan_id: str) -> dict[str, Json]:
        state = (await self.get_plan_context(plan_id)).get("state")
        return json_object("the state of a plan", state)

    async def get_plan_context(self, plan_id: str) -> JsonObject:
        """Return the plan's row with its working memory as `state`."""
        return await self._caller.read(get("memory", "plan-context", plan_id), JsonObject)

    async def get_plan_by_correlation(self, correlation_id: str) -> JsonObject:
        """Return the context of a plan by the reply key of anything that it or one of its workers asked, or of its
        goal."""
        return await self._caller.read(get("memory", "plan-context", "by-correlation", correlation_id), JsonObject)

    async def store_plan_context(self, plan_id: str, session_id: str | None, context: Mapping[str, Any]) -> None:
        """Store each key in the plan's working memory, all of them or none."""
        given = json_object("the context of a plan", context)
        body: JsonObject = {"plan_id": plan_id, "session_id": session_id, "context": given}
        await self._caller.ask(post("memory", "plan-context", body=body))

    async def get_task_context(self, task_id: str) -> JsonObject:
        """Return a task that has not ended. Raise NotFound."""
        return await self._caller.read(get("memory", "task-context", task_id), JsonObject)

    async def get_task_by_subtask(self, sub_task_id: str) -> JsonObject:
        """Return the task that asked for it, while it has not ended. Raise NotFound."""
        return await self._caller.read(get("memory", "task-context", "by-subtask", sub_task_id), JsonObject)


class AsyncRegistry:
    """Agents and their events."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def find(self, capability: str) -> DiscoveredAgent | None:
        """Return a live agent that has the capability; of several, the first by name."""
        found = await self.discover([capability])
        return found[0] if found else None

    async def discover(self, requirements: Iterable[str], *, include_events: bool = True) -> Discovery:
        """Return live agents that have any of these capabilities, those that have most of them first; each says which
        (`meets`), and `unmet` is what nobody has. Without requirements, all of them. Without events, a capability is
        only its name."""
        if isinstance(requirements, str):
            raise LocalProtocolError(f"requirements={requirements!r} would be its letters; give a list")
        body: JsonObject = {"requirements": [*requirements], "include_events": include_events}
        found = await self._caller.read(post("discover", body=body, is_safe=True), Discovered)
        return Discovery(found.agents, found.unmet)

    async def query(
        self,
        *,
        name: str | None = None,
        capability: str | None = None,
        event: str | None = None,
        topic: EventTopic | str | None = None,
        live: bool = True,
    ) -> list[DiscoveredAgent]:
        """Return the agents that fit everything given, by name. With `live=False`, those that are gone too."""
        asked = {"name": name, "capability": capability, "event": event, "topic": _topic(topic), "live": live}
        return await self._caller.list(Page[DiscoveredAgent], None, "agents", **asked)

    async def events(
        self,
        *,
        owner: str | None = None,
        name: str | None = None,
        topic: EventTopic | str | None = None,
        live: bool = True,
    ) -> list[RegisteredEvent]:
        """Return what agents registered, each with the agent that owns it. One name on two topics is two events."""
        asked = {"owner": owner, "name": name, "topic": _topic(topic), "live": live}
        return await self._caller.list(Page[RegisteredEvent], None, "events", "definitions", **asked)

    async def get_event(
        self, event_name: str, version: str | None = None, *, topic: EventTopic | str | None = None
    ) -> EventDefinition | None:
        """Return the event as a live agent defines it, if possible one that takes it; a `version` even of gone ones.
        One whose name has a slash is found by `events` only."""
        if "/" in event_name:
            raise LocalProtocolError(f"{event_name!r} has a slash: over HTTP, events(name=...) finds it")
        asked = get("events", "definitions", event_name, version=version, topic=_topic(topic))
        try:
            return await self._caller.read(asked, EventDefinition)
        except NotFound:
            return None

    async def get_event_schema(
        self, event_name: str, version: str | None = None, *, topic: EventTopic | str | None = None
    ) -> JsonObject | None:
        """Return the schema of the event's payload; see `get_event`."""
        found = await self.get_event(event_name, version, topic=topic)
        return found.payload_schema if found else None

    async def backlogs(self) -> list[Backlog]:
        """Return how much of the tenant's waits for which agent; of very much, a part. Raise Forbidden."""
        return await self._caller.list(Page[Backlog], None, "backlogs")

    async def deregister(self, agent: str) -> list[EventDefinition]:
        """Remove an agent that is gone for good, and return the definitions that it alone registered, also removed.
        Raise NotFound, and LocalProtocolError while it lives or is needed."""
        return (await self._caller.read(delete("agents", agent), Deregistered)).removed


class AsyncTracker:
    """The progress of plans. Every call raises NotFound for what is not there for who calls."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def plan_progress(self, plan_id: str) -> PlanProgress:
        return await self._caller.read(get("tracker", "plans", plan_id), PlanProgress)

    async def actions(self, plan_id: str) -> list[Action]:
        """Return each request of the plan, and those that its workers made for parts of their tasks, in order."""
        return await self._caller.list(Page[Action], None, "tracker", "plans", plan_id, "actions")

    async def timeline(self, plan_id: str) -> list[TimelineEntry]:
        """Return the lines of `soorma plans show`, in the order of time."""
        return await self._caller.list(Page[TimelineEntry], None, "tracker", "plans", plan_id, "timeline")

    async def plans(
        self,
        *,
        status: PlanStatus | str | None = None,
        session_id: str | None = None,
        search: str = "",
        before: int = 0,
        limit: int = 50,
    ) -> PlanPage:
        """Return plans, the newest first, with what they spent and wait for. `search` is a part of the id, or of the
        goal's, the planner's or the user's name; `before` is that of the page before. `status` may be 'active'."""
        named = None if status is None else str(status)
        asked = get("tracker", "plans", status=named, session_id=session_id, search=search, before=before, limit=limit)
        return await self._caller.read(asked, PlanPage)

    async def plan_tree(self, plan_id: str) -> PlanNode:
        """Return the plan, and those that it led to, as a tree."""
        return await self._caller.read(get("tracker", "plans", plan_id, "tree"), PlanNode)

    async def session_plans(self, session_id: str, *, limit: int = 50) -> list[PlanSummary]:
        """Return the plans of a session, newest first."""
        return await self._caller.list(Page[PlanSummary], limit, "tracker", "sessions", session_id, "plans")

    async def delegation_group(self, group_id: str) -> DelegationGroup:
        """Return what a worker asked for with `delegate_parallel`, also when its task has ended."""
        return await self._caller.read(get("tracker", "groups", group_id), DelegationGroup)

    async def untaken(
        self, plan_id: str | None = None, *, task_id: str | None = None, limit: int = 50
    ) -> list[Untaken]:
        """Return requests that nobody takes yet, oldest first: of all, of a plan's tree, or for parts of a task."""
        return await self._caller.list(Page[Untaken], limit, "tracker", "untaken", plan_id=plan_id, task_id=task_id)


def _topic(given: EventTopic | str | None) -> str | None:
    """Return a topic's name. Raise LocalProtocolError for one that there is not."""
    return None if given is None else str(topic_of(given))
