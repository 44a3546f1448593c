"""Events, tasks and answers from outside of every handler: into the store, unless too much waits."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from soorma_ai.core.expecting.answers import judge_answer
from soorma_ai.core.expecting.wakeups import ANSWERED, wake_for
from soorma_ai.domain.events import CLIENT, EventEnvelope, EventTopic, Lineage, ReplyAddress, completion_of, new_event
from soorma_ai.domain.expectations import FOR_PEOPLE, Expectation
from soorma_ai.domain.people import ACCEPTED, Answer, AnswerOutcome, Person
from soorma_ai.domain.registry import EventDefinition
from soorma_ai.domain.schemas import describe, violations
from soorma_ai.domain.values import JsonObject, json_object
from soorma_ai.errors import LocalProtocolError, NotFound, Overloaded
from soorma_ai.ports import Plans
from soorma_ai.runtime.handling.handling import Services, must_be_outside
from soorma_ai.runtime.views import plans as reading


async def take_in(services: Services, event: EventEnvelope, expectation: Expectation | None = None) -> None:
    """Store an event from outside. Raise Overloaded when too much waits, but never for what is on its way."""
    store, most = services.store, services.max_backlog
    begins = event.topic is EventTopic.ACTION_REQUESTS or not (event.plan_id or event.correlation_id)
    if begins and await store.queue.backlog(most) >= most and await store.events.event(event.id) is None:
        raise Overloaded(
            f"{most} deliveries wait already, so {event.type!r} was not taken: try again later, "
            "start the agents that they wait for, or allow more with SOORMA_MAX_BACKLOG"
        )
    await store.queue.send([event], expectation, services.clock.now())


def check_data(definition: EventDefinition, data: Mapping[str, Any]) -> JsonObject:
    """Return it as JSON. Raise LocalProtocolError for data off its schema, and inside of a handler."""
    must_be_outside()
    given = json_object(f"the data of {definition.event_name!r}", data)
    faults = violations(definition.payload_schema, given)
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


async def send_task(
    services: Services, worker: str, definition: EventDefinition, data: Mapping[str, Any], lineage: Lineage
) -> str:
    """Send a worker a request, and return its id, which is that of the task. Raise LocalProtocolError."""
    given, task_id = check_data(definition, data), services.clock.new_id()
    await take_in(services, request_of(definition, given, task_id, lineage, services.clock.now(), worker))
    return task_id


async def take_answer(plans: Plans, wait_id: str, given: Answer, person: Person, now: datetime) -> AnswerOutcome:
    """Judge and record what a person says about a question: the first valid answer wins.

    Raise NotFound for what is no question, or one of another tenant.
    """
    while True:
        asked = await plans.expectation(wait_id)
        if asked is None or asked.kind not in FOR_PEOPLE or asked.tenant_id != person.tenant_id:
            raise NotFound(f"no question {wait_id} is asked of tenant {person.tenant_id!r}; list the open ones")
        outcome = judge_answer(asked, given, person, now)
        if outcome != ACCEPTED or asked.answer is not None:
            return outcome
        if await plans.answer(wait_id, given, wake_for(ANSWERED, asked, now), now):
            return outcome
        # Somebody was first since the question was read: judged again, on what stands now.


async def lineage_of(services: Services, tenant_id: str, plan_id: str | None, goal_id: str | None) -> Lineage:
    """Return the plan's, as if it had asked itself. Raise NotFound, and LocalProtocolError for another goal's plan."""
    if plan_id is None:
        return Lineage(tenant_id=tenant_id, goal_id=goal_id)
    lineage = (await reading.own_plan(services, tenant_id, plan_id)).lineage
    if goal_id not in (None, lineage.goal_id):
        raise LocalProtocolError(f"plan {plan_id} pursues goal {lineage.goal_id}, not {goal_id!r}")
    return lineage
