"""Intake of events, tasks and answers from outside of every handler, within a bound for waiting work."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from itertools import count
from typing import TypeVar

from msgspec.structs import replace

from soorma_ai.errors import Held, LocalProtocolError, NotFound, Overloaded, VersionConflict
from soorma_ai.kernel.domain.effects import Effect, Expect, Publish
from soorma_ai.kernel.domain.events import (
    CLIENT,
    EventEnvelope,
    EventTopic,
    Lineage,
    ReplyAddress,
    completion_of,
    new_event,
)
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.kernel.domain.memory import OpenSession
from soorma_ai.kernel.domain.names import agent_meant, plain_name
from soorma_ai.kernel.domain.people import ACCEPTED, INVALID, Answer, AnswerDecision, AnswerOutcome, Person
from soorma_ai.kernel.domain.registry import TAKEN, EventDefinition, EventRole, RegisteredEvent
from soorma_ai.kernel.domain.schemas import describe
from soorma_ai.kernel.domain.stores import mailbox_of
from soorma_ai.kernel.domain.values import Data, JsonObject, derived_id, digest, json_object
from soorma_ai.kernel.ports import Queue, Registry, Store
from soorma_ai.kernel.rules.waits.answers import event_of_answer, judge_answer
from soorma_ai.kernel.rules.waits.gates import approval_for, gate_id, hold_recorded
from soorma_ai.kernel.rules.waits.opening import (
    LONGEST_WAIT,
    ExpectationSpec,
    Moment,
    Waiter,
    expectation_of,
    first_opened,
    keys_of_event,
)
from soorma_ai.kernel.rules.waits.replies import check_address
from soorma_ai.kernel.runtime.client.ownership import session_for
from soorma_ai.kernel.runtime.client.people import take_answer
from soorma_ai.kernel.runtime.handling.check_ahead import check
from soorma_ai.kernel.runtime.handling.handling import Services, must_be_outside
from soorma_ai.kernel.runtime.handling.requests import request_type
from soorma_ai.kernel.runtime.views import plans as reading
from soorma_ai.kernel.runtime.views.audit import DONE, AuditedChange


async def must_have_room(services: Services, event: EventEnvelope) -> None:
    """Raise Overloaded when too much waits for agents, or for the store of this request's taker. A stored event has
    room already."""
    store, most = services.store, services.max_backlog
    if await store.queue.backlog(most) < most or await store.events.event(event.id) is not None:
        return
    mail = await store.queue.count_mail()
    if await _count_waiting(store.queue, most, mail) >= most:
        raise Overloaded(
            f"{most} deliveries wait already, so {event.type!r} was not taken: try again later, "
            "start the agents that they wait for, or allow more with SOORMA_MAX_BACKLOG"
        )
    for mailbox in await _mailboxes_of(services, event):
        if mail.get(mailbox, 0) >= most:
            raise Overloaded(
                f"{most} events wait for {mailbox} already, so {event.type!r} was not taken: try again when that store "
                "is back, deregister its agents if it is gone for good, or allow more with SOORMA_MAX_BACKLOG"
            )


async def count_waiting(queue: Queue, at_most: int) -> int:
    """Return the number of open deliveries to agents, up to `at_most`."""
    return await _count_waiting(queue, at_most, await queue.count_mail())


async def _count_waiting(queue: Queue, at_most: int, mail: dict[str, int]) -> int:
    elsewhere = sum(mail.values())
    return await queue.backlog(at_most + elsewhere) - elsewhere


async def _mailboxes_of(services: Services, event: EventEnvelope) -> set[str]:
    """Return the mailboxes of the stores with agents for this request."""
    registry, now = services.store.registry, services.clock.now()
    taking = {
        one.agent
        for one in await registry.all_events(event.tenant_id)
        if one.role in TAKEN and (one.definition.topic, one.definition.event_name) == (event.topic, event.type)
    }
    if event.target is not None:
        taking = {agent_meant(event.target, event.source, taking)}
    rows = [await registry.agent(agent, now) for agent in taking if agent is not None]
    return {mailbox_of(row.registration.store) for row in rows if row is not None and row.registration.store}


T = TypeVar("T")


async def take_in(services: Services, event: EventEnvelope, expectation: Expectation | None = None) -> None:
    """Store an event from outside. Raise Overloaded when too much waits, but never for a stored event."""
    await _must_have_room(services, event)
    await services.store.queue.send([event], expectation, services.clock.now())


async def take_from(
    services: Services, person: Person, event: EventEnvelope, expectation: Expectation | None = None
) -> None:
    """Store a person's event as `take_in` does, and open its session. Raise NotFound and Forbidden for a session opened
    by another person meanwhile; Overloaded for an event with very many others early for its plan."""
    await _must_have_room(services, event)
    store, now, keys = services.store, services.clock.now(), await _keys_of_fact(services, event)
    await _into_session(
        store,
        person,
        event,
        now,
        lambda session: store.queue.send([event], expectation, now, session=session, keys=keys),
    )


async def _must_have_room(services: Services, event: EventEnvelope) -> None:
    if event.topic is EventTopic.ACTION_REQUESTS or not (event.plan_id or event.correlation_id):
        await must_have_room(services, event)


async def _keys_of_fact(services: Services, event: EventEnvelope) -> Sequence[str]:
    """Return the names of an event for a plan's later wait; a request has none."""
    if event.topic is EventTopic.ACTION_REQUESTS:
        return ()
    known = await services.store.registry.all_events(event.tenant_id)
    return keys_of_event(event, (one.definition for one in known if one.definition.event_name == event.type))


