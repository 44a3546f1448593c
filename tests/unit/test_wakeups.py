import pytest

from soorma_ai.kernel.domain.events import SYSTEM, EventTopic
from soorma_ai.kernel.rules.arrival.endings import set_going
from soorma_ai.kernel.rules.waits.wakeups import (
    ABANDONED,
    ANSWERED,
    CANCEL_REQUESTED,
    DEADLINE_REACHED,
    EXPIRED,
    FORKED,
    OFFER_CHANGED,
    PHASE_ENTERED,
    STRANDED,
    WAKE_EVENTS,
    wake_for,
    wake_plan,
)
from unit.kit import HOUR, LINEAGE, NOW, expectation, plan

LATER = NOW + HOUR
PLAN, WAIT = plan(goal_data={"secret": "of the goal"}), expectation("wait", id="w-1")
FOR_WAITS = (ABANDONED, ANSWERED, EXPIRED, OFFER_CHANGED)
FOR_PLANS = (CANCEL_REQUESTED, DEADLINE_REACHED, FORKED, PHASE_ENTERED, STRANDED)


def test_the_list_of_wake_events_is_complete() -> None:
    assert {*FOR_WAITS, *FOR_PLANS} == WAKE_EVENTS


@pytest.mark.parametrize("type", sorted(WAKE_EVENTS))
def test_a_wake_up_points_at_a_row_has_no_data_and_expects_no_answer(type: str) -> None:
    is_wait = type in FOR_WAITS
    woken = wake_for(type, WAIT, NOW, causation_id="e-1") if is_wait else wake_plan(type, PLAN, NOW)
    assert (woken.type, woken.topic, woken.source, woken.data) == (type, EventTopic.PLAN_EVENTS, SYSTEM, {})
    assert (woken.subject, woken.causation_id, woken.time) == (*(("w-1", "e-1") if is_wait else ("p-1", "goal")), NOW)
    assert (woken.tenant_id, woken.plan_id, woken.root_plan_id) == ("acme", "p-1", "p-0")
    assert woken.lineage == LINEAGE or is_wait
    assert (woken.correlation_id, woken.response_event, woken.response_topic) == (None, None, None)


def test_wake_ups_for_the_same_reason_share_an_id_at_any_time() -> None:
    assert wake_for(EXPIRED, WAIT, NOW).id == wake_for(EXPIRED, WAIT, LATER).id
    assert wake_plan(CANCEL_REQUESTED, PLAN, NOW).id == wake_plan(CANCEL_REQUESTED, PLAN, LATER).id


def test_a_plan_is_stranded_once_for_each_version() -> None:
    wakes = [set_going(plan(version=version), NOW).event for version in (1, 1, 2)]
    assert {wake.type for wake in wakes} == {STRANDED}
    assert wakes[0].id == wakes[1].id != wakes[2].id


def test_wake_ups_for_different_reasons_have_different_ids() -> None:
    made = [wake_for(type, WAIT, NOW).id for type in FOR_WAITS] + [wake_plan(type, PLAN, NOW).id for type in FOR_PLANS]
    assert len(set(made)) == len(made)
