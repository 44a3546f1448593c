"""Protocol of remote handlers: their work as acts for the process of the store. Derived effects, such as timers and
announcements, are made there, and not sent (`features.remote.admit`)."""

from collections.abc import Callable, Iterator, Sequence
from typing import assert_never

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
from soorma_ai.kernel.domain.events import EventEnvelope, caused_id
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind
from soorma_ai.kernel.domain.memory import (
    AppendMemory,
    DropMemory,
    IncrementMemory,
    MemoryChange,
    OpenSession,
    SessionSummary,
    StoreMemory,
)
from soorma_ai.kernel.domain.states import ANNOUNCEMENTS
from soorma_ai.kernel.domain.values import derived_id
from soorma_ai.kernel.rules.waits.opening import ORDINALS_APART


def acts_of(effects: Sequence[Effect], cause: EventEnvelope, agent: str, redriven: int = 0) -> list[AnyAct]:
    """Return a handler's effects as acts. Raise LocalProtocolError for an effect possible beside the store only."""
    return list(_EffectEncoder(effects, cause, agent, redriven).acts())


def ending_of(disposition: done.Disposition) -> AnyEnding:
    match disposition:
        case done.Ack():
            return Handled()
        case done.RetryAfter(delay, reason, undone, counts):
            return PutOff(seconds=delay.total_seconds(), reason=reason, undone=undone, counts=counts)
        case done.Hold():
            raise LocalProtocolError("a plan is held beside the store, in the process that has it")
        case done.DeadLetter(reason, undone):
            return GivenUp(reason=reason, undone=undone)
        case done.InDoubt(reason):
            return Doubted(reason=reason)
        case _:
            assert_never(disposition)


