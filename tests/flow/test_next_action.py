"""A dynamic plan: a handler lets the model decide its next step, and the step is checked like any other."""

from typing import Any

import pytest
from kit import PATIENCE, payments, pursue, sleeps, stock, the_wait, types, until

from soorma_ai import (
    EventContext,
    GoalContext,
    Limits,
    PlanContext,
    PlanFailed,
    Planner,
    Platform,
    PlatformContext,
    TransitionContext,
)
from soorma_ai.errors import ModelRefused
from soorma_ai.testing.scripted import ScriptedReasoner, complete, delegate, publish, publish_all, wait

GOAL = "order.received"
RESERVE, CHARGE = "inventory.reserve.requested", "payment.charge.requested"
RESERVES, CHARGES = publish(RESERVE, order_id="A1"), publish(CHARGE, amount=7)


def dynamic_planner(*script: Any, said: list[Any] | None = None, owns_steps: bool = False, **options: Any) -> Planner:
    """A planner: `said` holds the results of its calls. With `owns_steps`, its handler lets the model decide every
    step."""
    options.setdefault("reasoner", ScriptedReasoner(script))
    planner = Planner(options.pop("name", "orders"), **options)
    heard = [] if said is None else said

    @planner.on_goal(GOAL)
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        plan = await PlanContext.create_from_goal(goal, context)
        heard.append(await planner.reason_next_action(plan, goal, context))

    async def go_on(transition: TransitionContext, context: PlatformContext) -> None:
        plan = await PlanContext.restore(str(transition.correlation_id), context)
        assert plan is not None
        heard.append(await planner.reason_next_action(plan, transition.event, context))

    if owns_steps:
        planner.on_transition()(go_on)
    return planner


def prompt_of(planner: Planner, call: int = -1) -> str:
    assert isinstance(planner.reasoner, ScriptedReasoner)
    return planner.reasoner.questions[call].messages[-1].content


@pytest.mark.parametrize("owns_steps", [True, False], ids=["by its handler", "by itself"])
async def test_a_plan_goes_on_by_the_models_decision_about_each_event(platform: Platform, owns_steps: bool) -> None:
    said: list[Any] = []
    minds = dynamic_planner(RESERVES, CHARGES, complete({"paid": 7}), said=said, owns_steps=owns_steps)
    plan = await pursue(platform, GOAL, {}, minds, stock(), payments())
    assert await plan.result(timeout=PATIENCE) == {"paid": 7}
    assert await types(platform) == [GOAL, RESERVE, CHARGE]
    assert said == ([RESERVE, CHARGE, None] if owns_steps else [RESERVE])
    assert "Now: The goal came." in prompt_of(minds, 0)
    assert f"Now: {RESERVE} was answered." in prompt_of(minds, 1)
    assert (await platform.plan(plan.plan_id)).usage.llm_calls == 3


async def test_the_model_is_asked_where_no_state_leads_on(platform: Platform) -> None:
    machine = {
        "start": {
            "action": {"event_type": RESERVE, "data": {"order_id": "A1"}},
            "transitions": [{"on_event": f"{RESERVE}.completed", "to_state": "done", "condition": "false"}],
        },
        "done": {"is_terminal": True},
    }
    planner = Planner("orders", reasoner=ScriptedReasoner([CHARGES, complete({"paid": 7})]))

    @planner.on_goal(GOAL, state_machine=machine)
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        plan = await PlanContext.create_from_goal(goal, context)
        await plan.execute_next()

    @planner.on_transition()
    async def go_on(transition: TransitionContext, context: PlatformContext) -> None:
        plan = transition.plan
        plan.update_state(transition.event)
        assert not plan.is_complete() and not plan.has_next()
        await planner.reason_next_action(plan, transition.event, context)

    plan = await pursue(platform, GOAL, {}, planner, stock(), payments())
    assert await plan.result(timeout=PATIENCE) == {"paid": 7}
    assert (await platform.plan(plan.plan_id)).results == {"start": {"reserved": "A1"}, CHARGE: {"charged": 7}}


