"""Snoozes postpone reminders and the escalation of a question, up to its deadline."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from soorma_ai.features.human_tasks.records import Snooze
from soorma_ai.features.human_tasks.snoozing import current_snooze, put_off, returning_deadline, snooze_fault
from soorma_ai.kernel.domain.events import EventTopic
from soorma_ai.kernel.domain.expectations import Expectation, ExpectationKind, ExpectationStatus
from soorma_ai.kernel.domain.people import AnswerDecision, Ask
from soorma_ai.kernel.domain.plans import Pause, PlanRecord
from soorma_ai.kernel.domain.states import RESUMED
from soorma_ai.testing.clock import START
from unit.kit import plan

HOUR = timedelta(hours=1)


def question(*hours: int, escalate: int | None = None) -> Expectation:
    """Return a question of two days, with reminders after the given hours."""
    ask = Ask(
        reason="r",
        message="m",
        response_schema={},
        allowed_decisions=(AnswerDecision.APPROVE,),
        reminders=tuple(one * HOUR for one in hours),
        escalate_after=None if escalate is None else escalate * HOUR,
        escalate_to=() if escalate is None else ("director",),
    )
    kind, topic, deadline = ExpectationKind.GATE, EventTopic.ACTION_REQUESTS, START + 48 * HOUR
    return Expectation("w", kind, "a", "default", None, None, "pay", topic, START, deadline, "pay", ask=ask)


def after(hours: float) -> datetime:
    return START + hours * HOUR


@pytest.mark.parametrize(
    ("until", "words"),
    [
        (after(1), "is over; give a moment from now on"),
        (after(48), "is not before the question's deadline"),
        (after(3).replace(tzinfo=None), "has no time zone"),
    ],
)
def test_an_invalid_snooze_is_refused_with_the_reason(until: datetime, words: str) -> None:
    assert words in snooze_fault(question(4), None, until, after(2))


def test_a_snooze_ends_before_the_deadline_and_within_thirty_days() -> None:
    assert snooze_fault(question(4), None, after(47), after(2)) == ""
    endless = replace(question(4), deadline=None)
    assert snooze_fault(endless, None, after(2 + 30 * 24), after(2)) == ""
    assert "more than 30 days from now" in snooze_fault(endless, None, after(3 + 30 * 24), after(2))


def test_repeated_snoozes_postpone_an_escalation_by_thirty_days_in_all() -> None:
    endless = replace(question(4, escalate=5), deadline=None)
    earlier = Snooze("w", "default", "ann", after(2), after(29 * 24))
    assert snooze_fault(endless, earlier, after(2 + 30 * 24), after(28 * 24)) == ""
    fault = snooze_fault(endless, earlier, after(3 + 30 * 24), after(28 * 24))
    assert "more than 30 days from the first snooze" in fault


def paused_plan(hours_left: int, *, since: float) -> PlanRecord:
    return plan("paused", plan_id="p", deadline=None, paused=Pause(after(since + hours_left), after(since)))


def test_in_a_pause_a_snooze_ends_before_the_deadline_after_a_resume_now() -> None:
    asked = replace(question(4), plan_id="p", deadline=None)
    returning = returning_deadline(asked, paused_plan(3, since=1), after(100))
    assert returning == after(103)
    assert "is not before" in snooze_fault(asked, None, after(103), after(100), returning)
    assert snooze_fault(asked, None, after(102), after(100), returning) == ""


def test_only_a_question_left_open_by_a_resume_gets_its_deadline_back() -> None:
    asked, root = replace(question(4), plan_id="p", deadline=None), paused_plan(3, since=1)
    assert returning_deadline(replace(asked, event_type=RESUMED), root, after(2)) is None
    assert returning_deadline(replace(asked, event_type=RESUMED, plan_id="child"), root, after(2)) == after(5)
    assert returning_deadline(question(4), root, after(2)) is None
    assert returning_deadline(asked, replace(root, paused=None), after(2)) is None


def test_a_snooze_does_not_shorten_an_earlier_one() -> None:
    earlier = Snooze("w", "default", "ann", after(2), after(40))
    assert "is snoozed until" in snooze_fault(question(4), earlier, after(39), after(3))
    assert snooze_fault(question(4), earlier, after(40), after(3)) == ""


def test_a_closed_question_is_not_snoozed() -> None:
    closed = replace(question(4), status=ExpectationStatus.CLOSED)
    assert "not open any more" in snooze_fault(closed, None, after(3), after(2))
    assert "not open any more" in snooze_fault(question(4), None, after(60), after(49))


@pytest.mark.parametrize(
    ("hours", "until", "left"),
    [
        ((1, 3, 4, 30), 10, (1, 10, 30)),  # two fall into the snooze: one is left at its end
        ((1, 30), 10, (1, 30)),
        ((1, 3, 10), 10, (1, 10)),
    ],
)
def test_reminders_within_a_snooze_become_one_at_its_end(
    hours: tuple[int, ...], until: int, left: tuple[int, ...]
) -> None:
    ask = put_off(question(*hours), after(until), after(2)).ask
    assert ask is not None and ask.reminders == tuple(one * HOUR for one in left)


@pytest.mark.parametrize(("escalate", "then"), [(5, 10), (24, 24), (1, 1)])
def test_a_snooze_delays_a_later_escalation_and_not_an_earlier_one(escalate: int, then: int) -> None:
    ask = put_off(question(4, escalate=escalate), after(10), after(2)).ask
    assert ask is not None and ask.escalate_after == then * HOUR


def test_an_ended_snooze_is_none() -> None:
    snooze = Snooze("w", "default", "ann", after(1), after(3))
    assert current_snooze(snooze, after(2)) is snooze
    assert current_snooze(snooze, after(3)) is None
    assert current_snooze(None, after(2)) is None
