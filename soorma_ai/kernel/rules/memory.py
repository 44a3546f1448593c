"""Changes of one remembered value, and summaries of tasks and plans as plain data."""

import math
from collections.abc import Iterable
from copy import deepcopy
from typing import assert_never

from msgspec.structs import replace

from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.domain.memory import (
    AppendMemory,
    DropMemory,
    IncrementMemory,
    MemoryChange,
    StoredValue,
    StoreMemory,
    add,
    not_a_list,
)
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.tasks import SubTaskInfo, TaskRecord
from soorma_ai.kernel.domain.values import UNSTORABLE, Json, JsonObject, is_storable, json_object


def combine(first: MemoryChange | None, then: MemoryChange) -> MemoryChange:
    """Return one change that does what both do, in this order. Raises LocalProtocolError where `then` cannot follow."""
    if first is None or isinstance(then, StoreMemory | DropMemory):
        return then
    value = apply_change(apply_change(StoredValue(), first), then).value
    match first, value:
        case IncrementMemory(), int() | float():
            return IncrementMemory(then.at, value)
        case AppendMemory(), list():
            return AppendMemory(then.at, tuple(value))
        case _:
            return StoreMemory(then.at, value)


def apply_change(stored: StoredValue, change: MemoryChange | None) -> StoredValue:
    """Return what is remembered once the change is stored."""
    match change:
        case None:
            return stored
        case StoreMemory(value=value):
            return replace(stored, exists=True, value=value)
        case DropMemory():
            return replace(stored, exists=False, value=None)
        case IncrementMemory(at, by):
            return replace(stored, exists=True, value=add(at, stored.value if stored.exists else 0, by))
        case AppendMemory(at, items):
            kept = stored.value if stored.exists else []
            if not isinstance(kept, list):
                raise not_a_list(at, kept)
            return replace(stored, exists=True, value=[*kept, *items])
        case _:
            assert_never(change)


def json_value(key: str, value: object) -> Json:
    """Return a copy of `value` as JSON. Raises LocalProtocolError for what cannot be kept."""
    found = json_object("working memory", {key: value})[key]
    if not is_storable(found):
        raise LocalProtocolError(f"working memory[{key!r}] cannot be kept: {UNSTORABLE}")
    return deepcopy(found)


def number(key: str, by: object) -> int | float:
    if isinstance(by, bool) or not isinstance(by, int | float) or not math.isfinite(by):
        raise LocalProtocolError(f"increment({key!r}) by {by!r}: give a number")
    return by


def task_summary(task: TaskRecord, state: JsonObject, sub_tasks: Iterable[SubTaskInfo]) -> JsonObject:
    return {
        **_common(task),
        "task_id": task.task_id,
        "event_type": task.event_type,
        "plan_id": task.lineage.plan_id,
        "data": task.data,
        "state": state,
        "sub_tasks": {info.sub_task_id: dict(vars(info)) for info in sub_tasks},
        "goal_id": task.lineage.goal_id,
    }


def plan_summary(plan: PlanRecord, state: JsonObject) -> JsonObject:
    """`state` is the plan's working memory."""
    return {
        **_common(plan),
        "plan_id": plan.plan_id,
        "status": str(plan.status),
        "goal_event": plan.goal_event,
        "goal_data": plan.goal_data,
        "current_state": plan.current_state,
        "state": state,
        "result": plan.result,
        "reason": plan.reason,
        "parent_plan_id": plan.parent_plan_id,
        "root_plan_id": plan.root_plan_id,
        "goal_id": plan.goal_id,
        "updated_at": plan.updated_at.isoformat(),
        "deadline": plan.deadline.isoformat() if plan.deadline else None,
    }


def _common(record: TaskRecord | PlanRecord) -> JsonObject:
    return {
        "agent_id": record.agent,
        "response_event": record.answer_event,
        "response_topic": str(record.answer_topic),
        "correlation_id": record.answer_key,
        "tenant_id": record.lineage.tenant_id,
        "user_id": record.lineage.user_id,
        "session_id": record.lineage.session_id,
        "created_at": record.created_at.isoformat(),
        "version": record.version,
    }