class _EffectEncoder:
    """Encoder of one handling's effects; derived ones are left out."""

    def __init__(self, effects: Sequence[Effect], cause: EventEnvelope, agent: str, redriven: int) -> None:
        self._effects = effects
        self._cause = cause
        self._agent = agent
        self._base = redriven * ORDINALS_APART
        self._next = 0
        self._groups: dict[str, int] = {}
        opened = [effect.expectation for effect in effects if isinstance(effect, done.Expect)]
        self._asked = {one.id: one for one in opened if one.kind is ExpectationKind.REPLY}

    def acts(self) -> Iterator[AnyAct]:
        for number, effect in enumerate(self._effects):
            match effect:
                case done.Publish(event):
                    is_answer = any(isinstance(e, done.EndTask) for e in self._effects[number + 1 : number + 2])
                    yield from self._events(event, is_answer=is_answer)
                case done.Expect(expectation):
                    yield from self._questions(expectation)
                case done.SaveTask(task, expected):
                    yield KeepingTask(
                        state=task.state,
                        sub_tasks=task.sub_tasks,
                        pending=task.pending,
                        groups=task.groups,
                        questions=task.questions,
                        expected_version=expected,
                    )
                case done.SaveSubTask(ordinal=place, sub_task=info):
                    yield KeepingSubTask(place=place, sub_task=info)
                case StoreMemory() | DropMemory() | IncrementMemory() | AppendMemory():
                    yield _remembering(effect)
                case OpenSession(session=one):
                    yield self._session(one)
                case done.Declare(definition=definition):
                    yield Declaring(definition=definition)
                case done.Close() | done.Schedule() | done.Unschedule() | done.EndTask():
                    pass
                case done.FeatureEffect():
                    raise LocalProtocolError("what outlives plans is kept beside the store, in the process that has it")
                case done.SavePlan() | done.AppendStep() | done.Spend() | done.SaveValue() | done.DropValue():
                    raise LocalProtocolError("a plan is pursued beside the store, in the process that has it")
                case done.Postpone():
                    raise LocalProtocolError("a plan is resumed beside the store, in the process that has it")
                case _:
                    assert_never(effect)

    def _events(self, event: EventEnvelope, *, is_answer: bool) -> Iterator[AnyAct]:
        if is_answer:
            stop = any(isinstance(e, done.Publish) and e.event.source != self._agent for e in self._effects)
            yield EndingTask(ordinal=self._event_ordinal(event), answer=event.data, stop=stop)
        elif asked := self._asked.get(event.id):
            yield self._request(event, asked)
        elif event.type not in ANNOUNCEMENTS and event.causation_id == self._cause.id:
            own = event.correlation_id == event.id and event.response_event is not None
            yield Publishing(
                ordinal=self._event_ordinal(event),
                topic=event.topic,
                type=event.type,
                data=event.data,
                correlation_id=None if own else event.correlation_id,
                response_event=event.response_event,
                response_topic=event.response_topic,
                subject=event.subject,
                answers=event.answers is not None,
            )

    def _request(self, event: EventEnvelope, asked: Expectation) -> Delegating:
        group = asked.group_id
        return Delegating(
            ordinal=self._event_ordinal(event),
            type=event.type,
            data=event.data,
            response_event=asked.event_type,
            response_topic=asked.event_topic,
            timeout=max(0.0, (asked.deadline - asked.opened_at).total_seconds()) if asked.deadline else 0.0,
            target=event.target,
            group=None if group is None else self._group(group),
            place=asked.place,
        )

    def _questions(self, opened: Expectation) -> Iterator[Asking]:
        if opened.kind is ExpectationKind.WAIT:
            said = (effect.event for effect in self._effects if isinstance(effect, done.Publish))
            about = next(event.data for event in said if event.type in ANNOUNCEMENTS and event.subject == opened.id)
            yield Asking(ordinal=self._ordinal(opened.id, lambda n: self._derive("wait", n)), about=about)

    def _session(self, made: SessionSummary) -> OpeningSession:
        def id_of(number: int) -> str:
            return derived_id("session", caused_id(self._cause.id, self._agent, number, "session"))

        return OpeningSession(ordinal=self._ordinal(made.session_id, id_of), name=made.name, metadata=made.metadata)

    def _event_ordinal(self, event: EventEnvelope) -> int:
        return self._ordinal(event.id, lambda n: caused_id(self._cause.id, event.source, n, event.type))

    def _derive(self, what: str, number: int) -> str:
        return derived_id(what, self._cause.id, self._agent, str(number))

    def _group(self, group: str) -> int:
        """Return the number of a group, which is made once, before all of its members."""
        if group not in self._groups:
            self._groups[group] = self._find(group, lambda n: self._derive("group", n))
        return self._groups[group]

    def _ordinal(self, wanted: str, id_of: Callable[[int], str]) -> int:
        number = self._find(wanted, id_of)
        self._next = number + 1
        return number

    def _find(self, wanted: str, id_of: Callable[[int], str]) -> int:
        """Return the number under which this handling made an id, looked for from the next one on to both sides. They
        are made in the order of the effects, but for some, and a handler that failed to say something has made one for
        nothing."""
        last = 2 * (len(self._effects) + self._next) + 10_000
        for away in range(last):
            for number in (self._next + away, self._next - 1 - away):
                if 0 <= number < last and id_of(self._base + number) == wanted:
                    return number
        raise LocalProtocolError(f"the id {wanted} was made by no act of this handling")


def _remembering(change: MemoryChange) -> Remembering:
    at, version = change.at, change.expected_version
    match change:
        case StoreMemory(value=value):
            return Remembering(change="store", plan_id=at.plan_id, key=at.key, value=value, expected_version=version)
        case DropMemory():
            return Remembering(change="drop", plan_id=at.plan_id, key=at.key, expected_version=version)
        case IncrementMemory(by=by):
            return Remembering(change="increment", plan_id=at.plan_id, key=at.key, value=by, expected_version=version)
        case AppendMemory(items=items):
            kept = list(items)
            return Remembering(change="append", plan_id=at.plan_id, key=at.key, value=kept, expected_version=version)
        case _:
            assert_never(change)
