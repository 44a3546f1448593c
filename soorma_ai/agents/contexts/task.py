"""Contexts of a worker's handlers: its task, and the results of the task's requests."""

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
    """Task, as a working copy; it is saved at the handler's return, with or without `save`.

    It ends by one call of `complete` or `fail`. Until then it needs something to wait for. `state` belongs to the task
    and holds JSON. `idempotency_key` is the same for every `attempt` at this delivery. `context`, in all calls, is the
    handler's.
    """

    task_id: str
    """Id of the task; also the id of its request."""
    event_type: str
    """Name of the request."""
    plan_id: str | None
    """Requesting plan; None without one."""
    data: T
    """Payload of the request."""
    response_event: str
    """Name of the answer."""
    response_topic: EventTopic
    """Topic of the answer."""
    state: dict[str, Any]
    tenant_id: str
    """Tenant of the task."""
    user_id: str
    """User of the task."""
    agent_id: str
    """Name of the worker."""
    session_id: str | None
    """Conversation of the task."""
    goal_id: str | None
    """Id of the goal behind it."""
    correlation_id: str
    """Reply key of the request."""
    idempotency_key: str
    attempt: int
    in_hand: TaskInHand = field(repr=False)
    _gives: PayloadShape = field(repr=False)

    @classmethod
    async def restore(cls, sub_task_id: str, context: PlatformContext) -> "TaskContext[Any]":
        """Return the task of the present result, by its own id or the id of one of its sub-tasks.

        Raises LocalProtocolError for any other task: only its own events change a task.
        """
        found = cast("TaskContext[Any] | None", context.task)
        if found is None or (sub_task_id != found.task_id and found.in_hand.parts.find(sub_task_id) is None):
            raise LocalProtocolError(f"{sub_task_id!r} is neither the task of this delivery nor one of its sub-tasks")
        return found

    @property
    def sub_tasks(self) -> Mapping[str, SubTaskInfo]:
        """Return all requests of the task by their ids, in the order of asking. They are read on access. A handler with
        a thousand of them does better with their group, or with `is_complete`."""
        return self.in_hand.sub_tasks

    async def save(self) -> None:
        """Do nothing: the working copy is saved at the handler's return."""

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
        """Ask another agent; the `on_result` handler of `response_event` gets the answer. Return the sub-task's id.

        Args:
            event_type: the name of the request.
            data: its payload.
            response_event: the name of the answer.
            assigned_to: one agent, or one capability, to take the request; by default any taker.
            response_topic: the topic of the answer.
            timeout: seconds or a span. After it, or at the deadline of the task's own request, the handler gets a
                result with this failure.
        """
        spec = DelegationSpec(event_type, data, response_event, assigned_to)
        return await self._delegate(spec, AnswerTerms(topic_of(response_topic), _span(timeout)))

    async def delegate_parallel(
        self, sub_tasks: Iterable[DelegationSpec], *, timeout: float | timedelta | None = None
    ) -> str:
        """Make several requests, `sub_tasks`, at once. Return the group's id, for `aggregate_parallel_results`.
        `timeout` is in seconds, or a span, as for `delegate`."""
        specs = _specs(sub_tasks)
        if not specs:
            raise LocalProtocolError("delegate_parallel got nothing to delegate; its results would never come")
        group = self.in_hand.handling.moment().expectation_id("group")
        terms = AnswerTerms(timeout=_span(timeout), group=group)
        for spec in specs:
            await self._delegate(spec, terms)
        return group

    def update_sub_task_result(self, sub_task_id: str, result: Mapping[str, Any]) -> None:
        """Replace the `result` of a sub-task. Before the handler's call, it is the sub-task's own reply."""
        info = self.in_hand.parts.find(sub_task_id)
        if info is None:
            raise LocalProtocolError(f"task {self.task_id} has no sub-task {sub_task_id!r}")
        put_result(info, json_object("the result of a sub-task", result))

    def aggregate_parallel_results(self, parallel_group_id: str | None) -> "GroupResults":
        """Return the replies of the group `parallel_group_id` by sub-task, in the order of asking. Awaited, it is None
        while a reply is missing; without `await`, it is empty then.

        The reply of a failed sub-task counts as well, with `success: false` and the reason.
        """
        return GroupResults(self.in_hand.parts, parallel_group_id)

    def is_complete(self) -> bool:
        """Tell whether every request, to agents and to people, has an answer, good or bad."""
        return self.in_hand.is_answered

    async def complete(self, result: object = None) -> None:
        """Reply with a `result`. Raise LocalProtocolError for an ended task, InvalidResult for a result off its
        schema."""
        written = await self._gives.write(self.tenant_id, f"the result of {self.event_type!r}", result)
        await self.in_hand.end(success_reply(written))

    async def fail(self, message: str, *, code: str = "failed") -> None:
        """Reply with a failure, a `message` and a `code`; the requester decides about the next step."""
        for name, given in (("message", message), ("code", code)):
            must_be_text(f"fail: {name}", given)
        await self.in_hand.fail(code, message)

    async def report_progress(self, progress: float, message: str = "") -> None:
        """Publish the finished share of the task, `progress` from 0 to 1, with a `message`, for display. It is
        published at once, and stays after a failure of this handling; no decision depends on it."""
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
        """Tell whether the task is completed or failed, in this handler or before."""
        return self.in_hand.has_ended

    async def _delegate(self, spec: DelegationSpec, terms: AnswerTerms) -> str:
        if spec.assigned_to is not None:
            must_be_text("assigned_to", spec.assigned_to)
        return await self.in_hand.delegate(spec, terms)


def _span(timeout: float | timedelta | None) -> timedelta | None:
    return None if timeout is None else span_of("timeout", timeout)


class GroupResults(Mapping[str, Any]):
    """Replies of a group of sub-tasks, by their ids. `await` reads this group alone; direct access reads all requests
    of the task at once."""

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
    """End of a task's wait: the reply of another agent, the answer of a person, or the end of the time for it.

    `data` is the reply as received ({success, status, result | error}), or the person's answer; `result` is its
    content. `sub_task_id` is the reply key, and with it the id of the sub-task; for a person's answer, the id of the
    wait.
    """

    event_type: str
    """Name of the answer's event."""
    sub_task_id: str
    data: dict[str, Any]
    result: Any
    success: bool
    """False for a failure, a rejection, and the end of the time."""
    error: str | None
    """Reason of a failure; None for a success."""
    _task: TaskContext[Any] = field(repr=False)

    @property
    def correlation_id(self) -> str:
        """Return the reply key of the answer: the id of its request."""
        return self.sub_task_id

    async def restore_task(self) -> TaskContext[Any]:
        """Return the requesting task, with this result in its place."""
        return self._task
