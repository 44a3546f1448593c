"""Checked by pyright, never run: planners with a model, and planners with handlers."""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from datetime import timedelta
from typing import Any, assert_never, assert_type

from soorma_ai import (
    ChoreographyPlanner,
    CompleteAction,
    DelegateAction,
    EventContext,
    EventDefinition,
    EventEnvelope,
    GoalContext,
    Limits,
    PlanContext,
    PlanDefinition,
    Planner,
    PlannerDecision,
    PlatformContext,
    PublishAction,
    PublishAllAction,
    StateAction,
    StateConfig,
    StateTransition,
    TransitionContext,
    WaitAction,
)
from soorma_ai.testing.scripted import ScriptedReasoner, complete, publish

planner = ChoreographyPlanner(
    "orders",
    goals=["order.received", EventDefinition(event_name="order.changed")],
    reasoning_model="openai/gpt-4o-mini",
    temperature=0.2,
    planning_strategy="conservative",
    limits=Limits(max_actions=6, max_cost_usd=0.5, deadline=timedelta(days=1)),
    external_events=["user.replied"],
    seed=7,
)
scripted = ChoreographyPlanner(
    "scripted",
    goals=["order.received"],
    reasoner=ScriptedReasoner([publish("stock.reserve.requested", order_id="A1"), complete({"done": True})]),
)


@planner.on_goal("order.received")
async def begin(goal: GoalContext, context: PlatformContext) -> None:
    assert_type(goal.data, dict[str, Any])
    plan = await PlanContext.create_from_goal(goal, context, state_machine={}, current_state="reasoning")
    assert_type(plan, PlanContext)
    decision = await planner.reason_next_action("an order came", context, {"customer": "known"})
    assert_type(decision, PlannerDecision)
    assert_type(described(decision), str)
    await planner.execute_decision(decision, context, goal_event=goal, plan=plan)


@planner.on_transition()
async def go_on(transition: TransitionContext, context: PlatformContext) -> None:
    assert_type(transition.event, EventEnvelope)
    assert_type(transition.plan, PlanContext)
    decision = await planner.reason_next_action(transition.what_happened, context)
    await planner.execute_decision(decision, context, plan=transition.plan)


@scripted.custom_context
async def handle_other(plan: PlanContext, context: PlatformContext) -> dict[str, Any]:
    assert_type(plan.plan_id, str)
    return {"weekday": "Monday"}


def described(decision: PlannerDecision) -> str:
    """Total: a new kind of action fails the type check until it is added here."""
    action = decision.next_action
    match action:
        case PublishAction():
            return action.event_type
        case PublishAllAction():
            return ", ".join(request.event_type for request in action.requests)
        case CompleteAction():
            return "done"
        case WaitAction():
            return action.expected_event
        case DelegateAction():
            return action.target_planner
        case _:
            assert_never(action)


def type_errors() -> None:
    ChoreographyPlanner("p", goals=["g"], planning_strategy="bold")  # pyright: ignore[reportArgumentType]
    Limits(max_actoins=3)  # pyright: ignore[reportCallIssue]


MACHINE = {
    "start": StateConfig(
        state_name="start",
        action=StateAction(event_type="web.search.requested", response_event="web.search.completed", data={"n": 1}),
        transitions=(StateTransition(on_event="web.search.completed", to_state="done"),),
    ),
    "done": StateConfig(state_name="done", is_terminal=True),
}
researcher = Planner("researcher", goals=["research.goal"], limits=Limits(max_actions=3), max_in_flight=8)


@researcher.on_goal("research.goal")
async def research(goal: GoalContext, context: PlatformContext) -> None:
    plan = await PlanContext.create_from_goal(goal, context, state_machine=MACHINE)
    await PlanContext.create_from_goal(
        goal, context, state_machine=PlanDefinition(plan_type="research", states=MACHINE)
    )
    await PlanContext.create_from_goal(goal, context, state_machine={"start": {"default_next": "done"}})
    await plan.execute_next()
    assert_type(await goal.dispatch("web.search.requested", {"n": 2}), str)


drawing = Planner("drawing", reasoning_model="openai/gpt-4o", system_instructions="Be brief.", temperature=0.0)


@drawing.on_goal("research.goal", state_machine=MACHINE)
async def declared(goal: GoalContext, context: PlatformContext) -> None:
    await (await PlanContext.create_from_goal(goal, context)).execute_next()


@drawing.on_goal("drawn.goal")
async def draw(goal: GoalContext, context: PlatformContext) -> None:
    assert_type(await drawing.create_plan(goal, None, context), PlanContext)
    await drawing.create_plan(goal, await context.registry.find("search"), context)
    plan = await drawing.create_plan(goal, await context.registry.discover(["search"]), context)
    await plan.execute_next()


@drawing.on_transition()
async def reason(transition: TransitionContext, context: PlatformContext) -> None:
    assert_type(await drawing.reason_next_action(transition.plan, transition.event, context), str | None)


@researcher.on_event("budget.approved", topic="business-facts")
async def approved(event: EventContext, context: PlatformContext) -> None:
    plan = await PlanContext.restore_by_correlation(event.correlation_id)
    assert_type(plan, PlanContext | None)
    if plan and plan.status == "paused" and plan.has_next() and not plan.is_complete():
        assert_type(plan.get_next_state(event), str | None)
        await plan.resume({"amount": event.data["amount"]})
