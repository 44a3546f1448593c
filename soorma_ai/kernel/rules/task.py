"""Requests of a task to others, and its end."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.effects import Close, Effect, EndTask, Publish
from soorma_ai.kernel.domain.events import CLIENT, EventEnvelope, EventTopic, ReplyAddress, new_event
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.kernel.domain.people import AnswerDecision, Ask, ladder_fault
from soorma_ai.kernel.domain.registry import EventDefinition, EventRole, RegisteredEvent
from soorma_ai.kernel.domain.replies import failure_reply, is_failure
from soorma_ai.kernel.domain.schemas import ANY_OBJECT, check_schema
from soorma_ai.kernel.domain.states import PROGRESS
from soorma_ai.kernel.domain.tasks import DelegationSpec, Group, SubTaskInfo, TaskRecord
from soorma_ai.kernel.domain.values import LONGEST_WAIT_SECONDS, Json, JsonObject, json_object
from soorma_ai.kernel.rules.breaker import begin_lineage
from soorma_ai.kernel.rules.waits.opening import LONGEST_WAIT, ExpectationSpec, Moment, Waiter, open_expectation
from soorma_ai.kernel.rules.waits.replies import check_address
from soorma_ai.kernel.rules.waits.wakeups import ABANDONED, wake_for

TASK_TIMEOUT = "task.timeout"


class TaskQuestion(Struct, frozen=True):
    """Question of a worker to a person, for a bounded time. `about` is announced with it."""

    ask: Ask
    response_event: str
    timeout: timedelta
    about: JsonObject


def task_of(request: EventEnvelope, agent: str, default_event: str, now: datetime) -> TaskRecord:
    return TaskRecord(
        task_id=request.id,
        agent=agent,
        event_type=request.type,
        data=request.data,
        lineage=begin_lineage(request.lineage, request.id),
        answer_key=request.correlation_id or request.id,
        answer_event=request.response_event or default_event,
        answer_topic=request.response_topic or EventTopic.ACTION_RESULTS,
        created_at=now,
        state={},
    )


def prolong(task: TaskRecord, awaited: Expectation | None) -> TaskRecord:
    """Return the task with the present deadline of its answer, after a move by a pause of its plan; None during the
    pause."""
    before = task.lineage.deadline
    if awaited is None or awaited.status is not ExpectationStatus.OPEN or before is None:
        return task
    if awaited.tenant_id != task.lineage.tenant_id or (awaited.deadline is not None and awaited.deadline <= before):
        return task
    return replace(task, lineage=replace(task.lineage, deadline=awaited.deadline))


def waiter_of(task: TaskRecord) -> Waiter:
    return Waiter(task.agent, task.lineage, task.lineage.deadline, task_id=task.task_id, longest=LONGEST_WAIT)


class AnswerTerms(Struct, frozen=True):
    """Terms of the answer to a sub-task: its topic, the longest wait, and its group."""

    topic: EventTopic = EventTopic.ACTION_RESULTS
    timeout: timedelta | None = None
    group: str | None = None


def delegate(
    task: TaskRecord,
    request: DelegationSpec,
    terms: AnswerTerms,
    moment: Moment,
    definition: EventDefinition | None = None,
) -> tuple[SubTaskInfo, tuple[Effect, ...]]:
    """A request of the task's own, after `task.sub_tasks` others. Its reply key is its id, so that two of one kind are
    told apart."""
    check_address(request.response_event, terms.topic)
    event_id = moment.event_id(request.event_type)
    event = moment.event(
        task.lineage,
        EventTopic.ACTION_REQUESTS,
        request.event_type,
        json_object(f"the data of {request.event_type!r}", request.data),
        event_id=event_id,
        reply_to=ReplyAddress(event_id, request.response_event, terms.topic),
        dataschema=definition.dataschema if definition else None,
        target=request.assigned_to,
    )
    spec = ExpectationSpec(
        event_id,
        ExpectationKind.REPLY,
        request.response_event,
        topic=terms.topic,
        subject=request.event_type,
        timeout=terms.timeout,
        group_id=terms.group,
        place=task.sub_tasks,
        dataschema=event.dataschema,
    )
    info = SubTaskInfo(event_id, request.event_type, request.response_event, parallel_group_id=terms.group)
    return info, (Publish(event), *open_expectation(waiter_of(task), spec, moment))


def ask(
    task: TaskRecord, question: TaskQuestion, moment: Moment, producers: tuple[str, ...]
) -> tuple[str, tuple[Effect, ...]]:
    """The id of the wait, which a person answers, or an event of that name with the task's id as its reply key."""
    wait_id = moment.expectation_id("wait")
    spec = ExpectationSpec(
        wait_id,
        ExpectationKind.WAIT,
        question.response_event,
        topic=EventTopic.NOTIFICATION_EVENTS,
        timeout=question.timeout,
        keys=(f"reply:{task.task_id}", f"reply:{wait_id}"),
        producers=producers,
        ask=question.ask,
    )
    return wait_id, open_expectation(waiter_of(task), spec, moment, about=question.about)


