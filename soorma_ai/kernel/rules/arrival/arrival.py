"""Rules for an incoming event: the inboxes for it, and the expectations met by it.

A store asks the registry (`hear`), looks up the event's references and their meaning (`meaning_of`), lets `arrive`
decide, and applies the result. Of several events each sees the outcome of the earlier ones.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from enum import Enum, auto

from msgspec import Struct

from soorma_ai.kernel.domain.dead_letters import CANNOT_ARRIVE
from soorma_ai.kernel.domain.events import CLIENT, SYSTEM, EventEnvelope, EventTopic
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, ExpectationStatus, Stray
from soorma_ai.kernel.domain.names import plain_name
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.replies import is_failure
from soorma_ai.kernel.rules.arrival.effects import (
    Effect,
    Hasten,
    KeepEarly,
    Meet,
    Put,
    Replace,
    Resolve,
    SendReply,
    Stop,
)
from soorma_ai.kernel.rules.arrival.matching import fits, owner_of
from soorma_ai.kernel.rules.arrival.silence import watch
from soorma_ai.kernel.rules.arrival.takers import Index
from soorma_ai.kernel.rules.arrival.untaken import keep
from soorma_ai.kernel.rules.delivery.doubts import doubt_id
from soorma_ai.kernel.rules.waits.answers import is_undeclared, may_meet
from soorma_ai.kernel.rules.waits.opening import keys_of_event
from soorma_ai.kernel.rules.waits.replies import id_when_let_go, is_open_reply, is_reply, refuse
from soorma_ai.kernel.rules.waits.wakeups import ABANDONED, CANCEL_REQUESTED, DEADLINE_REACHED, WAKE_EVENTS

KEPT_EARLY = timedelta(hours=24)
GIVEN_UP = "whoever delegated it waits for it no more"

_FROM_INSIDE = (EventTopic.ACTION_REQUESTS, EventTopic.PLAN_EVENTS)


class EventTargets(Struct, frozen=True):
    """Takers of an event from the registry, and its references: the expectation answered or reported, the plan to wake,
    the keys of a possible wait."""

    takers: tuple[Put, ...] = ()
    listeners: tuple[Put, ...] = ()
    expectation_id: str | None = None
    plan_id: str | None = None
    keys: tuple[str, ...] = ()
    is_awaited: bool = False
    is_untaken: bool = False


class Meaning(Enum):
    """Meaning of an event for its references; a store looks up the rest by it."""

    NOTHING = auto()
    REPLY = auto()  # looked up: whether the request was handed to who replies
    WAKES_PLAN = auto()  # looked up: its planner
    WAKES_TASK = auto()
    ENDS_DOUBT = auto()  # the delivery of the expectation's owner that rests in doubt
    GIVES_UP = auto()  # plans that pursue the request as their goal, and workers that have it as their task
    MAY_BE_AWAITED = auto()  # waits that are open under its keys, oldest first; and whether it met one before


class NamedRows(Struct, frozen=True):
    """Rows behind the references. `let_go` are the ids of the approved copies of the request with this expected reply,
    beside its own; `was_handed`: the replying agent takes such requests, and got this one under one of its ids.
    `was_untaken`: this request had no taker at its first arrival, and is delivered in another way. `replied` is the
    client's earlier answer; `planner` is the agent of the plan, with its tenant; `working` are agents, each with its
    task; `resting` is the event of the delivery in doubt, with the fence of its handler's begin. `awaited` is the wait
    of the state machine of the referenced plan."""

    expected: Expectation | None = None
    let_go: tuple[str, ...] = ()
    was_handed: bool = False
    was_untaken: bool = False
    replied: EventEnvelope | None = None
    planner: tuple[str, str] | None = None
    has_met_wait: bool = False
    waits: tuple[Expectation, ...] = ()
    awaited: Expectation | None = None
    pursuing: tuple[str, ...] = ()
    working: tuple[tuple[str, str], ...] = ()
    resting: tuple[str, int] | None = None


def hear(event: EventEnvelope, index: Index) -> EventTargets:
    kind = index.kind_of(event)
    takers, listeners = kind.puts(event)
    if event.topic is EventTopic.PLAN_EVENTS and _is_wake_up(event):
        if event.plan_id is None or event.type == ABANDONED:
            return EventTargets(takers, listeners, expectation_id=event.subject)
        return EventTargets(takers, listeners, plan_id=event.plan_id)
    if event.topic in _FROM_INSIDE:
        is_request = event.topic is EventTopic.ACTION_REQUESTS
        is_untaken = is_request and (event.unchecked is True or not kind.is_taken)
        return EventTargets(takers, listeners, event.correlation_id, is_untaken=is_untaken)
    keys = keys_of_event(event, kind.definitions)
    return EventTargets(takers, listeners, event.correlation_id, None, keys, kind.is_awaited)


def meaning_of(event: EventEnvelope, heard: EventTargets, expected: Expectation | None) -> Meaning:
    if event.topic is EventTopic.PLAN_EVENTS and _is_wake_up(event):
        if heard.plan_id is not None:
            return Meaning.WAKES_PLAN
        if expected is None or not _is_over(expected, event):
            return Meaning.NOTHING
        if event.type == ABANDONED:
            return Meaning.GIVES_UP
        return Meaning.ENDS_DOUBT if expected.kind is ExpectationKind.DOUBT else Meaning.WAKES_TASK
    if expected is not None and is_reply(expected, event):
        return Meaning.REPLY
    return Meaning.MAY_BE_AWAITED if heard.keys else Meaning.NOTHING


def arrive(heard: EventTargets, found: NamedRows, event: EventEnvelope, now: datetime) -> tuple[Effect, ...]:
    """Give each agent one copy. An event awaited by a plan goes to the plan before its agent's subscription: otherwise
    the plan would hang."""
    meets = _meet(heard, found, event, now)
    takers = () if heard.is_untaken or found.was_untaken else [watch(put, event, now) for put in heard.takers]
    if heard.is_untaken and not found.was_untaken:
        meets = (*meets, *keep(event, found.expected))
    puts, others = dict[str, Put](), list[Effect]()
    for effect in (*heard.listeners, *takers, *meets):
        match effect:
            case Put(agent=agent):
                puts[agent] = effect
            case _:
                others.append(effect)
    return (*others, *puts.values())


def refusal_of(event: EventEnvelope, reason: str, now: datetime) -> EventEnvelope | None:
    """Return the reply for the requester of a request without an arrival; other events have no requester."""
    return refuse(event, CANNOT_ARRIVE, reason, now) if event.topic is EventTopic.ACTION_REQUESTS else None


def plan_named_by(event: EventEnvelope) -> str | None:
    """Return the id of the possible plan of an outside event: from its reply key, or from its client."""
    return event.plan_id if event.source == CLIENT and event.correlation_id is None else event.correlation_id


def awaited_by(plan: PlanRecord, event: EventEnvelope) -> str | None:
    """Return the id of the expectation that a machine of this tenant waits for; None for other plans."""
    is_machine = bool(plan.current_state) and plan.lineage.tenant_id == event.tenant_id
    return plan.awaits if is_machine else None


def is_of_use(heard: EventTargets, waits: Sequence[Expectation]) -> bool:
    """Tell whether an event could meet one of these waits, or be kept for a later one: whether it has met one before
    is asked of no other."""
    return bool(waits) or heard.is_awaited


def plan_to_stop(event: EventEnvelope) -> str | None:
    """Return the plan ended by this event, if any; its handlings need not continue."""
    return event.plan_id if event.source == SYSTEM and _ends(event) else None


def ids_when_let_go(request_id: str, is_in_log: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the ids of the approved copies of a request already in the log, the first one first. Each of them may be
    in the log without a taker, until an agent comes and wants one more approval."""
    ids = [request_id]
    while is_in_log(following := id_when_let_go(ids[-1])):
        ids.append(following)
    return tuple(ids[1:])


