"""Running tasks of workers, and their requests to others."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from msgspec import Struct

from soorma_ai.kernel.domain.events import EventTopic, Lineage
from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.values import Data, JsonObject

SubTaskStatus = Literal["pending", "completed", "failed"]


class Group(Record, frozen=True):
    """Sub-tasks requested together; `pending` of them have not ended. They are numbered from 0 among the task's, in the
    order of asking. The first of the group has the number `first`, the last `last`."""

    group_id: str
    first: int
    last: int
    pending: int


class TaskRecord(Record, frozen=True):
    """Row of a waiting task; a task with an immediate end never has one.

    `task_id` is the id of its first request, and the owner key of its deliveries. Its own events inherit `lineage`; its
    result goes to `answer_*`. Of its `sub_tasks`, `pending` have not ended; None is a row from before this count.
    `groups` are the unfinished ones. `questions` to people are open.
    """

    task_id: str
    agent: str
    event_type: str
    data: JsonObject
    lineage: Lineage
    answer_key: str
    answer_event: str
    answer_topic: EventTopic
    created_at: datetime
    state: JsonObject
    sub_tasks: int = 0
    version: int = 0
    pending: int | None = None
    groups: tuple[Group, ...] = ()
    questions: int = 0


@dataclass
class SubTaskInfo:
    """A request to another agent. `result` is the reply as it came: {success, status, result | error}."""

    sub_task_id: str
    """Id of the sub-task; also its reply key."""
    event_type: str
    """Name of the request."""
    response_event: str
    """Name of the answer."""
    status: SubTaskStatus = "pending"
    """Status of the sub-task."""
    parallel_group_id: str | None = None
    """Group of parallel requests; None without one."""
    result: JsonObject | None = None

    @property
    def has_ended(self) -> bool:
        """Tell whether its answer came, or will come no more."""
        return self.status != "pending"


class DelegationSpec(Struct, frozen=True):
    """One of several requests sent together. `data` is a JSON object or a model. `assigned_to` names one agent, or one
    capability, as the only taker."""

    event_type: str
    """Name of the request."""
    data: Data
    response_event: str
    """Name of the answer."""
    assigned_to: str | None = None