def producers_of(event_type: str, known: Iterable[RegisteredEvent]) -> tuple[str, ...]:
    """Return the producers with the right to answer a question by an event of this name: clients, and agents with a
    declaration of it."""
    named = (one for one in known if one.definition.event_name == event_type and one.role is EventRole.MAKES)
    return (CLIENT, *(one.agent for one in named))


def progress_of(
    task: TaskRecord, event_id: str, cause_id: str, told: tuple[float, str], now: datetime
) -> EventEnvelope:
    """Return the report that says which share of a task is done, and a message."""
    share, message = told
    data: JsonObject = {"task_id": task.task_id, "plan_id": task.lineage.plan_id, "progress": share, "message": message}
    return new_event(
        task.lineage,
        event_id=event_id,
        source=task.agent,
        topic=EventTopic.SYSTEM_EVENTS,
        type=PROGRESS,
        data={**data, "status": "running"},
        time=now,
        causation_id=cause_id,
    )


def reply_to_keep(met: Expectation, event: EventEnvelope) -> JsonObject:
    """Return the reply of a sub-task: the answer, or the end of its time."""
    if met.status is ExpectationStatus.EXPIRED:
        return failure_reply("deadline_exceeded", f"no answer to {met.subject} came in time")
    return event.data


def put_result(sub_task: SubTaskInfo, reply: JsonObject) -> None:
    sub_task.result = reply
    sub_task.status = "failed" if is_failure(reply) else "completed"


def count(task: TaskRecord, had_ended: Mapping[int, bool], now: Mapping[int, SubTaskInfo]) -> TaskRecord:
    """Return the task with its counts after a change of these sub-tasks, by their numbers; those outside of `had_ended`
    have been added. The others matter only if an ended one is open again."""
    groups = {group.group_id: group for group in task.groups}
    asked, pending = task.sub_tasks, task.pending or 0
    for number, info in now.items():
        is_new = number not in had_ended
        more = (not info.has_ended) - (not had_ended.get(number, True))
        asked, pending = asked + is_new, pending + more
        if info.parallel_group_id is not None and (more or is_new):
            group = groups.get(info.parallel_group_id, Group(info.parallel_group_id, number, number, 0))
            first, last = min(group.first, number), max(group.last, number)
            groups[group.group_id] = Group(group.group_id, first, last, group.pending + more)
    # What has ended is hardly ever joined again, and a task of many groups stays small.
    still_open = tuple(group for group in groups.values() if group.pending)
    return replace(task, sub_tasks=asked, pending=pending, groups=still_open)


def count_anew(task: TaskRecord, sub_tasks: Mapping[int, SubTaskInfo]) -> TaskRecord:
    """Return the task with the counts of all its sub-tasks, in place of the old ones."""
    return count(replace(task, sub_tasks=0, pending=0, groups=()), {}, sub_tasks)


def is_pending(task: TaskRecord, group_id: str | None) -> bool:
    """Tell whether a sub-task of this group has not ended; None: one that was asked by itself."""
    in_groups = {group.group_id: group.pending for group in task.groups}
    return group_id in in_groups if group_id is not None else (task.pending or 0) > sum(in_groups.values())


