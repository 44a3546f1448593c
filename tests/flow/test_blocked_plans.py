"""A model that refuses the set-up ends no plan: the plan rests until an operator mends the set-up and resumes it."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fanin import PART, WIDE, arrive, register_parts, reply_to
from kit import (
    PATIENCE,
    events,
    kill_platform,
    open_platform,
    order,
    pass_time,
    payments,
    planner,
    running_platform,
    stock,
    the_wait,
    until,
    wait_for_end,
    wait_for_requests,
    wait_for_step,
)

from soorma_ai import (
    Agent,
    EventContext,
    EventSelector,
    GoalContext,
    InvocationContext,
    Limits,
    NotFound,
    PlanContext,
    PlanFailed,
    Planner,
    PlannerDecision,
    Platform,
    PlatformContext,
    Tool,
)
from soorma_ai.errors import Forbidden, IllegalTransition, ModelBlocked, ModelUnavailable
from soorma_ai.kernel.domain.decisions import DelegateAction
from soorma_ai.testing.clock import START, VirtualClock
from soorma_ai.testing.scripted import ScriptedReasoner, complete, publish, publish_all

HOUR = timedelta(hours=1)
REASON = "openai/gpt-4o: the provider does not accept the key (status 401); set another one"
CHARGE = publish("payment.charge.requested", amount=1)
DONE = complete({"ok": True})
NEEDED = "plan.operator.needed"


class Key:
    """A key, and the script of the model behind it: the first `answers` come, and the others once it `is_good`. `asked`
    counts the calls."""

    def __init__(self, *script: Any, answers: int = 0) -> None:
        self.is_good = False
        self.asked = 0
        self._script = list(script)
        self._answers = answers

    def __call__(self, question: Any) -> Any:
        self.asked += 1
        return self._script.pop(0) if self.is_good or self.asked <= self._answers else ModelBlocked(REASON)


async def blocked_details(platform: Platform, plan_id: str) -> Any:
    """Return the details of a plan once it needs an operator."""

    async def needs_one() -> Any:
        plan = await platform.services.store.plans.plan(plan_id)
        return plan is not None and plan.blocked is not None and plan.blocked.resumed_at is None

    await until(platform, needs_one)
    return await platform.plan(plan_id)


async def announcements(platform: Platform) -> list[Any]:
    return [event.data for event in await events(platform) if event.type == NEEDED]


async def test_a_plan_rests_until_it_is_resumed_and_nothing_is_done_twice(
    platform: Platform, clock: VirtualClock
) -> None:
    charged: list[Any] = []
    key = Key(CHARGE, DONE, answers=1)
    plan = await order(platform, planner(key), payments(charged=charged))
    details = await blocked_details(platform, plan.plan_id)
    assert (details.status, details.rest, details.deadline) == ("paused", None, START + timedelta(days=7))
    assert [one.reason for one in details.blocked] == [REASON]
    assert (len(details.decisions), details.usage.llm_calls, details.usage.actions) == (1, 1, 1)
    assert f"it needs an operator: {REASON} (soorma plans resume {plan.plan_id[:8]})" in await plan.describe()
    await clock.advance(5 * HOUR.total_seconds())
    assert key.asked == 2, "the model is not asked before the plan is resumed"
    key.is_good = True
    assert await platform.resume(plan.plan_id) == "accepted"
    assert await plan.result(timeout=PATIENCE) == {"ok": True}
    details = await platform.plan(plan.plan_id)
    assert (charged, details.blocked, details.usage.llm_calls) == ([1], (), 2)
    assert [step.kind for step in details.steps].count("replied") == 1
    with pytest.raises(IllegalTransition, match="nobody has to resume it"):
        await platform.resume(plan.plan_id)


async def test_a_plan_blocked_at_its_first_decision_holds_nothing_of_the_budget(platform: Platform) -> None:
    key = Key(DONE)
    plan = await order(platform, planner(key, limits=Limits(max_llm_calls=1)), stock())
    details = await blocked_details(platform, plan.plan_id)
    assert (details.usage.llm_calls, details.usage.tokens, details.decisions) == (0, 0, ())
    key.is_good = True
    await platform.resume(plan.plan_id)
    assert await plan.result(timeout=PATIENCE) == {"ok": True}


async def test_a_plan_resumed_with_the_same_key_rests_again_every_time(platform: Platform, clock: VirtualClock) -> None:
    key = Key(DONE)
    plan = await order(platform, planner(key), stock())
    first = await blocked_details(platform, plan.plan_id)
    for number in range(2, 9):
        await clock.advance(1)
        await platform.resume(plan.plan_id)
        again = await blocked_details(platform, plan.plan_id)
        assert (key.asked, again.status, again.blocked) == (number, "paused", first.blocked), "more than any attempts"
    key.is_good = True
    await clock.advance(1)
    await platform.resume(plan.plan_id)
    assert await plan.result(timeout=PATIENCE) == {"ok": True}


async def test_operators_get_an_event_and_only_the_platform_may_publish_it(platform: Platform) -> None:
    told: list[Any] = []
    agent = Agent("pager")

    @agent.on_event(NEEDED, topic="notification-events")
    async def page(event: EventContext, context: PlatformContext) -> None:
        told.append(event.data)

    await platform.start(agent)
    plan = await order(platform, planner(Key(DONE)), stock())
    await blocked_details(platform, plan.plan_id)
    await until(platform, lambda: told)
    (said,) = told
    assert (said["plan_id"], said["agent"], said["reason"]) == (plan.plan_id, "orders", REASON)
    assert (said["goal_event"], said["deadline"]) == ("order.received", (START + timedelta(days=7)).isoformat())
    with pytest.raises(Exception, match="only the platform publishes it"):
        await platform.publish("notification-events", NEEDED, {})


async def test_twenty_plans_make_one_call_and_go_on_by_one_command(platform: Platform, clock: VirtualClock) -> None:
    key = Key(*[DONE] * 20)
    await platform.start(planner(key, max_in_flight=1), stock())
    plans = [await platform.submit("order.received", {"n": n}) for n in range(20)]
    for plan in plans:
        await blocked_details(platform, plan.plan_id)
    assert key.asked == 1
    await clock.advance(1)
    assert len(await platform.resume_all()) == 20
    for plan in plans:
        await blocked_details(platform, plan.plan_id)
    assert key.asked == 2, "one looks whether it helps"
    key.is_good = True
    await clock.advance(1)
    assert await platform.resume_all(agent="somebody") == []
    assert {*await platform.resume_all(agent="orders")} == {plan.plan_id for plan in plans}
    for plan in plans:
        assert await plan.result(timeout=PATIENCE) == {"ok": True}
    assert await platform.resume_all() == []


async def test_a_plan_that_begins_later_asks_again_by_itself(platform: Platform, clock: VirtualClock) -> None:
    key = Key(DONE, DONE)
    first = await order(platform, planner(key), stock())
    await blocked_details(platform, first.plan_id)
    key.is_good = True
    await clock.advance(120)
    second = await platform.submit("order.received", {"n": 2})
    assert await second.result(timeout=PATIENCE) == {"ok": True}
    assert (await platform.plan(first.plan_id)).status == "paused", "a resting plan is resumed by people"


async def test_a_resting_plan_asks_again_after_a_kill_and_a_start_with_another_key(
    path: Path, clock: VirtualClock
) -> None:
    charged: list[Any] = []
    key = Key(CHARGE, DONE, answers=1)
    platform = open_platform(path, clock)
    await platform.__aenter__()
    plan = await order(platform, planner(key), payments(charged=charged))
    await blocked_details(platform, plan.plan_id)
    await kill_platform(platform)
    still_bad = Key()
    async with running_platform(path, clock, planner(still_bad), payments(charged=charged)) as platform:
        assert (await blocked_details(platform, plan.plan_id)).status == "paused"
        assert still_bad.asked == 1
    key.is_good = True
    async with running_platform(path, clock, planner(key), payments(charged=charged)) as platform:
        details = await wait_for_end(platform, plan.plan_id)
    assert (details.status, details.result, charged) == ("completed", {"ok": True}, [1])


async def test_a_reply_to_a_resting_plan_is_kept(platform: Platform) -> None:
    """Of two requests the first reply makes the planner ask; the second comes while it rests."""
    key = Key(publish_all(*(publish(PART, n=n) for n in (1, 2)), need=1), publish(PART, n=3), DONE, answers=1)
    await register_parts(platform)
    plan = await order(platform, planner(key, limits=WIDE))
    first, second = await wait_for_requests(platform, PART, 2)
    await arrive(platform, [reply_to(first)])
    await blocked_details(platform, plan.plan_id)
    await arrive(platform, [reply_to(second)])
    key.is_good = True
    await platform.resume(plan.plan_id)
    await wait_for_step(platform, plan.plan_id, "late")
    _, _, third = await wait_for_requests(platform, PART, 3)
    await arrive(platform, [reply_to(third)])
    assert await plan.result(timeout=PATIENCE) == {"ok": True}


async def test_a_resting_plan_is_cancelled_at_once(platform: Platform) -> None:
    plan = await order(platform, planner(Key()), stock())
    await blocked_details(platform, plan.plan_id)
    await platform.cancel(plan.plan_id, "no more need")
    details = await wait_for_end(platform, plan.plan_id)
    assert (details.status, details.blocked) == ("cancelled", ())
    assert await platform.resume_all() == []


async def test_a_resting_plan_fails_at_its_deadline_and_names_its_need_of_an_operator(
    platform: Platform, clock: VirtualClock
) -> None:
    plan = await order(platform, planner(Key(CHARGE, answers=1), limits=Limits(deadline=2 * HOUR)), payments())
    await blocked_details(platform, plan.plan_id)
    await clock.advance(2 * HOUR.total_seconds())
    with pytest.raises(PlanFailed, match=r"limit_exceeded: deadline .* it needed an operator: openai/gpt-4o: the prov"):
        await plan.result(timeout=PATIENCE)


async def test_a_resting_child_is_shown_and_resumed_at_its_root(platform: Platform) -> None:
    key = Key(DONE)
    child = planner(key, name="child", goals=["child.wanted"])
    root = planner([complete({"all": True})])

    @root.on_goal("order.received")
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        action = DelegateAction(target_planner="child", goal_event="child.wanted", goal_data={})
        await root.execute_decision(PlannerDecision(next_action=action), context)

    plan = await order(platform, root, child)

    async def child_plan() -> Any:
        return next((one for one in await platform.plans() if one.parent_plan_id and one.blocked), None)

    resting = await until(platform, child_plan)
    assert [one.plan_id for one in (await platform.plan(plan.plan_id)).blocked] == [resting.plan_id]
    assert REASON in await plan.describe()
    assert [one.plan_id for one in (await platform.trace(plan.plan_id)).blocked] == [resting.plan_id]
    key.is_good = True
    assert await platform.resume(plan.plan_id) == "accepted"
    assert await plan.result(timeout=PATIENCE) == {"all": True}


async def test_one_call_resumes_a_plan_both_resting_and_paused(platform: Platform, clock: VirtualClock) -> None:
    key = Key(CHARGE, DONE, answers=1)
    minds = planner(key)

    @minds.on_event("stop.wanted", topic="business-facts")
    async def stop(event: EventContext, context: PlatformContext) -> None:
        plan = await PlanContext.restore_by_correlation(event.correlation_id)
        assert plan is not None
        await plan.pause(reason="wait")

    plan = await order(platform, minds, payments())
    await blocked_details(platform, plan.plan_id)
    await platform.publish("business-facts", "stop.wanted", {}, correlation_id=plan.plan_id)
    await the_wait(platform)
    await clock.advance(timedelta(days=8).total_seconds())
    key.is_good = True
    assert await platform.resume(plan.plan_id) == "accepted"
    assert await plan.result(timeout=PATIENCE) == {"ok": True}


async def test_a_plan_to_be_drawn_by_its_model_rests_too(platform: Platform) -> None:
    drawn = {
        "reasoning": "straight",
        "first": "paying",
        "states": [{"name": "paying", "event": "payment.charge.requested", "data": {"amount": 1}, "next": "end"}],
    }
    key = Key(drawn)
    minds = Planner("minds", reasoner=ScriptedReasoner(key))

    @minds.on_goal("order.received")
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        await minds.create_plan(goal, None, context)

    plan = await order(platform, minds, payments())
    assert [one.reason for one in (await blocked_details(platform, plan.plan_id)).blocked] == [REASON]


async def test_a_plan_is_resumed_by_its_owner_and_not_by_auditors_or_other_tenants(platform: Platform) -> None:
    key = Key(DONE)
    await platform.start(planner(key), stock())
    maria = platform.as_user(tenant_id="default", user_id="maria")
    plan = await maria.submit("order.received", {})
    await blocked_details(platform, plan.plan_id)
    stranger = platform.as_user(tenant_id="other", user_id="maria", roles=["operator"])
    with pytest.raises(NotFound):
        await stranger.resume(plan.plan_id)
    assert await stranger.resume_all() == []
    auditor = platform.as_user(tenant_id="default", user_id="paul", roles=["auditor"])
    with pytest.raises(Forbidden):
        await auditor.resume(plan.plan_id)
    assert await auditor.resume_all() == []
    key.is_good = True
    assert await maria.resume_all() == [plan.plan_id]
    assert await plan.result(timeout=PATIENCE) == {"ok": True}


async def test_a_resumed_plan_with_an_unavailable_model_needs_no_operator(
    platform: Platform, clock: VirtualClock
) -> None:
    plan = await order(platform, planner([ModelBlocked(REASON), ModelUnavailable("no line"), DONE]), stock())
    await blocked_details(platform, plan.plan_id)
    await clock.advance(1)
    await platform.resume(plan.plan_id)

    async def is_away() -> Any:
        rest = (await platform.plan(plan.plan_id)).rest
        return rest is not None and rest.until is not None

    await until(platform, is_away)
    assert (await platform.plan(plan.plan_id)).blocked == ()
    await pass_time(platform, clock, timedelta(minutes=1))
    assert await plan.result(timeout=PATIENCE) == {"ok": True}


async def test_a_blocked_model_outside_of_a_plan_is_an_error_with_its_cure(platform: Platform) -> None:
    router = Tool("router")

    @router.on_invoke("ticket.route.requested")
    async def route(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        await EventSelector(context, reasoner=ScriptedReasoner(lambda _: ModelBlocked(REASON))).select_event({})
        return {}

    await platform.start(router, payments())
    said: Any = await platform.request("ticket.route.requested", {}, timeout=PATIENCE)
    helps = "(asking again helps once an operator has mended it)"
    assert said["error"] == {"code": "model_blocked", "message": f"{REASON} {helps}"}
