"""A decision that may be carried out leads to effects, and the same decision to the same effects."""

from datetime import timedelta
from typing import Any

import pytest

from soorma_ai.core.plan.carry_out import carry_out
from soorma_ai.core.plan.triggers import Trigger
from soorma_ai.domain.decisions import (
    CompleteAction,
    DelegateAction,
    PublishAction,
    PublishAllAction,
    WaitAction,
    fingerprint,
)
from soorma_ai.domain.registry import Approval
from unit.kit import END, HOUR, NOW, expectation, judged, moment, opened, plan, steps

REQUEST, TRIGGER = PublishAction(event_type="pay"), Trigger("The goal came.")
GIVEN = DelegateAction(target_planner="buyer", goal_event="pay")


def carried_out(action: Any, reply_timeout: timedelta | None = None, **changes: Any) -> Any:
    return carry_out(plan(), judged(action, **changes), TRIGGER, [], moment(), reply_timeout=reply_timeout)


@pytest.mark.parametrize(
    ("action", "timeout", "deadline"),
    [(REQUEST, None, END), (REQUEST, HOUR, NOW + HOUR), (GIVEN, HOUR, END), (REQUEST, timedelta(days=9), END)],
)
def test_a_planners_reply_timeout_is_for_its_requests(action: Any, timeout: timedelta | None, deadline: Any) -> None:
    (reply,) = opened(carried_out(action, reply_timeout=timeout))
    assert reply.deadline == deadline


@pytest.mark.parametrize(("seconds", "deadline"), [(None, NOW + HOUR), (60, END)])
def test_where_a_join_has_a_time_of_its_own_its_requests_have_none(seconds: Any, deadline: Any) -> None:
    together = PublishAllAction(requests=(REQUEST,), timeout_seconds=seconds)
    _, reply = opened(carried_out(together, HOUR, parts=(judged(REQUEST),)))
    assert reply.deadline == deadline


@pytest.mark.parametrize(
    ("action", "changes"),
    [
        (REQUEST, {}),
        (REQUEST, {"approval": Approval()}),
        (GIVEN, {}),
        (GIVEN, {"approval": Approval()}),
        (WaitAction(expected_event="told"), {}),
    ],
)
def test_the_step_of_a_decision_carries_its_mark_so_that_repeats_are_counted(action: Any, changes: Any) -> None:
    (step,) = steps(carried_out(action, **changes))
    assert step.fingerprint == fingerprint(judged(action).decision, TRIGGER.known)
    assert carried_out(action, **changes) == carried_out(action, **changes), "handling again makes the same"


def test_to_complete_ends_the_plan_and_closes_what_is_open() -> None:
    outcome = carry_out(plan(), judged(CompleteAction(result=5)), TRIGGER, [expectation()], moment())
    assert (outcome.plan.status, outcome.plan.result) == ("completed", 5)
