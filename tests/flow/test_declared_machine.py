"""A state machine declared with its goal: it is checked before anything starts."""

from typing import Any

import pytest
from kit import PATIENCE, payments, pursue
from kit import planner as thinking
from machines import GOAL, Web, analyst, research

from soorma_ai import GoalContext, PlanContext, Planner, Platform, PlatformContext
from soorma_ai.errors import ConfigError
from soorma_ai.testing.scripted import complete

TOPIC = {"topic": "owls"}


async def begin(goal: GoalContext, context: PlatformContext) -> None:
    plan = await PlanContext.create_from_goal(goal, context)
    await plan.execute_next()


async def nothing(goal: GoalContext, context: PlatformContext) -> None:
    return


@pytest.mark.parametrize("handler", [begin, nothing])
@pytest.mark.parametrize(
    "made", [lambda: Planner("researcher"), lambda: thinking([], goals=[])], ids=["plain", "thinking"]
)
async def test_every_plan_of_the_goal_has_the_machine(platform: Platform, made: Any, handler: Any) -> None:
    planner = made()
    planner.on_goal(GOAL, state_machine=research())(handler)
    plan = await pursue(platform, GOAL, TOPIC, planner, Web("found"), analyst())
    assert set(await plan.result(timeout=PATIENCE)) == {"searching", "analyzing"}


def test_every_fault_of_a_machine_is_named_at_its_declaration() -> None:
    machine = {
        "start": {"transitions": [{"on_event": "x", "to_state": "nowhere", "condition": "("}]},
        "end": {"is_terminal": True, "result": "{nope}"},
    }
    with pytest.raises(ConfigError) as raised:
        Planner("researcher").on_goal(GOAL, state_machine=machine)
    for words in ("'nowhere'", "no CEL expression", "{nope}", "no way leads to 'end'"):
        assert words in str(raised.value)


async def test_a_handler_may_give_its_plan_another_machine(platform: Platform) -> None:
    planner = Planner("researcher")

    @planner.on_goal(GOAL, state_machine=research())
    async def other(goal: GoalContext, context: PlatformContext) -> None:
        machine = {"begin": {"is_terminal": True, "result": "{goal_data.topic}"}}
        await PlanContext.create_from_goal(goal, context, state_machine=machine, current_state="begin")

    plan = await pursue(platform, GOAL, TOPIC, planner)
    assert await plan.result(timeout=PATIENCE) == "owls"
    assert (await platform.plan(plan.plan_id)).current_state == "begin"


async def test_a_handler_may_do_without_the_machine(platform: Platform) -> None:
    minds = thinking([complete({"thought": True})], goals=[])

    @minds.on_goal(GOAL, state_machine=research())
    async def think(goal: GoalContext, context: PlatformContext) -> None:
        plan = await PlanContext.create_from_goal(goal, context, state_machine={}, current_state="reasoning")
        decision = await minds.reason_next_action("a goal came", context)
        await minds.execute_decision(decision, context, plan=plan)

    plan = await pursue(platform, GOAL, TOPIC, minds, payments())
    assert await plan.result(timeout=PATIENCE) == {"thought": True}
    details = await platform.plan(plan.plan_id)
    assert (details.current_state, details.results) == ("reasoning", {})


async def test_a_handler_that_replaces_another_does_not_inherit_its_machine(platform: Platform) -> None:
    planner = Planner("researcher")
    planner.on_goal(GOAL, state_machine=research())(nothing)

    @planner.on_goal(GOAL)
    async def instead(goal: GoalContext, context: PlatformContext) -> None:
        plan = await PlanContext.create_from_goal(goal, context)
        await plan.finalize({"states": list(plan.state_machine)})

    plan = await pursue(platform, GOAL, TOPIC, planner)
    assert await plan.result(timeout=PATIENCE) == {"states": []}
