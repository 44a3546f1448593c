"""Tasks that workers have taken and not ended, and the requests that these make to others."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from msgspec import Struct

from soorma_ai.kernel.domain.events import EventTopic, Lineage
from soorma_ai.kernel.domain.records import Record
from soorma_ai.kernel.domain.values import Data, JsonObject

SubTaskStatus = Literal["pending", "completed", "failed"]


class Group(Record, frozen=True):
    """Sub-tasks that were asked together, of which `pending` have not ended: some of the task's, which are numbered
    from 0 in the order in which they were asked. The first of the group has the number `first`, the last `last`."""

    group_id: str
    first: int
    last: int
    pending: int


class TaskRecord(Record, frozen=True):
    """The row of a task that waits for something; one that ends at once never has one.

    `task_id` is the id of the request that began it, and the owner key of its deliveries. Its own events inherit
    `lineage`; its result goes to `answer_*`. Of its `sub_tasks`, `pending` have not ended; None is a row from before
    they were counted. `groups` are those of which one has not ended. `questions` to people are open.
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
    event_type: str
    response_event: str
    status: SubTaskStatus = "pending"
    parallel_group_id: str | None = None
    result: JsonObject | None = None

    @property
    def has_ended(self) -> bool:
        """Tell whether its answer came, or will come no more."""
        return self.status != "pending"


class DelegationSpec(Struct, frozen=True):
    """One of several requests that are sent together. `data` is a JSON object or a model. `assigned_to` names the one
    agent, or the capability, that it is for."""

    event_type: str
    data: Data
    response_event: str
    assigned_to: str | None = None
