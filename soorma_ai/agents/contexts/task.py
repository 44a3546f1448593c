"""The contexts of a worker's handlers: its task, and the results of what the task asked others to do."""

from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Generic, cast

from typing_extensions import TypeVar

from soorma_ai.agents.annotations import PayloadShape
from soorma_ai.agents.contexts.platform import PlatformContext
from soorma_ai.agents.contexts.task_in_hand import TaskInHand
from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.domain.events import EventTopic, topic_of
from soorma_ai.kernel.domain.replies import success_reply
from soorma_ai.kernel.domain.tasks import DelegationSpec, SubTaskInfo
from soorma_ai.kernel.domain.values import Data, clip, json_object, must_be_text, span_of
from soorma_ai.kernel.rules.task import AnswerTerms, progress_of, put_result
from soorma_ai.kernel.runtime.handling.working_copies.sub_tasks import SubTasks

T = TypeVar("T", default=dict[str, Any])


@dataclass
class TaskContext(Generic[T]):
    """One task, as a working copy that is saved when the handler returns, whether or not `save` is called.

    It ends with `complete` or `fail`, once; until then it must have something to wait for. `state` is the task's own
    and holds JSON. `idempotency_key` is the same for every `attempt` at this delivery.
    """

    task_id: str
    event_type: str
    plan_id: str | None
    data: T
    response_event: str
    response_topic: EventTopic
    state: dict[str, Any]
    tenant_id: str
    user_id: str
    agent_id: str
    session_id: str | None
    goal_id: str | None
    correlation_id: str
    idempotency_key: str
    attempt: int
    in_hand: TaskInHand = field(repr=False)
    _gives: PayloadShape = field(repr=False)

    @classmethod
    async def restore(cls, sub_task_id: str, context: PlatformContext) -> "TaskContext[Any]":
        """The task of the result in hand, by the id of one of its sub-tasks or by its own.

        Raises LocalProtocolError for any other: only its own events change a task.
        """
        found = cast("TaskContext[Any] | None", context.task)
        if found is None or (sub_task_id != found.task_id and found.in_hand.parts.find(sub_task_id) is None):
            raise LocalProtocolError(f"{sub_task_id!r} is neither the task of this delivery nor one of its sub-tasks")
        return found

    @property
    def sub_tasks(self) -> Mapping[str, SubTaskInfo]:
        """All that it asked of others, by their ids, in the order in which they were asked. They are read when they are
        looked at: a handler that only waits for the last of a thousand had better ask for their group, or whether the
        task `is_complete`."""
        return self.in_hand.sub_tasks

    async def save(self) -> None:
        """Do nothing: the working copy is saved when the handler returns."""

    async def delegate(
        self,
        event_type: str,
        data: Data,
        response_event: str,
        *,
        assigned_to: str | None = None,
        response_topic: EventTopic | str = EventTopic.ACTION_RESULTS,
        timeout: float | timedelta | None = None,
    ) -> str:
        """Ask another agent, and go on in the `on_result` handler of `response_event`. Returns the sub-task's id.

        `assigned_to` names the one agent, or the capability, that it is for. After `timeout` seconds, or at the
        deadline of the task's own request, the handler gets a result that says so.
        """
        spec = DelegationSpec(event_type, data, response_event, assigned_to)
        return await self._delegate(spec, AnswerTerms(topic_of(response_topic), _span(timeout)))

    async def delegate_parallel(
        self, sub_tasks: Iterable[DelegationSpec], *, timeout: float | timedelta | None = None
    ) -> str:
        """Ask several at once. Returns the group's id, for `aggregate_parallel_results`."""
        specs = _specs(sub_tasks)
        if not specs:
            raise LocalProtocolError("delegate_parallel got nothing to delegate; its results would never come")
        group = self.in_hand.handling.moment().expectation_id("group")
        terms = AnswerTerms(timeout=_span(timeout), group=group)
        for spec in specs:
            await self._delegate(spec, terms)
        return group

    def update_sub_task_result(self, sub_task_id: str, result: Mapping[str, Any]) -> None:
        """Replace what a sub-task came to. Its own reply has been put there before the handler was called."""
        info = self.in_hand.parts.find(sub_task_id)
        if info is None:
            raise LocalProtocolError(f"task {self.task_id} has no sub-task {sub_task_id!r}")
        put_result(info, json_object("the result of a sub-task", result))

    def aggregate_parallel_results(self, parallel_group_id: str | None) -> "GroupResults":
        """The replies of a group by sub-task, in the order in which they were asked. Awaited, None while one is
        missing; looked at without that, empty.

        One that failed has come as well: its reply says `success: false` and why.
        """
        return GroupResults(self.in_hand.parts, parallel_group_id)

    def is_complete(self) -> bool:
        """Tell whether everything that was asked, of agents and of people, has been answered, well or badly."""
        return self.in_hand.is_answered

    async def complete(self, result: object = None) -> None:
        """Reply with a result. Raise LocalProtocolError when the task has ended already, InvalidResult for one off its
        schema."""
        written = await self._gives.write(self.tenant_id, f"the result of {self.event_type!r}", result)
        await self.in_hand.end(success_reply(written))

    async def fail(self, message: str, *, code: str = "failed") -> None:
        """Reply with a failure: the requester goes on to decide what to do about it."""
        for name, given in (("message", message), ("code", code)):
            must_be_text(f"fail: {name}", given)
        await self.in_hand.fail(code, message)

    async def report_progress(self, progress: float, message: str = "") -> None:
        """Tell whoever watches which share of the whole is done, from 0 to 1. It is told at once, and not undone when
        this handling fails; nothing is decided by it."""
        share = cast("object", progress)
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise LocalProtocolError(f"report_progress({progress!r}): give a share of the whole, from 0 to 1")
        handling, services = self.in_hand.handling, self.in_hand.handling.services
        handling.must_be_open()
        now, said = services.clock.now(), json_object("progress", {"share": progress, "message": message})
        told = progress, str(said["message"])
        event = progress_of(self.in_hand.record, services.clock.new_id(), handling.event.id, told, now)
        await services.store.queue.send([event], None, now, delivery=handling.delivery)

    @property
    def has_ended(self) -> bool:
        """Tell whether the task was completed, or has failed, in this handler or before."""
        return self.in_hand.has_ended

    async def _delegate(self, spec: DelegationSpec, terms: AnswerTerms) -> str:
        if spec.assigned_to is not None:
            must_be_text("assigned_to", spec.assigned_to)
        return await self.in_hand.delegate(spec, terms)


