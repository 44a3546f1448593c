"""The opening of expectations: a deadline and a timer for each, an announcement for each question."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from soorma_ai.kernel.domain.effects import Expect, Publish, Schedule
from soorma_ai.kernel.domain.events import SYSTEM
from soorma_ai.kernel.domain.expectations import ExpectationKind
from soorma_ai.kernel.domain.people import AnswerDecision, Ask
from soorma_ai.kernel.rules.waits.opening import ExpectationSpec, Waiter, earliest, expectation_of, open_expectation
from soorma_ai.kernel.rules.waits.wakeups import EXPIRED
from unit.kit import END, GOAL, HOUR, LINEAGE, NOW, events_in, gate, moment, of_kind

PLAN = Waiter("orders", LINEAGE, END, plan_id="p-1")
TASK = Waiter("clerk", LINEAGE, None, task_id="t-1", longest=timedelta(days=7))
ASK = Ask("why", "Which?", {"type": "object"}, (AnswerDecision.RESPOND,), reminders=(HOUR,))


def spec(**changes: Any) -> ExpectationSpec:
    return replace(ExpectationSpec("x-1", ExpectationKind.REPLY, "part.completed"), **changes)


@pytest.mark.parametrize(
    ("waiter", "timeout", "deadline", "is_timed"),
    [
        (PLAN, None, END, False),
        (PLAN, HOUR, NOW + HOUR, True),
        (PLAN, timedelta(seconds=1e-9), NOW, True),
        (TASK, timedelta(seconds=1e-9), NOW, True),
        (PLAN, timedelta(days=8), END, False),
        (replace(PLAN, plan_id=None), None, END, True),
        (replace(PLAN, deadline=None), None, None, False),
        (replace(PLAN, deadline=None), HOUR, NOW + HOUR, True),
        (TASK, None, NOW + timedelta(days=7), True),
        (TASK, HOUR, NOW + HOUR, True),
        (replace(TASK, deadline=NOW + HOUR), timedelta(days=1), NOW + HOUR, True),
    ],
)
def test_an_expectation_has_the_earliest_deadline_and_at_most_one_timer(
    waiter: Waiter, timeout: timedelta | None, deadline: datetime | None, is_timed: bool
) -> None:
    effects = open_expectation(waiter, spec(timeout=timeout), moment())
    (opened,) = of_kind(Expect, effects)
    assert opened.expectation == expectation_of(waiter, spec(timeout=timeout), NOW)
    assert opened.expectation.deadline == deadline
    timers = of_kind(Schedule, effects)
    assert [(timer.due, timer.guards, timer.event.subject) for timer in timers] == (
        [(deadline, "x-1", "x-1")] if is_timed else []
    )
    assert all((timer.event.type, timer.event.source) == (EXPIRED, SYSTEM) for timer in timers)


def test_an_expectation_belongs_to_its_waiter_and_names_its_subject() -> None:
    found = expectation_of(PLAN, spec(subject="part", keys=("reply:k",), group_id="g"), NOW)
    assert (found.agent, found.tenant_id, found.plan_id, found.root_plan_id) == ("orders", "acme", "p-1", "p-0")
    assert (found.subject, found.keys, found.group_id, found.status) == ("part", ("reply:k",), "g", "open")
    assert expectation_of(TASK, spec(), NOW).subject == "part.completed"


def test_a_question_is_announced_with_extra_fields_and_the_platforms_fields_win() -> None:
    effects = open_expectation(PLAN, spec(ask=ASK, timeout=2 * HOUR), moment(), about={"wait_id": "mine", "sum": 5})
    assert [type(effect) for effect in effects] == [Expect, Publish, Schedule, Schedule]
    (told,) = events_in(effects)
    assert (told.type, told.topic) == ("notification.human_input", "notification-events")
    assert (told.source, told.subject) == ("orders", "x-1")
    assert (told.lineage, told.causation_id, told.correlation_id) == (LINEAGE, GOAL.id, "p-1")
    assert told.data == {
        "sum": 5,
        "question": "Which?",
        "reason": "why",
        "wait_id": "x-1",
        "kind": "reply",
        "plan_id": "p-1",
        "task_id": None,
        "request_id": None,
        "response_event": "part.completed",
        "allowed_decisions": ["respond"],
        "response_schema": {"type": "object"},
        "digest": None,
        "deadline": (NOW + 2 * HOUR).isoformat(),
    }
    (of_task,) = events_in(open_expectation(TASK, spec(ask=ASK), moment()))
    assert (of_task.correlation_id, of_task.data["task_id"]) == ("t-1", "t-1")


def test_the_announcement_of_a_gate_has_the_digest_of_its_payload() -> None:
    held = gate("open").ask
    (told,) = events_in(open_expectation(PLAN, spec(ask=held), moment()))
    assert held is not None and held.proposal is not None
    assert told.data["digest"] == held.proposal.digest


def test_a_repeated_opening_derives_the_same_ids() -> None:
    one, two = moment(), moment()
    assert [one.event_id("a"), one.expectation_id("wait")] == [two.event_id("a"), two.expectation_id("wait")]
    assert one.event_id("a") != two.expectation_id("a") != one.event_id("a")
    assert earliest(None, END, NOW) == NOW and earliest(None) is None


def ladder_of(deadline: datetime | None, **ladder: Any) -> list[Schedule]:
    asks = replace(ASK, **{"reminders": (), **ladder})
    waiter = Waiter("orders", LINEAGE, deadline, plan_id="p-1")
    return of_kind(Schedule, open_expectation(waiter, spec(kind=ExpectationKind.WAIT, ask=asks), moment()))


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
def test_reminders_and_an_escalation_are_scheduled_before_the_deadline(deadline: Any, ladder: Any, told: Any) -> None:
    timers = ladder_of(deadline, **ladder)
    assert [(timer.id, (timer.due - NOW) / HOUR, timer.series) for timer in timers] == told
    assert all((timer.guards, timer.event.time) == ("x-1", timer.due) for timer in timers)


def test_a_reminder_repeats_the_announcement_with_its_number_or_its_new_roles() -> None:
    first, escalated = ladder_of(None, reminders=(HOUR,), escalate_after=HOUR, escalate_to=("boss",))
    assert (first.event.type, first.event.data["reminder"]) == ("plan.wait.reminded", 1)
    assert (escalated.event.type, escalated.event.data["escalated_to"]) == ("plan.wait.escalated", ["boss"])
    assert first.event.data["wait_id"] == "x-1" and first.event.id != escalated.event.id
