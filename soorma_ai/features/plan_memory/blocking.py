"""Calls of memory and sessions, to block. Written by `make clients`; do not edit."""

from typing import TypeVar

from soorma_ai.api.clients.blocks import Blocking, blocking
from soorma_ai.features.plan_memory.client import AsyncSessions, AsyncWorkingMemory

WorkingMemoryKind = TypeVar("WorkingMemoryKind", bound=AsyncWorkingMemory, covariant=True)


class WorkingMemory(Blocking[WorkingMemoryKind]):
    """Working memory of plans."""

    retrieve = blocking(AsyncWorkingMemory.retrieve)
    keys = blocking(AsyncWorkingMemory.keys)
    store = blocking(AsyncWorkingMemory.store)
    delete = blocking(AsyncWorkingMemory.delete)
    cleanup = blocking(AsyncWorkingMemory.cleanup)
    everything = blocking(AsyncWorkingMemory.everything)
    get_plan_context = blocking(AsyncWorkingMemory.get_plan_context)
    get_plan_by_correlation = blocking(AsyncWorkingMemory.get_plan_by_correlation)
    store_plan_context = blocking(AsyncWorkingMemory.store_plan_context)
    get_task_context = blocking(AsyncWorkingMemory.get_task_context)
    get_task_by_subtask = blocking(AsyncWorkingMemory.get_task_by_subtask)
    store_task_context = blocking(AsyncWorkingMemory.store_task_context)
    delete_task_context = blocking(AsyncWorkingMemory.delete_task_context)
    create_plan = blocking(AsyncWorkingMemory.create_plan)
    list_plans = blocking(AsyncWorkingMemory.list_plans)
    create_session = blocking(AsyncWorkingMemory.create_session)
    list_sessions = blocking(AsyncWorkingMemory.list_sessions)


BlockingSessionsKind = TypeVar("BlockingSessionsKind", bound=AsyncSessions, covariant=True)


class BlockingSessions(Blocking[BlockingSessionsKind]):
    """Calls about sessions."""

    sessions = blocking(AsyncSessions.sessions)
    create_session = blocking(AsyncSessions.create_session)
