from datetime import UTC, datetime, timedelta

import pytest

from soorma_ai.core.expecting.wakeups import (
    ABANDONED,
    ANSWERED,
    CANCEL_REQUESTED,
    DEADLINE_REACHED,
    EXPIRED,
    OFFER_CHANGED,
    STRANDED,
    WAKE_EVENTS,
    wake_for,
    wake_plan,
)
from soorma_ai.domain.events import SYSTEM, EventTopic, Lineage
from soorma_ai.domain.expectations import Expectation, ExpectationKind
from soorma_ai.domain.limits import Limits
from soorma_ai.domain.plans import PlanRecord, PlanStatus

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
LINEAGE = Lineage(
    tenant_id="acme",
    user_id="ada",
    session_id="s-1",
    goal_id="g-1",
    plan_id="p-1",
    root_plan_id="p-0",
    deadline=LATER,
    traceparent="00-1-2-01",
)
PLAN = PlanRecord(
    plan_id="p-1",
    agent="orders",
    agent_version="0.1.0",
    status=PlanStatus.RUNNING,
    goal_id="g-1",
    goal_event="order.goal",
    goal_data={"secret": "of the goal"},
    lineage=LINEAGE,
    limits=Limits(),
    created_at=NOW,
    updated_at=NOW,
    root_plan_id="p-0",
)
WAIT = Expectation(
    id="w-1",
    kind=ExpectationKind.WAIT,
    agent="orders",
    tenant_id="acme",
    plan_id="p-1",
    root_plan_id="p-0",
    event_type="user.replied",
    event_topic=EventTopic.ACTION_RESULTS,
    opened_at=NOW,
    deadline=LATER,
    subject="a question",
)
FOR_WAITS = (ABANDONED, ANSWERED, EXPIRED, OFFER_CHANGED)
FOR_PLANS = (CANCEL_REQUESTED, DEADLINE_REACHED, STRANDED)


def test_every_wake_event_is_known_as_one() -> None:
    assert {*FOR_WAITS, *FOR_PLANS} == WAKE_EVENTS


@pytest.mark.parametrize("type", FOR_WAITS)
def test_a_plan_is_woken_by_an_event_that_points_at_the_row_and_carries_nothing(type: str) -> None:
    woken = wake_for(type, WAIT, NOW, causation_id="e-1")
    assert (woken.type, woken.topic, woken.source) == (type, EventTopic.PLAN_EVENTS, SYSTEM)
    assert woken.subject == "w-1"
    assert woken.data == {}
    assert (woken.tenant_id, woken.plan_id, woken.root_plan_id) == ("acme", "p-1", "p-0")
    assert (woken.time, woken.causation_id) == (NOW, "e-1")


@pytest.mark.parametrize("type", FOR_PLANS)
def test_a_plan_is_told_by_an_event_with_its_own_lineage_and_none_of_its_data(type: str) -> None:
    told = wake_plan(type, PLAN, NOW)
    assert (told.type, told.topic, told.source) == (type, EventTopic.PLAN_EVENTS, SYSTEM)
    assert told.subject == "p-1"
    assert told.data == {}
    assert told.lineage == LINEAGE
    assert (told.time, told.causation_id) == (NOW, "g-1")


def test_waking_twice_for_one_thing_is_one_event_whenever_it_is_done() -> None:
    assert wake_for(EXPIRED, WAIT, NOW).id == wake_for(EXPIRED, WAIT, LATER).id
    assert wake_plan(CANCEL_REQUESTED, PLAN, NOW).id == wake_plan(CANCEL_REQUESTED, PLAN, LATER).id


def test_waking_for_different_things_is_different_events() -> None:
    made = [wake_for(type, WAIT, NOW).id for type in FOR_WAITS] + [wake_plan(type, PLAN, NOW).id for type in FOR_PLANS]
    assert len(set(made)) == len(made)


def test_a_wake_event_asks_for_no_answer() -> None:
    for event in (wake_for(ANSWERED, WAIT, NOW), wake_plan(CANCEL_REQUESTED, PLAN, NOW)):
        assert (event.correlation_id, event.response_event, event.response_topic) == (None, None, None)