def _meet(heard: EventTargets, found: NamedRows, event: EventEnvelope, now: datetime) -> tuple[Effect, ...]:
    match meaning_of(event, heard, found.expected), found.expected:
        case Meaning.WAKES_PLAN, _:
            return _wake_plan(heard.plan_id, found.planner, event)
        case Meaning.WAKES_TASK, Expectation(agent=agent, task_id=str(task_id)):
            return (Put(agent, task_id),)
        case Meaning.ENDS_DOUBT, Expectation() as question:
            return _resolve(question, found.resting)
        case Meaning.GIVES_UP, _:
            return _abandon(found)
        case Meaning.REPLY, Expectation() as expected:
            return _meet_reply(expected, found, event)
        case Meaning.MAY_BE_AWAITED, _ if not found.has_met_wait:
            return _meet_wait(heard, found, event, now)
        case _:
            return ()


def _is_wake_up(event: EventEnvelope) -> bool:
    return event.topic is EventTopic.PLAN_EVENTS and event.type in WAKE_EVENTS


def _is_over(expected: Expectation, event: EventEnvelope) -> bool:
    """Tell whether a wake-up about this expectation is true: its row agrees, or the event wakes nothing."""
    if expected.tenant_id != event.tenant_id:
        return False
    if event.type == ABANDONED:
        return expected.status is ExpectationStatus.CLOSED or expected.is_child_given_up
    return expected.status is not ExpectationStatus.OPEN


