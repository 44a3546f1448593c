"""Working memory and sessions over HTTP: the calls of more than one request."""

from collections.abc import Mapping
from typing import Any

from soorma_ai.api.answers import Value
from soorma_ai.api.clients.address import PathTail
from soorma_ai.api.clients.messages import get, post
from soorma_ai.errors import NotFound
from soorma_ai.features.plan_memory.rows import MemoryRows, SessionRows
from soorma_ai.kernel.domain.memory import SessionSummary
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

    async def store(self, key: str, value: Any, plan_id: str) -> None:
        """Set a value in a plan's working memory."""
        await self._caller.ask(post(_WORKING, plan_id, body={"key": key, "value": json_value(key, value)}))

    async def cleanup(self, plan_id: str) -> int:
        """Remove all keys of the plan, and return their number."""
        return sum([await self.delete(key, plan_id) for key in await self.keys(plan_id)])

    async def everything(self, plan_id: str) -> dict[str, Json]:
        """Return all keys of the plan with their values."""
        state = (await self.get_plan_context(plan_id)).get("state")
        return json_object("the state of a plan", state)


class AsyncSessions(SessionRows):
    """Calls about sessions."""

    async def create_session(
        self, name: str | None = None, metadata: Mapping[str, Any] | None = None, *, session_id: str | None = None
    ) -> SessionSummary:
        """Make a session with a `name`, or return the existing one. A plan in a new session makes it too."""
        about = json_object("the metadata of a session", metadata or {})
        body: JsonObject = {"name": name, "metadata": about, "session_id": session_id or self._caller.line.new_key()}
        return await self._caller.read(post("memory", "sessions", body=body, is_safe=True), SessionSummary)
