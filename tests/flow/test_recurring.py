"""Recurring goals: a planner pursues them again and again by a schedule."""

from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from kit import as_time_passes, planner, running_platform, until

from soorma_ai import ConfigError, EventDefinition, GoalContext, PlanContext, Planner, Platform, PlatformContext
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete

HOUR = 3600.0


def clerk(pursued: list[Any], when: Any = timedelta(hours=1), **options: Any) -> Planner:
    minds = Planner("clerk", **options)

    @minds.every(when, "report.wanted", {"kind": "daily"})
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        plan = await PlanContext.create_from_goal(goal, context, state_machine={})
        assert goal.sent_at is not None
        pursued.append((goal.sent_at, goal.data, goal.tenant_id, goal.user_id))
        await plan.finalize()

    return minds


async def test_a_scheduled_goal_comes_again_and_again(platform: Platform, clock: VirtualClock) -> None:
    pursued: list[Any] = []
    begun = clock.now()
    await platform.start(clerk(pursued))

    async def are_complete(number: int) -> bool:
        return [plan.status for plan in await platform.plans()] == ["completed"] * number

    for number in (1, 2, 3):
        await clock.advance(HOUR)
        await until(platform, partial(are_complete, number))
    assert [at for at, *_ in pursued] == [begun + timedelta(hours=number) for number in (1, 2, 3)]
    assert pursued[0][1:] == ({"kind": "daily"}, "default", "")


@pytest.mark.parametrize("away", [0.5, 1.5, 100.5])
async def test_goals_missed_while_away_are_one_goal(tmp_path: Path, clock: VirtualClock, away: float) -> None:
    pursued: list[Any] = []
    path, begun = tmp_path / "recurring.db", clock.now()
    async with running_platform(path, clock, clerk(pursued)):
        pass
    await clock.advance(away * HOUR)
    async with running_platform(path, clock, clerk(pursued)) as platform:
        await clock.advance(0.25 * HOUR)
        if away > 1:
            await until(platform, lambda: len(pursued) == 1)
        assert [at for at, *_ in pursued] == ([begun + timedelta(hours=1)] if away > 1 else [])
        await clock.advance(0.25 * HOUR)
        await until(platform, lambda: len(pursued) == (2 if away > 1 else 1))
        assert pursued[-1][0] == begun + timedelta(hours=away + 0.5)


async def test_a_failed_scheduled_goal_comes_again(platform: Platform, clock: VirtualClock) -> None:
    tried: list[str] = []
    minds = Planner("clerk")

    @minds.every(timedelta(hours=1), "report.wanted")
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        tried.append(goal.goal_id)
        raise ValueError("not today")

    await platform.start(minds)

    async def second() -> bool:
        if len(set(tried)) < 2:
            await clock.advance(60)
        return len(set(tried)) == 2

    await as_time_passes(clock, second)


async def test_a_removed_schedule_starts_no_goal(tmp_path: Path, clock: VirtualClock) -> None:
    pursued: list[Any] = []
    path = tmp_path / "recurring.db"
    async with running_platform(path, clock, clerk(pursued)):
        pass
    async with running_platform(path, clock, clerk(pursued, "0 0 1 1 *")) as platform:
        await clock.advance(3 * HOUR)
        rows = await platform.services.store.events.events(limit=100)
        assert (pursued, [row.event.type for row in rows]) == ([], [])


async def test_a_scheduled_goal_of_a_choreography_planner_needs_no_handler(
    platform: Platform, clock: VirtualClock
) -> None:
    minds = planner([complete({"done": True})], goals=["shelves.checked"], external_events=["shelf.empty"])
    minds.every("0 * * * *", "shelves.checked")
    await platform.start(minds)
    await clock.advance(HOUR)

    async def is_complete() -> Any:
        return [plan for plan in await platform.plans() if plan.status == "completed"]

    (plan,) = await until(platform, is_complete)
    assert plan.goal_event == "shelves.checked"


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: clerk([], "nine o'clock"), "give minute, hour, day"),
        (lambda: clerk([], timedelta(0)), "give a second or more"),
        (lambda: _bare(goals=[]), "has nobody who begins it"),
        (lambda: _bare(goals=[EventDefinition(event_name="x", approval="always")]), "needs an approval"),
        (
            lambda: _bare(goals=[EventDefinition(event_name="x", payload_schema={"required": ["id"]})]),
            "is off its schema",
        ),
    ],
)
def test_an_impossible_schedule_is_refused_at_once(make: Any, match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        make().check()


def _bare(**options: Any) -> Any:
    minds = planner([], **options)
    minds.every("0 9 * * *", "x")
    return minds
