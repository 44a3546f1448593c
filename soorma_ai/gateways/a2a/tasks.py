"""Tasks: plans and requests, and their questions, as the protocol tells them."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import assert_never

import msgspec
from a2a.types import (
    Artifact,
    Message,
    Part,
    Role,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp

from soorma_ai.context_parts.progress import Action, ActionStatus
from soorma_ai.gateways.a2a.parts import small_part_of
from soorma_ai.kernel.domain.events import EventEnvelope, Lineage
from soorma_ai.kernel.domain.expectations import Expectation, Wait
from soorma_ai.kernel.domain.plans import PlanRecord, PlanStatus
from soorma_ai.kernel.domain.values import Json, JsonObject

FINAL = frozenset(
    {
        TaskState.TASK_STATE_COMPLETED,
        TaskState.TASK_STATE_FAILED,
        TaskState.TASK_STATE_CANCELED,
        TaskState.TASK_STATE_REJECTED,
    }
)
# What ends a turn of a conversation: the task is over, or it is somebody else's turn.
TURN_OVER = FINAL | {TaskState.TASK_STATE_INPUT_REQUIRED}
RESULT = "result"
MOST_MESSAGES = 100


_STATUS = {
    ActionStatus.PENDING: PlanStatus.PENDING,
    ActionStatus.RUNNING: PlanStatus.RUNNING,
    ActionStatus.COMPLETED: PlanStatus.COMPLETED,
    ActionStatus.FAILED: PlanStatus.FAILED,
    ActionStatus.CANCELLED: PlanStatus.CANCELLED,
    ActionStatus.TIMED_OUT: PlanStatus.FAILED,
}


class SentRequest(msgspec.Struct, frozen=True):
    """Request to a tool or a worker, with the names of a plan."""

    request: EventEnvelope
    action: Action
    result: Json

    @property
    def plan_id(self) -> str:
        return self.request.id

    @property
    def root_plan_id(self) -> str:
        return self.request.id

    @property
    def goal_id(self) -> str:
        return self.request.id

    @property
    def goal_event(self) -> str:
        return self.request.type

    @property
    def goal_data(self) -> JsonObject:
        return self.request.data

    @property
    def lineage(self) -> Lineage:
        return self.request.lineage

    @property
    def status(self) -> PlanStatus:
        return _STATUS[self.action.status]

    @property
    def reason(self) -> str | None:
        return self.action.error

    @property
    def updated_at(self) -> datetime:
        return self.action.ended_at or self.action.requested_at


class PlanTaskState(msgspec.Struct, frozen=True):
    """State of a task. `task_id` is the plan's id, or the goal's after an approval by people. `rejected` is the reason
    for the goal's refusal."""

    task_id: str
    plan: PlanRecord | SentRequest
    asked: tuple[Wait, ...] = ()
    rejected: str | None = None

    @property
    def is_request(self) -> bool:
        return isinstance(self.plan, SentRequest)

    @property
    def context_id(self) -> str:
        return context_of(self.plan)

    @property
    def state(self) -> TaskState:
        if self.rejected is not None:
            return TaskState.TASK_STATE_REJECTED
        return state_of(self.plan.status, is_asking=bool(self.asked))

    @property
    def is_final(self) -> bool:
        return self.state in FINAL


def context_of(plan: PlanRecord | SentRequest) -> str:
    """Return the conversation of a plan or a request: one of its own without a session."""
    return plan.lineage.session_id or plan.plan_id


def state_of(status: PlanStatus, *, is_asking: bool) -> TaskState:
    match status:
        case PlanStatus.COMPLETED:
            return TaskState.TASK_STATE_COMPLETED
        case PlanStatus.FAILED:
            return TaskState.TASK_STATE_FAILED
        case PlanStatus.CANCELLED:
            return TaskState.TASK_STATE_CANCELED
        case PlanStatus.PENDING | PlanStatus.RUNNING | PlanStatus.PAUSED if is_asking:
            return TaskState.TASK_STATE_INPUT_REQUIRED
        case PlanStatus.PENDING:
            return TaskState.TASK_STATE_SUBMITTED
        case PlanStatus.RUNNING | PlanStatus.PAUSED:
            return TaskState.TASK_STATE_WORKING
        case _:
            assert_never(status)


