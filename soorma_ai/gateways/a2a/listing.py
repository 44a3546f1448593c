"""Lists of tasks: the newest first, by pages."""

from collections.abc import Sequence
from datetime import UTC, datetime

from a2a.types import ListTasksRequest, TaskState
from a2a.utils.errors import InvalidParamsError
from a2a.utils.task import ListTasksCursor, decode_list_tasks_cursor, encode_list_tasks_cursor

from soorma_ai.gateways.a2a.tasks import PlanTaskState, context_of
from soorma_ai.kernel.domain.expectations import Wait
from soorma_ai.kernel.runtime.client.client import Client

MOST_LISTED = 1_000


async def list_tasks(client: Client, params: ListTasksRequest) -> list[PlanTaskState]:
    """Return the newest tasks visible to this caller, by their last change, newest first."""
    plans = await client.plans(session_id=params.context_id or None, limit=MOST_LISTED)
    asked: dict[str, list[Wait]] = {}
    for wait in await client.waits(limit=MOST_LISTED):
        asked.setdefault(wait.root_plan_id or "", []).append(wait)
    roots = [plan for plan in plans if plan.parent_plan_id is None]
    found = [PlanTaskState(plan.plan_id, plan, tuple(asked.get(plan.plan_id, ()))) for plan in roots]
    return sorted(found, key=lambda one: _cursor(one).sort_key(), reverse=True)


def is_asked_for(standing: PlanTaskState, params: ListTasksRequest) -> bool:
    if params.status not in (TaskState.TASK_STATE_UNSPECIFIED, standing.state):
        return False
    if params.context_id and params.context_id != context_of(standing.plan):
        return False
    after = params.status_timestamp_after.ToDatetime(UTC) if params.HasField("status_timestamp_after") else None
    return after is None or standing.plan.updated_at >= after


def behind(listed: Sequence[PlanTaskState], token: str) -> Sequence[PlanTaskState]:
    """Return the tasks behind the place of a token. Raise InvalidParamsError for a foreign token."""
    if not token:
        return listed
    cursor = decode_list_tasks_cursor(token)
    if cursor is None:
        raise InvalidParamsError("pageToken: give the nextPageToken of the page before")
    return [one for one in listed if _cursor(one).sort_key() < cursor.sort_key()]


def _cursor(standing: PlanTaskState) -> ListTasksCursor:
    since = standing.plan.updated_at - datetime.fromtimestamp(0, UTC)
    return ListTasksCursor((since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1_000, standing.task_id)


def token_of(last: PlanTaskState) -> str:
    """Return the token for the page after this task."""
    return encode_list_tasks_cursor(_cursor(last))
