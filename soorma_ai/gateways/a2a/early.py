"""`/tasks/send` as the seed documents draw it: a task is posted, and its answer is waited for."""

from a2a.types import Message, Part, Role, TaskState
from a2a.utils.errors import ContentTypeNotSupportedError, InvalidParamsError
from pydantic import ValidationError

from soorma_ai.errors import NotFound
from soorma_ai.gateways.a2a.forms import A2APart, A2ATask, A2ATaskResponse, A2ATaskStatus, data_of, message_of_agent
from soorma_ai.gateways.a2a.handler import WAIT_ID
from soorma_ai.gateways.a2a.looking import find
from soorma_ai.gateways.a2a.parts import TEXT, payload_of, read, small_part_of
from soorma_ai.gateways.a2a.tasks import PlanTaskState, question_data, struct_of
from soorma_ai.gateways.goals import request_of
from soorma_ai.kernel.domain.plans import plan_id_of
from soorma_ai.kernel.domain.registry import RegisteredEvent
from soorma_ai.kernel.domain.values import JsonObject, digest
from soorma_ai.kernel.rules.waits.gates import gate_id
from soorma_ai.kernel.runtime.client.client import Client

_STATUS = {
    TaskState.TASK_STATE_SUBMITTED: A2ATaskStatus.SUBMITTED,
    TaskState.TASK_STATE_WORKING: A2ATaskStatus.WORKING,
    TaskState.TASK_STATE_INPUT_REQUIRED: A2ATaskStatus.INPUT_REQUIRED,
    TaskState.TASK_STATE_COMPLETED: A2ATaskStatus.COMPLETED,
    TaskState.TASK_STATE_CANCELED: A2ATaskStatus.CANCELED,
}


def parse(body: bytes) -> A2ATask:
    """Return the posted task. Raise InvalidParamsError."""
    try:
        return A2ATask.model_validate_json(body)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        place = ".".join(map(str, fault["loc"])) or "the body"
        raise InvalidParamsError(f"this is no task: {place}: {fault['msg']}") from error


async def earlier_goal_of(
    client: Client, goals: list[RegisteredEvent], task: A2ATask
) -> tuple[RegisteredEvent, PlanTaskState] | None:
    """Return the goal begun by this task before; None for a new task."""
    for goal in goals:
        goal_id = client.event_id(goal.definition.event_name, task.id)
        for task_id in (plan_id_of(goal_id, goal.agent), goal_id):
            try:
                return goal, await find(client, task_id)
            except NotFound:
                continue
    return None


def message_of(task: A2ATask, begun: PlanTaskState | None) -> Message:
    """Return a task as a message of the protocol: a goal, or for a begun one, the answer to a question.

    All messages of a task come under its one id, so an answer is known by its content and the id of its question.
    """
    about = task.metadata or {}
    said: JsonObject = {"said": data_of(task.message), WAIT_ID: about.get(WAIT_ID)}
    return Message(
        message_id=f"{task.id}:{digest(said)}" if begun else task.id,
        task_id=begun.task_id if begun else "",
        context_id="" if begun else task.sessionId or "",
        role=Role.ROLE_USER,
        parts=[_part(one) for one in task.message.parts],
        metadata=struct_of(about),
    )


async def says_again(client: Client, message: Message, goal: RegisteredEvent, begun: PlanTaskState) -> bool:
    """Tell whether a message repeats the first one of its task, even after people have approved another goal."""
    words, data = read(message.parts)
    held = request_of(await client.services.store.plans.expectation(gate_id(begun.plan.goal_id)))
    sent = held.data if held else begun.plan.goal_data
    return payload_of(words, data, goal.definition.payload_schema) == sent


def response_of(task: A2ATask, standing: PlanTaskState) -> A2ATaskResponse:
    status = _STATUS.get(standing.state, A2ATaskStatus.FAILED)
    told = A2ATaskResponse(id=task.id, sessionId=task.sessionId, status=status)
    if status is A2ATaskStatus.COMPLETED:
        told.message = message_of_agent(standing.plan.result)
    elif status is A2ATaskStatus.INPUT_REQUIRED:
        wait = standing.asked[0]
        told.message = message_of_agent(question_data(wait))
        told.message.parts.insert(0, A2APart(type="text", text=wait.message))
    elif status in (A2ATaskStatus.FAILED, A2ATaskStatus.CANCELED):
        told.error = standing.rejected or standing.plan.reason or str(status)
    return told


def _part(part: A2APart) -> Part:
    match part.type:
        case "text":
            return Part(text=part.text or "", media_type=TEXT)
        case "data":
            return small_part_of(part.data or {})
        case "file":
            raise ContentTypeNotSupportedError("a part is a file; give text or data")