def task_of(standing: PlanTaskState, told: Sequence[Message] = ()) -> Task:
    """Return the whole task; `told` are the messages before its status."""
    return Task(
        id=standing.task_id,
        context_id=standing.context_id,
        status=status_of(standing),
        artifacts=artifacts_of(standing),
        history=list(told[-MOST_MESSAGES:]),
        metadata=struct_of(_about(standing)),
    )


def _about(standing: PlanTaskState) -> JsonObject:
    plan = standing.plan
    if standing.is_request:
        return {"request": plan.goal_event}
    return {"goal": plan.goal_event, "plan_id": plan.plan_id}


def status_of(standing: PlanTaskState) -> TaskStatus:
    message = _message_of(standing)
    return TaskStatus(state=standing.state, message=message, timestamp=timestamp_of(standing.plan.updated_at))


def artifacts_of(standing: PlanTaskState) -> list[Artifact]:
    plan = standing.plan
    if plan.status is not PlanStatus.COMPLETED or plan.result is None:
        return []
    return [Artifact(artifact_id=RESULT, name=RESULT, parts=[small_part_of(plan.result)])]


def updates_of(standing: PlanTaskState) -> Iterator[TaskArtifactUpdateEvent | TaskStatusUpdateEvent]:
    """Return the events of a new state: its artifacts, then its status."""
    for artifact in artifacts_of(standing):
        yield TaskArtifactUpdateEvent(
            task_id=standing.task_id, context_id=standing.context_id, artifact=artifact, last_chunk=True
        )
    yield TaskStatusUpdateEvent(task_id=standing.task_id, context_id=standing.context_id, status=status_of(standing))


def mark_of(standing: PlanTaskState) -> str:
    """Return the mark of a state: two states with one mark are told as one."""
    return " ".join((TaskState.Name(standing.state), *(wait.wait_id for wait in standing.asked)))


def history_of(standing: PlanTaskState, expectations: Iterable[Expectation]) -> list[Message]:
    """Return the messages so far: the goal, the closed questions, and their answers."""
    plan, said = standing.plan, list[Message]()
    said.append(_message(standing, Role.ROLE_USER, plan.goal_id, [small_part_of(plan.goal_data)]))
    open_now = {wait.wait_id for wait in standing.asked}
    for one in expectations:
        wait = Wait.of(one)
        if wait is None or one.id in open_now:
            continue
        said.append(_question(standing, wait))
        if one.answer is not None:
            said.append(_message(standing, Role.ROLE_USER, one.answer.answer_id, [small_part_of(one.answer.payload)]))
    return said


def timestamp_of(moment: datetime) -> Timestamp:
    stamp = Timestamp()
    stamp.FromDatetime(moment)
    return stamp


def struct_of(content: JsonObject) -> Struct:
    struct = Struct()
    struct.update(content)
    return struct


def _message_of(standing: PlanTaskState) -> Message | None:
    plan = standing.plan
    if standing.rejected is not None:
        return _message(standing, Role.ROLE_AGENT, f"{standing.task_id}:rejected", [small_part_of(standing.rejected)])
    if plan.status in (PlanStatus.FAILED, PlanStatus.CANCELLED):
        return _message(
            standing, Role.ROLE_AGENT, f"{plan.plan_id}:end", [small_part_of(plan.reason or str(plan.status))]
        )
    if standing.asked and not plan.status.is_final:
        return _question(standing, standing.asked[0])
    return None


def question_data(wait: Wait) -> JsonObject:
    """Return the data of a question for its answer, beside its words."""
    about: JsonObject = {
        "wait_id": wait.wait_id,
        "reason": wait.reason,
        "response_schema": wait.response_schema,
        "allowed_decisions": [str(one) for one in wait.allowed_decisions],
        "approvers": list(wait.approvers),
        "deadline": wait.deadline.isoformat() if wait.deadline else None,
    }
    if wait.proposed_event is not None:
        about |= {"proposed_event": wait.proposed_event, "proposed_data": wait.proposed_data, "digest": wait.digest}
    return about


def _question(standing: PlanTaskState, wait: Wait) -> Message:
    words = [small_part_of(wait.message)] if wait.message else []
    return _message(standing, Role.ROLE_AGENT, wait.wait_id, [*words, small_part_of(question_data(wait))])


def _message(standing: PlanTaskState, role: Role, message_id: str, parts: Sequence[Part]) -> Message:
    return Message(
        message_id=message_id, context_id=standing.context_id, task_id=standing.task_id, role=role, parts=parts
    )