async def _may_hold_more(services: Services, person: Person, event: EventEnvelope) -> None:
    """Raise Overloaded for a person with too many held requests; held requests occupy no agent."""
    most = services.max_backlog
    if await services.store.plans.count_held(person.tenant_id, person.user_id, most) >= most:
        raise Overloaded(
            f"{most} requests of {person.user_id} are held for an approval already, so {event.type!r} was not taken: "
            "let some of them be answered (`soorma inbox` lists them), or allow more with SOORMA_MAX_BACKLOG"
        )


async def goal_taken(registry: Registry, tenant_id: str, goal: str, planner: str | None) -> RegisteredEvent:
    """Return the goal with its planner's definition, the nearest of one name. Raise NotFound, and LocalProtocolError
    for planners of several names."""
    known = await registry.all_events(tenant_id)
    goals = [event for event in known if event.role is EventRole.TAKES_AS_GOAL]
    fitting = [e for e in goals if e.definition.event_name == goal and planner in (None, e.agent, plain_name(e.agent))]
    if not fitting:
        names = sorted({event.definition.event_name for event in goals})
        raise NotFound(f"no planner takes the goal {goal!r}; known goals: {', '.join(names) or 'none'}")
    names = {planner} if planner is not None else {plain_name(event.agent) for event in fitting}
    if len(names) > 1:
        raise LocalProtocolError(f"several planners take {goal!r}: {', '.join(sorted(names))}; name one with planner=")
    meant = agent_meant(names.pop(), CLIENT, (event.agent for event in fitting))
    return next(event for event in fitting if event.agent == meant)


async def request_taken(services: Services, tenant_id: str, event_type: str, now: datetime) -> EventDefinition:
    """Return the definition of a request with a taker. Raise NotFound."""
    registry = services.store.registry
    definition = await request_type(registry, tenant_id, event_type, now)
    if definition is None:
        taken = (one.definition for one in await registry.all_events(tenant_id) if one.role in TAKEN)
        names = {one.event_name for one in taken if one.topic is EventTopic.ACTION_REQUESTS}
        raise NotFound(f"no agent takes {event_type!r}; known requests: {', '.join(sorted(names)) or 'none'}")
    return definition


