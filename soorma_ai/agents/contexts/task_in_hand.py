"""Task of one delivery, as a working copy: its requests are recorded, its changes are saved with them."""

from collections.abc import Mapping
from copy import copy, deepcopy
from functools import partial

from msgspec.structs import replace

from soorma_ai.errors import LocalProtocolError
from soorma_ai.kernel.domain.effects import Expect, SaveSubTask, SaveTask
from soorma_ai.kernel.domain.events import SYSTEM, EventEnvelope
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind
from soorma_ai.kernel.domain.replies import failure_reply
from soorma_ai.kernel.domain.tasks import DelegationSpec, SubTaskInfo, TaskRecord
from soorma_ai.kernel.domain.values import JsonObject, json_object
from soorma_ai.kernel.rules.task import (
    AnswerTerms,
    TaskQuestion,
    ask,
    delegate,
    end,
    producers_of,
    prolong,
    put_result,
    reply_to_keep,
    task_of,
)
from soorma_ai.kernel.rules.waits.wakeups import ABANDONED
from soorma_ai.kernel.runtime.handling.handling import Handling
from soorma_ai.kernel.runtime.handling.requests import closing_event, read_reply
from soorma_ai.kernel.runtime.handling.working_copies.sub_tasks import SubTasks


class TaskInHand:
    """Task in a handling. `state` and `parts` are changed in place, by the task's author as well; `save` finds the
    changes."""

    def __init__(self, handling: Handling, record: TaskRecord, parts: SubTasks, *, stored: bool) -> None:
        self.handling = handling
        self.record = record
        self.state: JsonObject = deepcopy(record.state)
        self.parts = parts
        self._questions = record.questions
        self.has_ended = False
        self._stored = stored

    @property
    def sub_tasks(self) -> Mapping[str, SubTaskInfo]:
        """All that it asked of others, by their ids."""
        return self.parts.all()

    @property
    def is_answered(self) -> bool:
        """Tell whether nothing that it asked, of agents or of people, is still open."""
        return not self.parts.record_now().pending and not self._questions

    @property
    def is_abandoned(self) -> bool:
        """Tell whether the task has lost its requester: arrival has read the row before such an event comes."""
        event = self.handling.event
        return event.type == ABANDONED and event.source == SYSTEM and event.subject == self.record.answer_key

    @classmethod
    def take(cls, handling: Handling, default_event: str) -> "TaskInHand":
        now = handling.services.clock.now()
        record = handling.task = task_of(handling.event, handling.agent, default_event, now)
        return cls(handling, record, SubTasks.none(record), stored=False)

    @classmethod
    async def load(cls, handling: Handling) -> "TaskInHand | None":
        """Return the stored task; None when it has ended."""
        if handling.task is not None and handling.sub_tasks is not None:  # the one before in the same run left it
            return cls(handling, handling.task, handling.sub_tasks, stored=True)
        plans, key = handling.services.store.plans, (handling.agent, handling.delivery.owner)
        record = handling.task = await plans.task(*key)
        if record is None:
            return None
        parts = SubTasks(record, partial(plans.sub_tasks, *key), await plans.sub_tasks_later(*key))
        handling.sub_tasks = parts
        return cls(handling, record, parts, stored=True)

    async def delegate(self, request: DelegationSpec, terms: AnswerTerms) -> str:
        self._must_be_open()
        await self._keep_up()
        definition = await self.handling.request_type(request.event_type)
        moment = self.handling.moment()
        task = replace(self.record, sub_tasks=self.parts.asked)
        info, effects = delegate(task, request, terms, moment, definition)
        self.parts.add(info)
        self.handling.record(*effects)
        return info.sub_task_id

    async def ask(self, question: TaskQuestion) -> str:
        self._must_be_open()
        await self._keep_up()
        known = await self.handling.services.store.registry.all_events(self.record.lineage.tenant_id)
        producers = producers_of(question.response_event, known)
        wait_id, effects = ask(self.record, question, self.handling.moment(), producers)
        self.handling.record(*effects)
        self._questions += 1
        return wait_id

    async def find_closed_wait(self) -> tuple[Expectation, EventEnvelope] | None:
        """Expectation that this delivery closed, and the event that did; None when this task does not wait for it."""
        store = self.handling.services.store
        event = await closing_event(store.events, self.handling.event)
        met = await store.plans.find_met(self.record.task_id, event.id)
        return (met, await read_reply(store.registry, met, event)) if met else None

    async def receive(self, met: Expectation, event: EventEnvelope) -> JsonObject:
        """Put the result of a sub-task in its place, and return it; a person's answer has none."""
        if met.kind is ExpectationKind.WAIT:
            self._questions = max(0, self._questions - 1)  # one from before they were counted counts for nothing
        info = await self.parts.look_up(met.place, met.id) if met.kind is ExpectationKind.REPLY else None
        if info is None:
            return event.data
        reply = reply_to_keep(met, event)
        put_result(info, reply)
        return reply

    async def end(self, answer: JsonObject, *, stop: bool = False) -> None:
        self._must_be_open()
        self.has_ended = True
        self.handling.record(*end(self.record, answer, await self._open(), self.handling.moment(), stop=stop))

    async def cancel(self) -> None:
        """End together with the requester, and end its own requests."""
        await self.end(failure_reply("cancelled", "whoever asked for it no longer wants it"), stop=True)

    async def fail(self, code: str, message: str) -> None:
        await self.end(failure_reply(code, message))

    async def save(self) -> None:
        """Record the changes. Raises LocalProtocolError for a task without any possible end."""
        if self.has_ended:
            return
        record, changed = replace(self.parts.record_now(), questions=self._questions), self.parts.changes()
        await self._must_wait_for_something(record)
        state = json_object("task.state", self.state)
        is_as_stored = state == self.record.state and self._questions == self.record.questions
        if self._stored and not changed and is_as_stored:
            return
        expected = self.record.version if self._stored else None
        version = 0 if expected is None else expected + 1
        key = (record.agent, record.task_id)
        record = replace(record, lineage=self.record.lineage, state=state, version=version)
        self.handling.record(SaveTask(record, expected))
        self.handling.record(*(SaveSubTask(*key, number, copy(info)) for number, info in changed.items()))

    async def _keep_up(self) -> None:
        """Take the deadline that the asker has by now. A task that is stored moves with the pauses of its plan."""
        is_capped = self.record.lineage.deadline is not None and self.record.lineage.root_plan_id is not None
        if self._stored or not is_capped or self.handling.services.is_remote:
            return
        awaited = await self.handling.services.store.plans.expectation(self.record.answer_key)
        self.record = self.handling.task = prolong(self.record, awaited)

    async def _open(self) -> list[Expectation]:
        stored = await self.handling.services.store.plans.task_expectations(self.record.agent, self.record.task_id)
        return [*stored, *(e.expectation for e in self.handling.recorded if isinstance(e, Expect))]

    async def _must_wait_for_something(self, counted: TaskRecord) -> None:
        if counted.pending:
            return
        wakes = [one for one in await self._open() if one.kind is not ExpectationKind.GATE]
        if wakes or await self.handling.has_more_to_come():
            return
        raise LocalProtocolError(
            f"the handler of {self.handling.event.type!r} returned and left its task open with nothing to wait for; "
            "complete(), fail() or delegate() it"
        )

    def _must_be_open(self) -> None:
        if self.has_ended:
            raise LocalProtocolError(f"task {self.record.task_id} has ended; complete() or fail() it once, and last")