def _wake_plan(plan_id: str | None, planner: tuple[str, str] | None, event: EventEnvelope) -> tuple[Effect, ...]:
    if plan_id is None or planner is None:
        return ()
    agent, tenant_id = planner
    if tenant_id != event.tenant_id:
        return ()
    return (Put(agent, plan_id), *((Hasten(agent, plan_id),) if _ends(event) else ()))


def _ends(event: EventEnvelope) -> bool:
    return event.source == SYSTEM and event.type in (CANCEL_REQUESTED, DEADLINE_REACHED)


def _abandon(found: NamedRows) -> tuple[Effect, ...]:
    """Stop the asked agents: plans with it as their goal, and workers with it as their task."""
    stopped = (Stop(plan_id, GIVEN_UP) for plan_id in found.pursuing)
    return (*stopped, *(Put(agent, task_id) for agent, task_id in found.working))


def _resolve(question: Expectation, resting: tuple[str, int] | None) -> tuple[Effect, ...]:
    """End the present doubt, which no other question does: one that was answered before may be told again."""
    is_present = resting is not None and doubt_id(question.agent, *resting) == question.id
    return (Resolve(question.agent, owner_of(question)),) if is_present else ()


def _meet_reply(expected: Expectation, found: NamedRows, event: EventEnvelope) -> tuple[Effect, ...]:
    """Meet it by a reply of an asked agent, or by the platform's about one. A repeated reply still counts as the
    meeting one."""
    is_about_it = event.answers is None or event.answers in (expected.id, *found.let_go)
    if not (is_about_it and (found.was_handed or event.source == SYSTEM)):
        return (Stray(event.id, event.type, "unasked", expected.id),)
    if found.replied is not None and _makes_good(found.replied, event):
        return Replace(expected.id, found.replied.id, event.id), SendReply(expected.id, event)
    is_open = expected.status is ExpectationStatus.OPEN
    if not is_open and (expected.status, expected.met_by) != (ExpectationStatus.MET, event.id):
        reason = "surplus" if expected.status is ExpectationStatus.MET else "late"
        return (Stray(event.id, event.type, reason, expected.id),)
    meets = (Meet(expected.id, event.id),) if is_open else ()
    if expected.kind is ExpectationKind.CLIENT:
        return (*meets, SendReply(expected.id, event))
    return (*meets, Put(expected.agent, owner_of(expected)))


def _makes_good(before: EventEnvelope, event: EventEnvelope) -> bool:
    """Tell whether an agent has succeeded after a failure to a client, as after the redrive of a dead letter."""
    return before.source == event.source and is_failure(before.data) and not is_failure(event.data)


def _meet_wait(heard: EventTargets, found: NamedRows, event: EventEnvelope, now: datetime) -> tuple[Effect, ...]:
    """Meet the oldest wait that it fits. One that no wait is open for yet is kept, if such a wait may come."""
    named = [wait for wait in found.waits if may_meet(wait, event)]
    fitting = [wait for wait in named if fits(wait, event)]
    strays = [Stray(event.id, event.type, "invalid", wait.id) for wait in named if wait not in fitting]
    if fitting:
        oldest, *others = fitting
        strays += [Stray(event.id, event.type, "ambiguous", wait.id) for wait in others]
        return (*strays, Meet(oldest.id, event.id), Put(oldest.agent, owner_of(oldest)))
    if named:
        return tuple(strays)
    strays += _unheard(found, event)
    if heard.is_awaited:
        stray = Stray(event.id, event.type, "early", None)
        return (*strays, KeepEarly(stray, event.tenant_id, heard.keys, now + KEPT_EARLY))
    return tuple(strays)


def _unheard(found: NamedRows, event: EventEnvelope) -> Iterator[Stray]:
    """Tell why an event that names a question or a plan moves nothing."""
    agent = plain_name(event.source)
    for wait in found.waits:
        if is_undeclared(wait, event):
            advice = f"agent {agent} answers by {event.type} and does not declare it: add it to its events_produced"
            yield Stray(event.id, event.type, "undeclared", wait.id, advice)
    if found.awaited is not None and is_open_reply(found.awaited):
        waiting = f"the plan waits for the reply to {found.awaited.subject}"
        advice = f"{agent} sent {event.type} under the id of a plan, and {waiting}: reply under {found.awaited.id}"
        yield Stray(event.id, event.type, "busy", found.awaited.id, advice)