async def check_data(tenant_id: str, definition: EventDefinition, data: Data) -> JsonObject:
    """Return the data as JSON. Raise LocalProtocolError for data off its schema, and inside of a handler."""
    must_be_outside()
    given = json_object(f"the data of {definition.event_name!r}", data)
    faults = await check(tenant_id, definition.payload_schema, given)
    if faults:
        raise LocalProtocolError(f"the data of {definition.event_name!r} is off its schema: {describe(faults)}")
    return given


def request_of(
    definition: EventDefinition, data: JsonObject, event_id: str, lineage: Lineage, now: datetime, target: str | None
) -> EventEnvelope:
    """Return a request from outside. Its id is the key of its reply."""
    return new_event(
        lineage,
        event_id=event_id,
        source=CLIENT,
        topic=definition.topic,
        type=definition.event_name,
        data=data,
        time=now,
        reply_to=ReplyAddress(event_id, completion_of(definition.event_name)),
        dataschema=definition.dataschema,
        target=target,
    )


def with_answer(request: EventEnvelope, response_event: str | None) -> EventEnvelope:
    """Return a request whose answer has this name, None for the usual one. Raise LocalProtocolError for a name that is
    the platform's."""
    if response_event is None:
        return request
    check_address(response_event, EventTopic.ACTION_RESULTS)
    return request.model_copy(update={"response_event": response_event})


async def send_task(services: Services, worker: str, definition: EventDefinition, data: Data, lineage: Lineage) -> str:
    """Send a request to a worker; return its id, also the id of the task. Raise LocalProtocolError."""
    given, task_id = await check_data(lineage.tenant_id, definition, data), services.clock.new_id()
    await take_in(services, request_of(definition, given, task_id, lineage, services.clock.now(), worker))
    return task_id


async def take_request(
    change: AuditedChange,
    person: Person,
    event: EventEnvelope,
    definition: EventDefinition,
    expectation: Expectation | None = None,
    *,
    approve: bool = False,
) -> None:
    """Store a request from outside. Raise Held for a request in need of an approval.

    The trusted operator needs no approval; an approver gives it by `approve`; both are recorded as an answer. Raise
    LocalProtocolError for `approve` without the right, and for a rejected request without an expected reply.
    """
    services, store = change.services, change.store
    gate = await store.plans.expectation(gate_id(event.id)) if definition.approval is not None else None
    if gate is not None:
        await _ask_again(change, person, event, gate, expectation, approve=approve)
        return
    approval = approval_for(definition, event.data, None)
    if approval is None or await store.events.event(event.id) is not None:
        await take_from(services, person, event, expectation)
        return
    await _must_have_room(services, event)
    now = services.clock.now()
    waiter = Waiter(CLIENT, event.lineage, event.deadline, longest=LONGEST_WAIT)
    reply = expectation or expectation_of(waiter, reply_of(event), now)
    asked = (Publish(event), Expect(reply))
    held = hold_recorded(asked, event, definition, approval, waiter, Moment(event, CLIENT, now, count()))
    opened, yes = first_opened(held), _yes(gate_id(event.id), person, now)
    if approve or person.roles is None:
        _must_count(judge_answer(opened, yes, person, now), event, person)
        passed = replace(opened, status=ExpectationStatus.MET, closed_at=now, met_by=event.id, answer=yes)
        is_new = await _send_once(store, person, event, (Expect(passed), *asked), now)
    else:
        await _may_hold_more(services, person, event)
        change.expect(Held.code)
        if is_new := await _send_once(store, person, event, held, now):
            raise Held(event.type, opened.id, event.id)
    if not is_new:
        # Somebody was first with the same key: what became of that stands.
        change.expect(DONE)
        await take_request(change, person, event, definition, expectation, approve=approve)


