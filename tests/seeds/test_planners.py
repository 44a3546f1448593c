"""The samples of planners."""

from typing import Any

import pytest
from kit import PATIENCE, stock, the_wait
from machines import Web, analyst

from soorma_ai import (
    ChoreographyPlanner,
    GoalContext,
    PlanContext,
    PlanFailed,
    Planner,
    Platform,
    PlatformContext,
    StateAction,
    StateConfig,
    StateTransition,
)
from soorma_ai.testing.scripted import ScriptedReasoner, complete, publish


@pytest.mark.parametrize(
    ("answers", "states"),
    [
        (["found"], ["searching", "analyzing"]),
        (["failed", "found"], ["searching", "retry_search", "analyzing"]),
        (["no_results", "found"], ["ask_user", "searching", "analyzing"]),
        (["failed", "failed"], None),
    ],
)
async def test_the_event_decides_which_state_follows(platform: Platform, answers: list[str], states: Any) -> None:
    state_machine = {
        "start": StateConfig(
            state_name="start",
            description="Initial state",
            default_next="searching",
        ),
        "searching": StateConfig(
            state_name="searching",
            description="Searching for information",
            action=StateAction(
                event_type="web.search.requested",
                response_event="web.search.completed",
                data={"query": "{goal_data.topic}"},
            ),
            transitions=[
                StateTransition(on_event="web.search.completed", to_state="analyzing"),
                StateTransition(on_event="web.search.failed", to_state="retry_search"),
                StateTransition(on_event="web.search.no_results", to_state="ask_user"),
            ],
        ),
        "retry_search": StateConfig(
            state_name="retry_search",
            description="Retry with broader query",
            action=StateAction(
                event_type="web.search.requested",
                response_event="web.search.completed",
                data={"query": "{goal_data.topic}", "broad": True},
            ),
            transitions=[
                StateTransition(on_event="web.search.completed", to_state="analyzing"),
                StateTransition(on_event="web.search.failed", to_state="failed"),
            ],
        ),
        "ask_user": StateConfig(
            state_name="ask_user",
            description="Ask user for clarification",
            action=StateAction(
                event_type="notification.human_input",
                response_event="user.clarification.provided",
                data={"question": "No results found. Can you provide more details?"},
            ),
            transitions=[
                StateTransition(on_event="user.clarification.provided", to_state="searching"),
            ],
        ),
        "analyzing": StateConfig(
            state_name="analyzing",
            description="Analyzing search results",
            action=StateAction(
                event_type="content.analyze.requested",
                response_event="content.analyze.completed",
            ),
            transitions=[
                StateTransition(on_event="content.analyze.completed", to_state="done"),
            ],
        ),
        "done": StateConfig(
            state_name="done",
            description="Plan completed successfully",
            is_terminal=True,
        ),
        "failed": StateConfig(
            state_name="failed",
            description="Plan failed",
            is_terminal=True,
        ),
    }
    planner = Planner("researcher")

    @planner.on_goal("research.goal")
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        plan = await PlanContext.create_from_goal(goal, context, state_machine=state_machine)
        await plan.execute_next()

    web = Web(*answers)
    await platform.start(planner, web, analyst())
    plan = await platform.submit("research.goal", {"topic": "owls"})
    if "no_results" in answers:
        question = await the_wait(platform)
        assert question.message == "No results found. Can you provide more details?"
        await platform.answer(question.wait_id, {"details": "snowy owls"})
    if states is None:
        with pytest.raises(PlanFailed, match="Plan failed"):
            await plan.result(timeout=PATIENCE)
    else:
        result: Any = await plan.result(timeout=PATIENCE)
        assert sorted(result) == sorted(states)
    assert [asked["query"] for asked in web.asked] == ["owls"] * len(answers)
    assert [asked.get("broad", False) for asked in web.asked] == [False, "failed" in answers][: len(answers)]


async def test_a_choreography_planner_reasons_and_carries_out(platform: Platform) -> None:
    reasoner = ScriptedReasoner([publish("inventory.reserve.requested", order_id="A1"), complete({"reserved": True})])
    planner = ChoreographyPlanner(
        name="orchestrator",
        reasoning_model="gpt-4o",
        system_instructions="""Business rules and constraints...""",
        max_actions=20,
        reasoner=reasoner,
    )

    @planner.on_goal("order.received")
    async def handle_goal(goal, context):
        plan = await PlanContext.create_from_goal(
            goal=goal,
            context=context,
            state_machine={},
            current_state="reasoning",
            status="running",
        )
        decision = await planner.reason_next_action(
            trigger=f"Order: ${goal.data['amount']}",
            context=context,
            custom_context={"policy": "Orders >$5k need approval"},
        )
        await planner.execute_decision(decision, context, goal_event=goal, plan=plan)

    await platform.start(planner, stock())
    plan = await platform.submit("order.received", {"amount": 7000})
    assert await plan.result(timeout=PATIENCE) == {"reserved": True}
    told = "\n".join(message.content for message in reasoner.questions[0].messages)
    for known in ("Business rules and constraints...", "Order: $7000", "Orders >$5k need approval"):
        assert known in told
    assert "inventory.reserve.requested" in told
    assert "order_id" in str(reasoner.questions[0].schema)
