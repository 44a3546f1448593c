"""Tasks and plans as plain data, for handlers that want to look at one."""

from collections.abc import Iterable

from soorma_ai.domain.plans import PlanRecord
from soorma_ai.domain.tasks import SubTaskInfo, TaskRecord
from soorma_ai.domain.values import Json, JsonObject


def task_summary(task: TaskRecord, state: JsonObject, sub_tasks: Iterable[SubTaskInfo]) -> JsonObject:
    parts: JsonObject = {info.sub_task_id: _sub_task_told(info) for info in sub_tasks}
    return {
        "task_id": task.task_id,
        "agent_id": task.agent,
        "event_type": task.event_type,
        "plan_id": task.lineage.plan_id,
        "data": task.data,
        "state": state,
        "sub_tasks": parts,
        "response_event": task.answer_event,
        "response_topic": str(task.answer_topic),
        "correlation_id": task.answer_key,
        "tenant_id": task.lineage.tenant_id,
        "user_id": task.lineage.user_id,
        "session_id": task.lineage.session_id,
        "goal_id": task.lineage.goal_id,
        "created_at": task.created_at.isoformat(),
        "version": task.version,
    }


def plan_summary(plan: PlanRecord, state: JsonObject) -> JsonObject:
    """`state` is the plan's working memory."""
    return {
        "plan_id": plan.plan_id,
        "agent_id": plan.agent,
        "status": str(plan.status),
        "goal_event": plan.goal_event,
        "goal_data": plan.goal_data,
        "current_state": plan.current_state,
        "state": state,
        "result": plan.result,
        "reason": plan.reason,
        "response_event": plan.answer_event,
        "response_topic": str(plan.answer_topic),
        "correlation_id": plan.answer_key,
        "parent_plan_id": plan.parent_plan_id,
        "root_plan_id": plan.root_plan_id,
        "tenant_id": plan.lineage.tenant_id,
        "user_id": plan.lineage.user_id,
        "session_id": plan.lineage.session_id,
        "goal_id": plan.goal_id,
        "created_at": plan.created_at.isoformat(),
        "updated_at": plan.updated_at.isoformat(),
        "deadline": plan.deadline.isoformat() if plan.deadline else None,
        "version": plan.version,
    }


def _sub_task_told(info: SubTaskInfo) -> Json:
    return {
        "sub_task_id": info.sub_task_id,
        "event_type": info.event_type,
        "response_event": info.response_event,
        "status": info.status,
        "parallel_group_id": info.parallel_group_id,
        "result": info.result,
    }