def _span(timeout: float | timedelta | None) -> timedelta | None:
    return None if timeout is None else span_of("timeout", timeout)


class GroupResults(Mapping[str, Any]):
    """The replies of a group of sub-tasks, by their ids. Awaiting it reads this group alone; looking at it reads all
    that the task has asked, on the spot."""

    def __init__(self, parts: SubTasks, group_id: str | None) -> None:
        self._parts = parts
        self._group_id = group_id

    def __await__(self) -> Generator[Any, None, dict[str, Any] | None]:
        return self._read().__await__()

    def __getitem__(self, sub_task_id: str) -> Any:
        return self._now[sub_task_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._now)

    def __len__(self) -> int:
        return len(self._now)

    def __bool__(self) -> bool:
        return not self._parts.is_pending(self._group_id) and bool(self._now)

    def __repr__(self) -> str:
        return f"GroupResults({self._now})"

    async def _read(self) -> dict[str, Any] | None:
        return {info.sub_task_id: info.result for info in await self._parts.group(self._group_id)} or None

    @property
    def _now(self) -> dict[str, Any]:
        return {info.sub_task_id: info.result for info in self._parts.group_now(self._group_id)}


def _specs(given: object) -> list[DelegationSpec]:
    listed = list(cast("Iterable[object]", given)) if isinstance(given, Iterable) else [given]
    specs = [spec for spec in listed if isinstance(spec, DelegationSpec)]
    if not isinstance(given, Iterable) or len(specs) < len(listed):
        raise LocalProtocolError(
            f"delegate_parallel({clip(repr(cast('object', given)), 80)}): give a list of "
            "DelegationSpec(event_type, data, response_event)"
        )
    return specs


@dataclass
class ResultContext:
    """Context of what a task waited for: the reply of another agent, a person's answer, or that the time for it is
    over.

    `data` is the reply as it came ({success, status, result | error}), or what a person said; `result` is what is in
    it. `sub_task_id` is the reply key, and so the id of the sub-task; for an answer of a person it is the wait's.
    """

    event_type: str
    sub_task_id: str
    data: dict[str, Any]
    result: Any
    success: bool
    error: str | None
    _task: TaskContext[Any] = field(repr=False)

    @property
    def correlation_id(self) -> str:
        """Return the key by which the answer came, which is the id of what was asked."""
        return self.sub_task_id

    async def restore_task(self) -> TaskContext[Any]:
        """The task that asked, with this result in its place."""
        return self._task
