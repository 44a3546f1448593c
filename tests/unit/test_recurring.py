"""Recurring goals: their next time, and their timers."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from soorma_ai.agents.schedules import Recurrence, check_schedule, next_due, timer_for, timers_of
from soorma_ai.errors import ConfigError

BERLIN = ZoneInfo("Europe/Berlin")
DAILY = Recurrence("clerk", "default", "report.wanted", {"kind": "daily"}, "0 9 * * mon-fri")
HOURLY = replace(DAILY, when=timedelta(hours=1))


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("goal", "due", "now", "following"),
    [
        (DAILY, "2026-03-02T09:00", "2026-03-02T09:00", "2026-03-03T09:00"),
        (DAILY, "2026-03-06T09:00", "2026-03-06T09:00", "2026-03-09T09:00"),
        (DAILY, "2026-03-02T09:00", "2026-03-20T12:00", "2026-03-23T09:00"),
        (DAILY, "2026-03-02T09:00", "2026-03-02T08:59", "2026-03-03T09:00"),
        (replace(DAILY, zone=BERLIN), "2026-03-27T08:00", "2026-03-27T08:00", "2026-03-30T07:00"),
        (HOURLY, "2026-03-02T09:00", "2026-03-02T09:00", "2026-03-02T10:00"),
        (HOURLY, "2026-03-02T09:00", "2026-03-02T09:59", "2026-03-02T10:00"),
        (HOURLY, "2026-03-02T09:00", "2026-03-02T10:00", "2026-03-02T11:00"),
        (HOURLY, "2026-03-02T09:00", "2026-03-09T17:30", "2026-03-09T18:00"),
        (HOURLY, "2026-03-02T09:00", "2026-03-02T08:00", "2026-03-02T10:00"),
    ],
)
def test_the_next_time_is_after_now_and_missed_times_are_skipped(
    goal: Recurrence, due: str, now: str, following: str
) -> None:
    assert next_due(goal, at(due), at(now)) == at(following)


@pytest.mark.parametrize("when", ["", "hello", "61 * * * *", "0 0 31 2 *", "* * * *", timedelta(0), timedelta(days=-1)])
def test_an_invalid_schedule_is_refused_with_the_valid_forms(when: Any) -> None:
    with pytest.raises(ConfigError, match=r"planner clerk: every\(.*; give"):
        check_schedule(replace(DAILY, when=when), at("2026-03-02T09:00"))


def test_the_timer_sends_the_goal_to_its_planner_without_a_user() -> None:
    timer = timer_for(DAILY, at("2026-03-03T09:00"))
    event = timer.event
    assert (timer.id, timer.due, timer.guards, timer.series) == (DAILY.id, at("2026-03-03T09:00"), None, None)
    assert (event.type, event.topic, event.data, event.target) == (
        "report.wanted",
        "action-requests",
        {"kind": "daily"},
        "clerk",
    )
    assert (event.tenant_id, event.user_id, event.source, event.subject) == ("default", "", "soorma", DAILY.id)
    assert timer_for(DAILY, at("2026-03-03T09:00")) == timer
    assert timer_for(DAILY, at("2026-03-04T09:00")).event.id != event.id


@pytest.mark.parametrize(
    "change",
    [{"when": "1 9 * * *"}, {"when": timedelta(1)}, {"goal": "x"}, {"data": {}}, {"zone": BERLIN}, {"agent": "clerk:"}],
)
def test_a_changed_schedule_has_another_timer(change: dict[str, Any]) -> None:
    assert replace(DAILY, **change).id != DAILY.id


def test_timers_of_an_agent_are_told_apart_from_those_of_a_longer_name() -> None:
    assert DAILY.id.startswith(timers_of("clerk"))
    assert not replace(DAILY, agent="clerk:two").id.startswith(timers_of("clerk"))