def end(
    task: TaskRecord, answer: Mapping[str, Json], open_now: Sequence[Expectation], moment: Moment, *, stop: bool = False
) -> tuple[Effect, ...]:
    """Answer the task, once, with the reply key of its request. Its open waits end; with `stop`, the asked agents are
    told."""
    closed: list[Effect] = [Close(expectation.id, ExpectationStatus.CLOSED, moment.now) for expectation in open_now]
    if stop:
        asked = [expectation for expectation in open_now if expectation.kind is ExpectationKind.REPLY]
        closed += [Publish(wake_for(ABANDONED, expectation, moment.now)) for expectation in asked]
    data: JsonObject = {"task_id": task.task_id, **answer}
    event = moment.event(
        task.lineage, task.answer_topic, task.answer_event, data, correlation_id=task.answer_key, answers=task.task_id
    )
    return (*closed, Publish(event), EndTask(task.agent, task.task_id))


def timeout_event(task: TaskRecord, question: Expectation, moment: Moment) -> Publish:
    """Everybody may know that a question was not answered in time."""
    data: JsonObject = {"task_id": task.task_id, "wait_id": question.id, "response_event": question.event_type}
    topic = EventTopic.TASK_EVENTS
    return Publish(moment.event(task.lineage, topic, TASK_TIMEOUT, data, correlation_id=task.task_id))


def question_of(data: JsonObject) -> TaskQuestion | str:
    """Read the question in a `notification.human_input`; or return, as text, why it cannot be asked."""
    response_event, seconds = data.get("response_event"), data.get("timeout_seconds")
    if not isinstance(response_event, str) or not response_event:
        return "'response_event' names the event that answers it"
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= LONGEST_WAIT_SECONDS:
        return "'timeout_seconds' is how long a person may take; a task never waits without end"
    schema = data.get("response_schema", ANY_OBJECT)
    if fault := _schema_fault(schema):
        return fault
    reminders, escalate_after = _spans(data.get("remind_after_seconds")), _spans(data.get("escalate_after_seconds"))
    approvers, escalate_to = _roles(data.get("approvers")), _roles(data.get("escalate_to"))
    if reminders is None or escalate_after is None or len(escalate_after) > 1:
        return "'remind_after_seconds' is a number or a list of numbers, and 'escalate_after_seconds' is a number"
    if approvers is None or escalate_to is None:
        return "'approvers' and 'escalate_to' are lists of roles"
    after = escalate_after[0] if escalate_after else None
    if fault := ladder_fault(reminders, after, escalate_to):
        return fault
    ask = Ask(
        reason="input_required",
        message=str(data.get("question") or data.get("message") or ""),
        response_schema=schema if isinstance(schema, dict) else ANY_OBJECT,
        allowed_decisions=(AnswerDecision.APPROVE, AnswerDecision.REJECT, AnswerDecision.RESPOND),
        approvers=approvers,
        reminders=reminders,
        escalate_after=after,
        escalate_to=escalate_to,
    )
    return TaskQuestion(ask, response_event, timedelta(seconds=seconds), data)


def _schema_fault(schema: Json) -> str:
    if not isinstance(schema, dict):
        return "'response_schema' is a JSON Schema"
    try:
        check_schema(schema)
    except ConfigError as error:
        return f"'response_schema': {error}"
    return ""


def _spans(seconds: Json) -> tuple[timedelta, ...] | None:
    """Return None if it is no number of seconds, and no list of such."""
    given = seconds if isinstance(seconds, list) else [] if seconds is None else [seconds]
    numbers = [n for n in given if isinstance(n, int | float) and not isinstance(n, bool)]
    spans = [timedelta(seconds=n) for n in numbers if abs(n) <= LONGEST_WAIT_SECONDS]
    return tuple(spans) if len(spans) == len(given) else None


def _roles(roles: Json) -> tuple[str, ...] | None:
    given = [] if roles is None else roles
    if not isinstance(given, list):
        return None
    names = [role for role in given if isinstance(role, str)]
    return tuple(names) if len(names) == len(given) else None
