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
from soorma_ai.domain.events import SYSTEM, EventTopic
from unit.kit import HOUR, LINEAGE, NOW, expectation, plan

LATER = NOW + HOUR
PLAN, WAIT = plan(goal_data={"secret": "of the goal"}), expectation("wait", id="w-1")
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
    assert (told.time, told.causation_id) == (NOW, "goal")


def test_waking_twice_for_one_thing_is_one_event_whenever_it_is_done() -> None:
    assert wake_for(EXPIRED, WAIT, NOW).id == wake_for(EXPIRED, WAIT, LATER).id
    assert wake_plan(CANCEL_REQUESTED, PLAN, NOW).id == wake_plan(CANCEL_REQUESTED, PLAN, LATER).id


def test_a_plan_is_stranded_once_for_each_of_its_versions() -> None:
    assert wake_plan(STRANDED, plan(version=1), NOW).id != wake_plan(STRANDED, plan(version=2), NOW).id


def test_waking_for_different_things_is_different_events() -> None:
    made = [wake_for(type, WAIT, NOW).id for type in FOR_WAITS] + [wake_plan(type, PLAN, NOW).id for type in FOR_PLANS]
    assert len(set(made)) == len(made)


def test_a_wake_event_asks_for_no_answer() -> None:
    for event in (wake_for(ANSWERED, WAIT, NOW), wake_plan(CANCEL_REQUESTED, PLAN, NOW)):
        assert (event.correlation_id, event.response_event, event.response_topic) == (None, None, None)
