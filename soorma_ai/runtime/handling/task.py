"""The task of one delivery as a working copy: what it asks is recorded, what changed is saved with it."""

from copy import deepcopy
from dataclasses import replace
from datetime import timedelta

from soorma_ai.core.expecting.wakeups import ABANDONED
from soorma_ai.core.task import TaskQuestion, ask, delegate, end, put_result, reply_to_keep, task_of
from soorma_ai.domain.effects import Expect, SaveSubTask, SaveTask
from soorma_ai.domain.events import CLIENT, SYSTEM, EventEnvelope, EventTopic
from soorma_ai.domain.expectations import Expectation, ExpectationKind
from soorma_ai.domain.registry import EventRole
from soorma_ai.domain.replies import failure_reply
from soorma_ai.domain.tasks import DelegationSpec, SubTaskInfo, TaskRecord
from soorma_ai.domain.values import JsonObject, json_object
from soorma_ai.errors import LocalProtocolError
from soorma_ai.runtime.handling.handling import Handling
from soorma_ai.runtime.handling.requests import read_reply


class TaskInHand:
    """`state` and `sub_tasks` are changed in place, by the task's author as well; `save` finds out what changed."""

    def __init__(self, handling: Handling, record: TaskRecord, sub_tasks: list[SubTaskInfo], *, stored: bool) -> None:
        self.handling = handling
        self.record = record
        self.state: JsonObject = deepcopy(record.state)
        self.sub_tasks = {info.sub_task_id: info for info in sub_tasks}
        self.has_ended = False
        self._stored = stored
        # Copied and compared for every result of a fan-out, so in the cheapest way.
        self._as_stored = {info.sub_task_id: vars(info).copy() for info in sub_tasks}

    @property
    def is_abandoned(self) -> bool:
        """Tell whether nobody waits for the task: arrival has looked at the row before such a word comes."""
        event = self.handling.event
        return event.type == ABANDONED and event.source == SYSTEM and event.subject == self.record.answer_key

    @classmethod
    def take(cls, handling: Handling, default_event: str) -> "TaskInHand":
        now = handling.services.clock.now()
        record = handling.task = task_of(handling.event, handling.agent, default_event, now)
        return cls(handling, record, [], stored=False)

    @classmethod
    async def load(cls, handling: Handling) -> "TaskInHand | None":
        """Return the stored task; None when it has ended."""
        store, key = handling.services.store, (handling.agent, handling.delivery.owner)
        record = handling.task = await store.plans.task(*key)
        return cls(handling, record, await store.plans.sub_tasks(*key), stored=True) if record else None

    async def delegate(
        self, request: DelegationSpec, response_topic: EventTopic, timeout: timedelta | None, *, group: str | None
    ) -> str:
        self._must_be_open()
        definition = await self.handling.request_type(request.event_type)
        moment = self.handling.moment()
        info, effects = delegate(
            self.record,
            request,
            moment,
            response_topic=response_topic,
            timeout=timeout,
            group=group,
            definition=definition,
        )
        self.sub_tasks[info.sub_task_id] = info
        self.handling.record(*effects)
        return info.sub_task_id

    async def ask(self, question: TaskQuestion) -> str:
        self._must_be_open()
        known = await self.handling.services.store.registry.known_events(self.record.lineage.tenant_id)
        named = [event for event in known if event.definition.event_name == question.response_event]
        producers = (CLIENT, *(event.agent for event in named if event.role is EventRole.MAKES))
        wait_id, effects = ask(self.record, question, self.handling.moment(), producers)
        self.handling.record(*effects)
        return wait_id

    async def closing(self) -> tuple[Expectation, EventEnvelope] | None:
        """Expectation that this delivery closed, and the event that did; None when this task does not wait for it."""
        event = await self.handling.closing_event()
        store = self.handling.services.store
        met = await store.plans.met_by(self.record.task_id, event.id)
        return (met, await read_reply(store.registry, met, event)) if met else None

    def receive(self, met: Expectation, event: EventEnvelope) -> None:
        """Put what a sub-task came to in its place; what a person said has none."""
        if info := self.sub_tasks.get(met.id):
            put_result(info, reply_to_keep(met, event))

    async def end(self, answer: JsonObject, *, stop: bool = False) -> None:
        self._must_be_open()
        self.has_ended = True
        self.handling.record(*end(self.record, answer, await self._open(), self.handling.moment(), stop=stop))

    async def cancel(self) -> None:
        """End with whoever asked for it, and end those whom it asked."""
        await self.end(failure_reply("cancelled", "whoever asked for it no longer wants it"), stop=True)

    async def fail(self, code: str, message: str) -> None:
        await self.end(failure_reply(code, message))

    async def save(self) -> None:
        """Record what changed. Raises LocalProtocolError for a task that nothing would ever end."""
        if self.has_ended:
            return
        await self._must_wait_for_something()
        state = json_object("task.state", self.state)
        changed = self._changes()
        if self._stored and not changed and state == self.record.state:
            return
        expected = self.record.version if self._stored else None
        version = 0 if expected is None else expected + 1
        record = replace(self.record, state=state, sub_tasks=len(self.sub_tasks), version=version)
        self.handling.record(SaveTask(record, expected), *changed)

    def _changes(self) -> list[SaveSubTask]:
        key = (self.record.agent, self.record.task_id)
        return [
            SaveSubTask(*key, ordinal, replace(info))
            for ordinal, (id, info) in enumerate(self.sub_tasks.items())
            if self._as_stored.get(id) != vars(info)
        ]

    async def _open(self) -> list[Expectation]:
        stored = await self.handling.services.store.plans.task_expectations(self.record.agent, self.record.task_id)
        return [*stored, *(e.expectation for e in self.handling.recorded if isinstance(e, Expect))]

    async def _must_wait_for_something(self) -> None:
        is_asking = any(not info.has_ended for info in self.sub_tasks.values())
        wakes = [one for one in await self._open() if one.kind is not ExpectationKind.GATE]
        if is_asking or wakes or await self.handling.has_more_to_come():
            return
        raise LocalProtocolError(
            f"the handler of {self.handling.event.type!r} returned and left its task open with nothing to wait for; "
            "complete(), fail() or delegate() it"
        )

    def _must_be_open(self) -> None:
        if self.has_ended:
            raise LocalProtocolError(f"task {self.record.task_id} has ended; complete() or fail() it once, and last")
