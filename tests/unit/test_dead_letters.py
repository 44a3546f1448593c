"""Obstacles to the redrive of a dead letter."""

import pytest

from soorma_ai.features.dead_letters.records import hindrance
from soorma_ai.kernel.domain.plans import PlanStatus


@pytest.mark.parametrize(
    ("unreadable", "status", "words"),
    [
        (None, None, None),
        (None, PlanStatus.RUNNING, None),
        (None, PlanStatus.PAUSED, None),
        (None, PlanStatus.COMPLETED, "has ended (completed)"),
        (None, PlanStatus.FAILED, "plan p, which it came for, has ended (failed)"),
        (None, PlanStatus.CANCELLED, "submit the goal again, and discard this"),
        ("its event is none", PlanStatus.FAILED, "its event is none; redrive it with the version"),
    ],
)
def test_a_dead_letter_of_an_ended_plan_or_with_an_unreadable_event_is_not_redriven(
    unreadable: str | None, status: PlanStatus | None, words: str | None
) -> None:
    found = hindrance(unreadable, "p" if status else None, status)
    assert (found is None) if words is None else (words in (found or ""))
