"""Calls of memory and sessions, over HTTP. Written by `make clients`; do not edit."""

from collections.abc import Mapping
from typing import Any

from soorma_ai.api.clients.address import PathTail
from soorma_ai.api.clients.messages import Page, delete, get, post
from soorma_ai.api.clients.sender import Sender
from soorma_ai.kernel.domain.memory import SessionSummary
from soorma_ai.kernel.domain.parameters import Id, Name
from soorma_ai.kernel.domain.values import JsonObject, json_object


class MemoryRows:
    """Working memory of plans."""

    def __init__(self, caller: Sender) -> None:
        self._caller = caller

    async def keys(self, plan_id: Id) -> list[str]:
        """List the keys of a plan's working memory."""
        return await self._caller.read_key(get("working-memory", plan_id), "keys", list[str])

    async def delete(self, key: Name, plan_id: Id) -> bool:
        """Remove a value from a plan's working memory. False for an unknown key."""
        return await self._caller.read_key(delete("working-memory", plan_id, PathTail(key)), "deleted", bool)

    async def get_plan_context(self, plan_id: Id) -> JsonObject:
        """Return the plan's row with its working memory as `state`."""
        return await self._caller.read(get("memory", "plan-context", plan_id), JsonObject)

    async def get_plan_by_correlation(self, correlation_id: Id) -> JsonObject:
        """Return the context of a plan by the reply key of its goal, of one of its requests, or of a request of its
        workers."""
        return await self._caller.read(get("memory", "plan-context", "by-correlation", correlation_id), JsonObject)

    async def store_plan_context(self, plan_id: Id, session_id: Id | None, context: Mapping[str, Any]) -> bool:
        """Store each key in the plan's working memory, all of them or none, and return True. Raise LocalProtocolError
        for another session than the plan's."""
        return await self._caller.read_key(
            post(
                "memory",
                "plan-context",
                body={"plan_id": plan_id, "session_id": session_id, "context": json_object("context", context)},
            ),
            "stored",
            bool,
        )

    async def get_task_context(self, task_id: Id) -> JsonObject:
        """Return a running task. Raise NotFound."""
        return await self._caller.read(get("memory", "task-context", task_id), JsonObject)

    async def get_task_by_subtask(self, sub_task_id: Id) -> JsonObject:
        """Return the running task with this sub-task. Raise NotFound."""
        return await self._caller.read(get("memory", "task-context", "by-subtask", sub_task_id), JsonObject)

    async def store_task_context(self, task_id: Id, plan_id: Id | None, context: Mapping[str, Any]) -> bool:
        """Store each key in the `state` of an open task, and return True. A handler with that task in hand runs again,
        on the new state. Raise LocalProtocolError for another plan than the task's."""
        return await self._caller.read_key(
            post(
                "memory",
                "task-context",
                body={"task_id": task_id, "plan_id": plan_id, "context": json_object("context", context)},
            ),
            "stored",
            bool,
        )

    async def delete_task_context(self, task_id: Id) -> bool:
        """Return False for a task that has ended: its row went with it. Raise IllegalTransition for an open one: its
        worker ends it."""
        return await self._caller.read_key(delete("memory", "task-context", task_id), "deleted", bool)


class SessionRows:
    """Calls about sessions."""

    def __init__(self, caller: Sender) -> None:
        self._caller = caller

    async def sessions(self, *, limit: int = 50) -> list[SessionSummary]:
        """Return conversations, by their last event, newest first."""
        return await self._caller.list(Page[SessionSummary], limit, "memory", "sessions")
