"""Samples of planners."""

from typing import Any

import pytest
from kit import PATIENCE, stock, the_wait
from machines import Web, analyst

from soorma_ai import (
    ChoreographyPlanner,
    EventContext,
    GoalContext,
    InvocationContext,
    PlanContext,
    PlanFailed,
    Planner,
    Platform,
    PlatformContext,
    StateAction,
    StateConfig,
    StateTransition,
    Tool,
)
from soorma_ai.testing.scripted import ScriptedReasoner, complete, draw, publish


@pytest.mark.parametrize(
    ("answers", "states"),
    [
        (["found"], ["searching", "analyzing"]),
        (["failed", "found"], ["searching", "retry_search", "analyzing"]),
        (["no_results", "found"], ["ask_user", "searching", "analyzing"]),
        (["failed", "failed"], None),
    ],
)
async def test_the_event_decides_on_the_next_state(platform: Platform, answers: list[str], states: Any) -> None:
    state_machine = {
        "start": StateConfig(state_name="start", description="Initial state", default_next="searching"),
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
            transitions=[StateTransition(on_event="user.clarification.provided", to_state="searching")],
        ),
        "analyzing": StateConfig(
            state_name="analyzing",
            description="Analyzing search results",
            action=StateAction(event_type="content.analyze.requested", response_event="content.analyze.completed"),
            transitions=[StateTransition(on_event="content.analyze.completed", to_state="done")],
        ),
        "done": StateConfig(state_name="done", description="Plan completed successfully", is_terminal=True),
        "failed": StateConfig(state_name="failed", description="Plan failed", is_terminal=True),
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


async def test_a_choreography_planner_reasons_and_executes_its_decision(platform: Platform) -> None:
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
            goal=goal, context=context, state_machine={}, current_state="reasoning", status="running"
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


def library() -> Tool:
    tool = Tool("library", capabilities=["research"])

    @tool.on_invoke("web.search.requested")
    async def search(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        return {"pages": [1, 2]}

    @tool.on_invoke("content.analyze.requested")
    async def analyze(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        return {"summary": "short"}

    return tool


def machine_for_library(leads_on: bool) -> dict[str, StateConfig]:
    """A machine for the library; without a transition from its search the planner has to decide."""
    search = StateAction(event_type="web.search.requested")
    analyze = StateAction(event_type="content.analyze.requested")
    condition = None if leads_on else "size(payload.pages) > 2"
    found = StateTransition(on_event=f"{search.event_type}.completed", to_state="analyzing", condition=condition)
    analyzed = StateTransition(on_event=f"{analyze.event_type}.completed", to_state="done")
    return {
        "start": StateConfig(state_name="start", default_next="searching"),
        "searching": StateConfig(state_name="searching", action=search, transitions=[found]),
        "analyzing": StateConfig(state_name="analyzing", action=analyze, transitions=[analyzed]),
        "done": StateConfig(state_name="done", is_terminal=True),
    }


@pytest.mark.parametrize("leads_on", [True, False])
async def test_a_planner_follows_the_machine_drawn_by_its_model(platform: Platform, leads_on: bool) -> None:
    script = [draw(machine_for_library(leads_on)), complete({"enough": True})]
    planner = Planner(name="research-planner", capabilities=["planning"], reasoner=ScriptedReasoner(script))

    @planner.on_goal(event_type="research.goal")
    async def plan_research(goal: GoalContext, context: PlatformContext):
        agents = await context.registry.discover(goal.requirements)

        plan = await planner.create_plan(goal, agents, context)

        await plan.save()

        await plan.execute_next()

    @planner.on_transition()
    async def handle_transition(event: EventContext, context: PlatformContext):
        plan = await PlanContext.restore(event.correlation_id)

        plan.update_state(event)

        if plan.is_complete():
            await plan.finalize()
        elif plan.has_next():
            await plan.execute_next()
        else:
            await planner.reason_next_action(plan, event, context)

    await platform.start(planner, library())
    plan = await platform.submit("research.goal", {"topic": "owls", "requirements": ["research"]})
    result = await plan.result(timeout=PATIENCE)
    if leads_on:
        assert result == {"searching": {"pages": [1, 2]}, "analyzing": {"summary": "short"}}
    else:
        assert result == {"enough": True}