@pytest.mark.parametrize(
    ("step", "returned"),
    [
        (publish_all(CHARGES, RESERVES), RESERVE),
        (CHARGES, None),
        (delegate("buyer", "buy.wanted", {}), "buy.wanted"),
        (wait("user.replied", "?"), None),
        (complete({}), None),
    ],
    ids=["several, one of them held", "one that is held", "delegate", "wait", "complete"],
)
async def test_reason_next_action_returns_the_type_of_the_published_event(
    platform: Platform, step: Any, returned: str | None
) -> None:
    said: list[Any] = []
    buyer = Planner("buyer", reasoner=ScriptedReasoner([wait("user.replied", "?")]), external_events=["user.replied"])

    @buyer.on_goal("buy.wanted")
    async def buy(goal: GoalContext, context: PlatformContext) -> None:
        await buyer.reason_next_action(await PlanContext.create_from_goal(goal, context), goal, context)

    minds = dynamic_planner(step, complete({}), said=said, external_events=["user.replied"])
    await pursue(platform, GOAL, {}, minds, buyer, stock(), payments("always"))
    await until(platform, lambda: said)
    assert said == [returned]


async def test_a_plan_sleeps_while_no_agent_can_be_asked_and_goes_on_with_the_first(platform: Platform) -> None:
    said: list[Any] = []
    plan = await pursue(platform, GOAL, {}, dynamic_planner(RESERVES, complete({"ok": True}), said=said))
    await sleeps(platform, plan.plan_id)
    await platform.start(stock())
    assert await plan.result(timeout=PATIENCE) == {"ok": True}
    assert said == [None]


def hearing_planner(*script: Any, **options: Any) -> Planner:
    """A planner: waits for a person, and lets the model decide at a cut of the budget."""
    minds = dynamic_planner(wait("user.replied", "?"), *script, external_events=["user.replied"], **options)

    @minds.on_event("budget.cut", topic="business-facts")
    async def cut(event: EventContext, context: PlatformContext) -> None:
        plan = await PlanContext.restore_by_correlation(event.data["order"], context)
        assert plan is not None
        assert await minds.reason_next_action(plan, event, context) is None

    return minds


async def test_the_prompt_names_an_event_of_another_owner_as_its_trigger(platform: Platform) -> None:
    minds = hearing_planner(complete({"told": True}))
    plan = await pursue(platform, GOAL, {}, minds)
    await the_wait(platform)
    await platform.publish("business-facts", "budget.cut", {"order": plan.plan_id})
    assert await plan.result(timeout=PATIENCE) == {"told": True}
    assert "Now: budget.cut came." in prompt_of(minds)
    assert await platform.waits() == []


@pytest.mark.parametrize(
    ("script", "limits", "words"),
    [
        ([publish("nope", n=1)] * 3, Limits(), "'nope' is not offered"),
        ([complete({})], Limits(max_llm_calls=1), "limit_exceeded: max_llm_calls"),
        ([ModelRefused("I will not")], Limits(), "I will not"),
    ],
)
async def test_a_plan_unable_to_go_on_after_an_event_of_another_owner_fails_for_its_caller(
    platform: Platform, script: list[Any], limits: Limits, words: str
) -> None:
    minds = hearing_planner(*script, limits=limits)
    plan = await pursue(platform, GOAL, {}, minds)
    await the_wait(platform)
    await platform.publish("business-facts", "budget.cut", {"order": plan.plan_id})
    with pytest.raises(PlanFailed, match=words):
        await plan.result(timeout=PATIENCE)
    assert await platform.waits() == []


async def test_a_planner_without_a_model_fails_its_plan_with_the_cure(platform: Platform) -> None:
    await platform.start(dynamic_planner(reasoner=None), stock())
    with pytest.raises(PlanFailed, match="planner orders cannot think: give reasoning_model="):
        await (await platform.submit(GOAL, {})).result(timeout=PATIENCE)
