"""Calls of memory and sessions. Written by `make clients`; do not edit."""

from collections.abc import Mapping
from typing import Any, Protocol

from soorma_ai.kernel.domain.memory import PlanSummary, SessionSummary
from soorma_ai.kernel.domain.parameters import Id, Name
from soorma_ai.kernel.domain.plans import Status
from soorma_ai.kernel.domain.values import Json, JsonObject


class WorkingMemoryCalls(Protocol):
    """Working memory of plans."""

    async def retrieve(self, key: str, plan_id: str) -> Any: ...

    async def keys(self, plan_id: Id) -> list[str]: ...

    async def store(self, key: Name, value: Any, plan_id: Id) -> bool: ...

    async def delete(self, key: Name, plan_id: Id) -> bool: ...

    async def cleanup(self, plan_id: str) -> int: ...

    async def everything(self, plan_id: str) -> dict[str, Json]: ...

    async def get_plan_context(self, plan_id: Id) -> JsonObject: ...

    async def get_plan_by_correlation(self, correlation_id: Id) -> JsonObject: ...

    async def store_plan_context(self, plan_id: Id, session_id: Id | None, context: Mapping[str, Any]) -> bool: ...

    async def get_task_context(self, task_id: Id) -> JsonObject: ...

    async def get_task_by_subtask(self, sub_task_id: Id) -> JsonObject: ...

    async def store_task_context(self, task_id: Id, plan_id: Id | None, context: Mapping[str, Any]) -> bool: ...

    async def delete_task_context(self, task_id: Id) -> bool: ...

    async def create_plan(
        self,
        goal_event: str,
        goal_data: Mapping[str, Any],
        response_event: str | None = None,
        session_id: str | None = None,
        parent_plan_id: str | None = None,
        *,
        idempotency_key: str | None = None,
    ) -> PlanSummary: ...

    async def list_plans(
        self, status: Status | None = None, session_id: str | None = None, limit: int = 20
    ) -> list[PlanSummary]: ...

    async def create_session(
        self, name: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> SessionSummary: ...

    async def list_sessions(self, limit: int = 20) -> list[SessionSummary]: ...


class SessionCalls(Protocol):
    """Calls about sessions."""

    async def sessions(self, *, limit: int = 50) -> list[SessionSummary]: ...

    async def create_session(
        self, name: Name | None = None, metadata: Mapping[str, Any] | None = None, *, session_id: Id | None = None
    ) -> SessionSummary: ...
