"""Admission of a remote agent's acts: they become effects of the delivery lent to it.

Nothing beyond an act's own content is taken over. The sender, tenant, user and plan, the cause and the time, and all
consequences of an act (deadlines, timers, announcements) are made here, from the delivery and its task. So nothing can
be done in another's name, and no act changes a plan.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import assert_never

from msgspec import Struct, field
from msgspec.structs import replace

from soorma_ai.errors import LocalProtocolError
from soorma_ai.features.remote.records import (
    AnyAct,
    AnyEnding,
    Asking,
    Declaring,
    Delegating,
    Doubted,
    EndingTask,
    GivenUp,
    Handled,
    KeepingSubTask,
    KeepingTask,
    OpeningSession,
    Publishing,
    PutOff,
    Remembering,
)
from soorma_ai.kernel.domain import effects as done
from soorma_ai.kernel.domain.effects import Effect
from soorma_ai.kernel.domain.events import EventEnvelope, EventTopic, Lineage, ReplyAddress, completion_of
from soorma_ai.kernel.domain.expectations import Expectation
from soorma_ai.kernel.domain.memory import (
    AppendMemory,
    DropMemory,
    IncrementMemory,
    MemoryChange,
    MemoryKey,
    OpenSession,
    SessionSummary,
    StoreMemory,
)
from soorma_ai.kernel.domain.registry import EventDefinition
from soorma_ai.kernel.domain.tasks import DelegationSpec, TaskRecord
from soorma_ai.kernel.domain.values import UNSTORABLE, Json, clip, derived_id, is_storable
from soorma_ai.kernel.rules.task import TASK_TIMEOUT, AnswerTerms, ask, delegate, end, question_of
from soorma_ai.kernel.rules.waits.opening import ORDINALS_APART, Moment
from soorma_ai.kernel.rules.waits.replies import check_address, check_author


class DeliveryFacts(Struct, frozen=True):
    """Known facts of a lent delivery, none of them by the agent's own word.

    `task` is the present one, stored or about to be; a tool has none. `waiting` is its wait. `makes` are the allowed
    events of the agent; None: any. `plans` are those with memory open to its changes. `requests` are the definitions of
    its requests, `producers` those with the right to answer its questions, by event.
    """

    agent: str
    cause: EventEnvelope
    now: datetime
    redriven: int = 0
    task: TaskRecord | None = None
    waiting: Sequence[Expectation] = ()
    makes: Collection[str] | None = None
    plans: Collection[str] = ()
    requests: Mapping[str, EventDefinition] = field(default_factory=dict[str, EventDefinition])
    producers: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    @property
    def lineage(self) -> Lineage:
        return self.task.lineage if self.task else self.cause.lineage

    def moment(self, ordinal: int) -> Moment:
        """Return the moment of the one act that has this ordinal."""
        return Moment(self.cause, self.agent, self.now, iter([self.redriven * ORDINALS_APART + ordinal]))


def admit(acts: Iterable[AnyAct], standing: DeliveryFacts) -> tuple[Effect, ...]:
    """Return the effects of acts, in order. Raise LocalProtocolError for an act forbidden to this delivery, or this
    agent."""
    made: list[Effect] = []
    for act in acts:
        made += _effects(act, standing, made)
    return tuple(made)


def disposition_of(ending: AnyEnding) -> done.Disposition:
    match ending:
        case Handled():
            return done.Ack()
        case PutOff(seconds=seconds, reason=reason, undone=undone, counts=counts):
            return done.RetryAfter(timedelta(seconds=seconds), reason, undone, counts)
        case GivenUp(reason=reason, undone=undone):
            return done.DeadLetter(reason, undone)
        case Doubted(reason=reason):
            return done.InDoubt(reason)
        case _:
            assert_never(ending)


def _effects(act: AnyAct, at: DeliveryFacts, before: Sequence[Effect]) -> Iterable[Effect]:
    match act:
        case Publishing():
            return [done.Publish(_event(act, at))]
        case Delegating():
            return _request(act, at)
        case Asking():
            return _question(act, at)
        case KeepingTask():
            return [_task_row(act, at)]
        case KeepingSubTask(place=place, sub_task=info):
            task = _task(act, at)
            _must_be_storable(act, info.result)
            return [done.SaveSubTask(task.agent, task.task_id, place, info)]
        case EndingTask():
            return _end(act, at, before)
        case Remembering():
            return [_memory_change(act, at)]
        case OpeningSession():
            return [_session(act, at)]
        case Declaring(definition=definition):
            _must_make(definition.event_name, at)
            if definition.topic is EventTopic.ACTION_REQUESTS:
                raise LocalProtocolError(
                    f"{definition.event_name!r} is a request: whoever has its handler registers it"
                )
            return [done.Declare(at.agent, definition)]
        case _:
            assert_never(act)


def _event(act: Publishing, at: DeliveryFacts) -> EventEnvelope:
    check_author(act.type)
    is_own_key = act.correlation_id in (at.cause.correlation_id, at.cause.id)
    if act.answers and not (at.cause.topic is EventTopic.ACTION_REQUESTS and is_own_key):
        raise LocalProtocolError(f"{act.type!r} answers no request that was handed to {at.agent} by this delivery")
    if not (_is_reply_wanted(act, at) or _is_of_the_task(act, at)):
        _must_make(act.type, at)
    reply_to, moment = None, at.moment(act.ordinal)
    event_id = moment.event_id(act.type)
    if act.response_event is not None:
        topic = act.response_topic or EventTopic.ACTION_RESULTS
        check_address(act.response_event, topic)
        reply_to = ReplyAddress(act.correlation_id or event_id, act.response_event, topic)
    return moment.event(
        at.lineage,
        act.topic,
        act.type,
        act.data,
        event_id=event_id,
        correlation_id=act.correlation_id,
        reply_to=reply_to,
        subject=act.subject,
        answers=at.cause.id if act.answers else None,
    )


def _is_reply_wanted(act: Publishing, at: DeliveryFacts) -> bool:
    """Tell whether it is the reply named by the present request."""
    name = at.cause.response_event or completion_of(at.cause.type)
    topic = at.cause.response_topic or EventTopic.ACTION_RESULTS
    return act.answers and (act.type, act.topic, act.response_event) == (name, topic, None)


def _is_of_the_task(act: Publishing, at: DeliveryFacts) -> bool:
    told = (act.type, act.topic, act.response_event)
    return at.task is not None and told == (TASK_TIMEOUT, EventTopic.TASK_EVENTS, None)


def _request(act: Delegating, at: DeliveryFacts) -> Iterable[Effect]:
    task = _task(act, at)
    _must_make(act.type, at)
    group = None
    if act.group is not None:
        group = at.moment(act.group).expectation_id("group")
    request = DelegationSpec(act.type, act.data, act.response_event, act.target)
    terms = AnswerTerms(act.response_topic, timedelta(seconds=act.timeout), group)
    task = replace(task, sub_tasks=act.place)
    _, effects = delegate(task, request, terms, at.moment(act.ordinal), at.requests.get(act.type))
    return effects


def _question(act: Asking, at: DeliveryFacts) -> Iterable[Effect]:
    task, question = _task(act, at), question_of(act.about)
    if isinstance(question, str):
        raise LocalProtocolError(f"what {at.agent} asks people cannot be asked: {question}")
    _, effects = ask(task, question, at.moment(act.ordinal), at.producers.get(question.response_event, ()))
    return effects


def _task_row(act: KeepingTask, at: DeliveryFacts) -> done.SaveTask:
    task, expected = _task(act, at), act.expected_version
    _must_be_storable(act, act.state)
    kept = replace(
        task,
        state=act.state,
        sub_tasks=act.sub_tasks,
        pending=act.pending,
        groups=act.groups,
        questions=act.questions,
        version=0 if expected is None else expected + 1,
    )
    return done.SaveTask(kept, expected)


def _end(act: EndingTask, at: DeliveryFacts, before: Sequence[Effect]) -> Iterable[Effect]:
    task = _task(act, at)
    opened = [effect.expectation for effect in before if isinstance(effect, done.Expect)]
    answer = {name: value for name, value in act.answer.items() if name != "task_id"}
    return end(task, answer, [*at.waiting, *opened], at.moment(act.ordinal), stop=act.stop)


def _memory_change(act: Remembering, at: DeliveryFacts) -> MemoryChange:
    if act.plan_id not in at.plans:
        raise LocalProtocolError(
            f"the memory of plan {act.plan_id!r} is not {at.agent}'s to change from elsewhere: it is no plan of the "
            "tree that this delivery belongs to"
        )
    key, version, value = MemoryKey(at.cause.tenant_id, act.plan_id, act.key), act.expected_version, act.value
    _must_be_storable(act, value)
    match act.change:
        case "store":
            return StoreMemory(key, value, version)
        case "drop":
            return DropMemory(key, version)
        case "append" if isinstance(value, list):
            return AppendMemory(key, tuple(value), version)
        case "increment" if isinstance(value, int | float) and not isinstance(value, bool):
            return IncrementMemory(key, value, version)
        case _:
            raise LocalProtocolError(f"{act.change} of {act.key!r}: give a number to increment by, a list to append")


def _session(act: OpeningSession, at: DeliveryFacts) -> OpenSession:
    _must_be_storable(act, {"name": act.name, **act.metadata})
    session_id, user_id = _session_id(at, act.ordinal), at.lineage.user_id
    made = SessionSummary(session_id, 0, at.now, at.now, user_id, act.name, act.metadata)
    return OpenSession(at.cause.tenant_id, made)


def _session_id(at: DeliveryFacts, ordinal: int) -> str:
    return derived_id("session", at.moment(ordinal).event_id("session"))


def _task(act: AnyAct, at: DeliveryFacts) -> TaskRecord:
    if at.task is None:
        raise LocalProtocolError(f"{at.agent} has no task in hand by this delivery, which {act.kind!r} is about")
    return at.task


def _must_make(event_type: str, at: DeliveryFacts) -> None:
    if at.makes is not None and event_type not in at.makes:
        raise LocalProtocolError(
            f"{at.agent} makes {clip(event_type, 80)!r}, which its key does not name: make one with --makes"
        )


def _must_be_storable(act: AnyAct, value: Json) -> None:
    if not is_storable(value):
        raise LocalProtocolError(f"what {act.kind!r} holds cannot be kept: {UNSTORABLE}")
