"""Who does not answer is reminded, then others are asked; each is a timer that goes with the question."""

from dataclasses import replace
from typing import Any

import pytest

from soorma_ai.core.expecting.reminders import reminders
from soorma_ai.domain.people import AnswerDecision, Ask
from unit.kit import GOAL, HOUR, NOW, expectation

ASK = Ask("why", "Which?", {"type": "object"}, (AnswerDecision.RESPOND,), reminders=(HOUR,))


@pytest.mark.parametrize(
    ("deadline", "ladder", "told"),
    [
        (None, {}, []),
        (None, {"reminders": (2 * HOUR, HOUR)}, [("remind:x-1:1", 1, "reminder"), ("remind:x-1:2", 2, "reminder")]),
        (None, {"escalate_after": HOUR, "escalate_to": ("boss",)}, [("escalate:x-1", 1, "escalation")]),
        (NOW + 2 * HOUR, {"reminders": (HOUR, 2 * HOUR, 3 * HOUR)}, [("remind:x-1:1", 1, "reminder")]),
        (NOW + HOUR, {"escalate_after": HOUR, "escalate_to": ("boss",)}, []),
    ],
)
def test_people_are_reminded_and_others_asked_until_the_deadline(deadline: Any, ladder: Any, told: Any) -> None:
    asked = expectation("wait", deadline=deadline, ask=replace(ASK, **{"reminders": (), **ladder}))
    timers = reminders(asked, GOAL)
    assert [(timer.id, (timer.due - NOW) / HOUR, timer.series) for timer in timers] == told
    assert all((timer.guards, timer.event.time) == ("x-1", timer.due) for timer in timers)


def test_a_reminder_is_the_announcement_again_with_its_number_or_the_new_roles() -> None:
    ladder = replace(ASK, escalate_after=HOUR, escalate_to=("boss",))
    first, escalated = reminders(expectation("wait", ask=ladder), GOAL)
    assert (first.event.type, first.event.data) == ("plan.wait.reminded", {"order_id": "A1", "reminder": 1})
    assert (escalated.event.type, escalated.event.data["escalated_to"]) == ("plan.wait.escalated", ["boss"])
    assert len({GOAL.id, first.event.id, escalated.event.id}) == 3
    assert reminders(expectation(), GOAL) == ()
