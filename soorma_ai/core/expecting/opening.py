"""How anything that must come is opened, announced and given its deadline."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from soorma_ai.core.expecting.wakeups import EXPIRED, wake_for
from soorma_ai.domain.effects import Effect, Schedule
from soorma_ai.domain.events import EventEnvelope, EventTopic, Lineage, caused_id, new_event
from soorma_ai.domain.expectations import Expectation
from soorma_ai.domain.plans import PlanRecord
from soorma_ai.domain.values import Json, JsonObject, derived_id

WAIT_OPENED = "plan.wait.opened"


@dataclass(frozen=True)
class Moment:
    """Where and when something is made: ids derive from the cause, so making it again makes the same."""

    cause: EventEnvelope
    agent: str
    now: datetime
    ordinals: Iterator[int]

    def event_id(self, type: str) -> str:
        return caused_id(self.cause.id, self.agent, next(self.ordinals), type)


def announcement(
    lineage: Lineage, opened: Expectation, moment: Moment, *, about: JsonObject | None = None
) -> EventEnvelope:
    """By which programs outside learn that people are asked. `about` is what the asker adds of its own."""
    ask = opened.ask
    data: dict[str, Json] = {
        **(about or {}),
        "wait_id": opened.id,
        "kind": opened.kind,
        "expected_event": opened.event_type,
    }
    if ask:
        decisions: list[Json] = list(ask.allowed_decisions)
        data |= {"reason": ask.reason, "message": ask.message, "allowed_decisions": decisions}
        data |= {"response_schema": ask.response_schema, "digest": ask.proposal.digest if ask.proposal else None}
    if opened.deadline:
        data["deadline"] = opened.deadline.isoformat()
    return new_event(
        lineage,
        event_id=derived_id("announced", opened.id),
        source=moment.agent,
        topic=EventTopic.NOTIFICATION_EVENTS,
        type=WAIT_OPENED,
        data=data,
        time=moment.now,
        causation_id=moment.cause.id,
        subject=opened.id,
    )


def deadline_timer(plan: PlanRecord, expectation: Expectation) -> tuple[Effect, ...]:
    """The plan's own deadline has a timer already; only an earlier one needs its own."""
    due = expectation.deadline
    if due is None or (plan.deadline is not None and due >= plan.deadline):
        return ()
    event = wake_for(EXPIRED, expectation, due)
    return (Schedule(f"deadline:{expectation.id}", due, event, guards=expectation.id),)


def earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    return min((moment for moment in (one, other) if moment), default=None)
