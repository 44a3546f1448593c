"""Tasks and plans as plain data, for handlers and programs that look at one."""

from collections.abc import Iterable

from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.tasks import SubTaskInfo, TaskRecord
from soorma_ai.kernel.domain.values import JsonObject


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