async def _send_once(
    store: Store, person: Person, event: EventEnvelope, changes: Sequence[Effect], now: datetime
) -> bool:
    def send(session: OpenSession | None) -> Awaitable[bool]:
        return store.queue.send_once(changes if session is None else (session, *changes), now)

    return await _into_session(store, person, event, now, send)


async def _into_session(
    store: Store,
    person: Person,
    event: EventEnvelope,
    now: datetime,
    send: Callable[[OpenSession | None], Awaitable[T]],
) -> T:
    """Send an event together with the opening of its session, if needed. If another person opened it first, a caller
    with access to it goes into theirs; all others get NotFound, or Forbidden."""
    session = await session_for(store, person, event.session_id, now)
    try:
        return await send(session)
    except VersionConflict:
        if session is None or await session_for(store, person, event.session_id, now) is not None:
            raise
        return await send(None)


def reply_of(request: EventEnvelope) -> ExpectationSpec:
    """Return the reply, as a client expects it."""
    name = completion_of(request.type)
    return ExpectationSpec(
        request.id, ExpectationKind.CLIENT, name, subject=request.type, dataschema=request.dataschema
    )


async def _ask_again(
    change: AuditedChange,
    person: Person,
    event: EventEnvelope,
    gate: Expectation,
    expectation: Expectation | None,
    *,
    approve: bool,
) -> None:
    """Repeat an earlier request: the outcome of its gate stands. Raise Held while the question is open."""
    held, now = gate.ask.proposal if gate.ask else None, change.services.clock.now()
    if held is None or held.digest != digest(event.data):
        raise LocalProtocolError(f"request {event.id} was asked with other data before; give it a key of its own")
    if gate.status is ExpectationStatus.OPEN:
        if not approve and person.roles is not None:
            raise Held(event.type, gate.id, event.id)
        yes = _yes(gate.id, person, now)
        if person.roles is None:
            await change.store.plans.answer(gate.id, yes, event_of_answer(gate, yes, now), now)
            return
        outcome = await take_answer(change.store, gate.id, yes, person, now)
        if outcome == INVALID:
            raise LocalProtocolError(
                f"{person.user_id} cannot approve {event.type!r} by approve=True: {outcome.detail}; "
                f"answer({gate.id!r}, ...) gives a whole answer"
            )
    elif gate.answer is not None and gate.answer.decision is AnswerDecision.REJECT and expectation is None:
        said = f": {gate.answer.note}" if gate.answer.note else ""
        raise LocalProtocolError(f"{gate.answer.by} rejected {event.type!r}, so it was not published{said}")
    elif gate.answer is None and expectation is None and gate.ask and gate.ask.on_expiry is AnswerDecision.REJECT:
        raise LocalProtocolError(f"nobody approved {event.type!r} in time, so it was not published")


def _yes(wait_id: str, person: Person, now: datetime) -> Answer:
    return Answer(derived_id("yes", wait_id), {"approved": True}, AnswerDecision.APPROVE, person.user_id, now)


def _must_count(outcome: AnswerOutcome, event: EventEnvelope, person: Person) -> None:
    if outcome != ACCEPTED and person.roles is not None:
        raise LocalProtocolError(
            f"{person.user_id} cannot approve {event.type!r} by approve=True: {outcome.detail}; "
            "leave that out: the request waits then for whoever may answer, with answer(wait_id, ...)"
        )


async def lineage_of(services: Services, tenant_id: str, plan_id: str | None, goal_id: str | None) -> Lineage:
    """Return the lineage of a plan's own request. Raise NotFound, and LocalProtocolError for the plan of another
    goal."""
    if plan_id is None:
        return Lineage(tenant_id=tenant_id, goal_id=goal_id)
    lineage = (await reading.own_plan(services, Person(tenant_id), plan_id)).lineage
    if goal_id not in (None, lineage.goal_id):
        raise LocalProtocolError(f"plan {plan_id} pursues goal {lineage.goal_id}, not {goal_id!r}")
    return lineage
