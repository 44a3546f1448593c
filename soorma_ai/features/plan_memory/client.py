"""Working memory and sessions over HTTP: the calls of more than one request."""

from collections.abc import Mapping
from typing import Any

from soorma_ai.api.answers import Value
from soorma_ai.api.clients.address import PathTail
from soorma_ai.api.clients.messages import Page, get, post
from soorma_ai.api.clients.views import unless_held
from soorma_ai.errors import NotFound
from soorma_ai.features.plan_memory.rows import MemoryRows, SessionRows
from soorma_ai.kernel.domain.memory import PlanSummary, SessionSummary
from soorma_ai.kernel.domain.plans import Status
from soorma_ai.kernel.domain.values import Json, JsonObject, json_object
from soorma_ai.kernel.rules.memory import json_value

_WORKING = "working-memory"


class AsyncWorkingMemory(MemoryRows):
    """Working memory of plans. Every call raises NotFound for a plan invisible to its caller."""

    async def retrieve(self, key: str, plan_id: str) -> Any:
        """Return a value; None for an unknown key."""
        try:
            return (await self._caller.read(get(_WORKING, plan_id, PathTail(key)), Value)).value
        except NotFound:
            await self.keys(plan_id)  # raises where it is the plan that is not there
            return None

    async def store(self, key: str, value: Any, plan_id: str) -> bool:
        """Set a value in a plan's working memory, and return True."""
        await self._caller.ask(post(_WORKING, plan_id, body={"key": key, "value": json_value(key, value)}))
        return True

    async def cleanup(self, plan_id: str) -> int:
        """Remove all keys of the plan, and return their number."""
        return sum([await self.delete(key, plan_id) for key in await self.keys(plan_id)])

    async def everything(self, plan_id: str) -> dict[str, Json]:
        """Return all keys of the plan with their values."""
        state = (await self.get_plan_context(plan_id)).get("state")
        return json_object("the state of a plan", state)

    async def create_plan(
        self,
        goal_event: str,
        goal_data: Mapping[str, Any],
        response_event: str | None = None,
        session_id: str | None = None,
        parent_plan_id: str | None = None,
        *,
        idempotency_key: str | None = None,
    ) -> PlanSummary:
        """Submit a goal, and return its plan, which is pending until its planner has the goal. Raise as `submit`."""
        body: JsonObject = {
            "goal_event": goal_event,
            "goal_data": json_object(f"the data of {goal_event!r}", goal_data),
            "response_event": response_event,
            "session_id": session_id,
            "parent_plan_id": parent_plan_id,
        }
        key = self._caller.line.new_key() if idempotency_key is None else idempotency_key
        response = await self._caller.ask(post("memory", "plans", body=body, key=key))
        return unless_held(response, goal_event).read(PlanSummary)

    async def list_plans(
        self, status: Status | None = None, session_id: str | None = None, limit: int = 20
    ) -> list[PlanSummary]:
        """Return plans in few words, the newest first; see `plans` of the client."""
        where = ("memory", "plans")
        return await self._caller.list(Page[PlanSummary], limit, *where, status=status, session_id=session_id)

    async def create_session(
        self, name: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> SessionSummary:
        """Make a session with a name; see `create_session` of the client."""
        return await AsyncSessions(self._caller).create_session(name, metadata)

    async def list_sessions(self, limit: int = 20) -> list[SessionSummary]:
        """Return conversations, the one with the latest event first; see `sessions` of the client."""
        return await AsyncSessions(self._caller).sessions(limit=limit)


class AsyncSessions(SessionRows):
    """Calls about sessions."""

    async def create_session(
        self, name: str | None = None, metadata: Mapping[str, Any] | None = None, *, session_id: str | None = None
    ) -> SessionSummary:
        """Make a session with a `name`, or return the existing one. A plan in a new session makes it too."""
        about = json_object("the metadata of a session", metadata or {})
        body: JsonObject = {"name": name, "metadata": about, "session_id": session_id or self._caller.line.new_key()}
        return await self._caller.read(post("memory", "sessions", body=body, is_safe=True), SessionSummary)
