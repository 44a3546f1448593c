"""A planner with `tells_date_in` has the day in its prompts; no other prompt holds a word about time."""

from datetime import timedelta
from typing import Any

import pytest
from kit import order, planner, pursue, stock

from soorma_ai import ChoreographyPlanner, GoalContext, PlanFailed, Planner, Platform, PlatformContext
from soorma_ai.errors import ConfigError
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import ScriptedReasoner, complete


@pytest.mark.parametrize(
    ("options", "ending"),
    [
        ({"tells_date_in": "UTC"}, "\n\nToday is 2026-01-04 (Sunday).\n\nDecide the next step."),
        ({"tells_date_in": "America/New_York"}, "\n\nToday is 2026-01-03 (Saturday).\n\nDecide the next step."),
        ({}, "\n\nDecide the next step."),
    ],
)
async def test_a_prompt_holds_the_day_of_its_decision_with_tells_date_in(
    platform: Platform, clock: VirtualClock, options: dict[str, Any], ending: str
) -> None:
    await clock.advance(timedelta(days=3))
    minds = planner([complete({})], **options)
    plan = await order(platform, minds, stock())
    assert await plan.result(timeout=5) == {}
    ((_, told),) = (question.messages for question in minds.reasoner.questions)  # type: ignore[union-attr]
    assert told.content.endswith(ending)
    assert told.content.count("Today is") == bool(options)


async def test_the_prompt_of_a_drawn_plan_holds_the_day_too(platform: Platform) -> None:
    mind = ScriptedReasoner(["no plan"] * 3)
    minds = Planner("shop", reasoner=mind, tells_date_in="UTC")

    @minds.on_goal("order.received")
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        await minds.create_plan(goal, None, context)

    plan = await pursue(platform, "order.received", {}, minds, stock())
    with pytest.raises(PlanFailed, match="JSON"):
        await plan.result(timeout=5)
    assert mind.questions[0].messages[1].content.endswith("\n\nToday is 2026-01-01 (Thursday).\n\nDraw the plan.")


@pytest.mark.parametrize(
    ("zone", "said"),
    [
        ("Europe/Berlim", "tells_date_in='Europe/Berlim' is no time zone that is known here; did you mean 'Europe/Be"),
        ("../etc/passwd", "is no time zone"),
        ("", "is no time zone"),
        (True, "tells_date_in=True is no time zone"),
    ],
)
def test_an_unknown_time_zone_is_refused_with_the_nearest(zone: Any, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        ChoreographyPlanner("orders", reasoner=ScriptedReasoner([]), tells_date_in=zone)
    assert said in str(refused.value)
