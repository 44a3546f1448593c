"""An unavailable model ends no plan: its deliveries rest on disk, and are handled when the model is back."""

import asyncio
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from kit import (
    PATIENCE,
    as_time_passes,
    happens,
    kill_platform,
    open_platform,
    order,
    pass_time,
    payments,
    planner,
    running_platform,
    sleeps,
    stock,
    wait_for_end,
    wait_for_requests,
)

from soorma_ai import CompleteAction, GoalContext, Limits, PlanFailed, PlannerDecision, Platform, PlatformContext
from soorma_ai.agents.choreography import ChoreographyPlanner
from soorma_ai.errors import ModelUnavailable, Paid, RateLimited
from soorma_ai.features.tracking.story import print_trace
from soorma_ai.surfaces.terminal.printing import print_json
from soorma_ai.testing.clock import START, VirtualClock
from soorma_ai.testing.scripted import ScriptedReasoner, complete, publish

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
PLANS = 100


def away_until(clock: VirtualClock, back: datetime, **asked: Any) -> Callable[[Any], Any]:
    return lambda _: complete({"ok": True}) if clock.now() >= back else ModelUnavailable("no line", **asked)


def count_questions(minds: ChoreographyPlanner) -> int:
    assert isinstance(minds.reasoner, ScriptedReasoner)
    return len(minds.reasoner.questions)


async def wait_until_completed(platform: Platform, plan_ids: list[str]) -> None:
    for plan_id in plan_ids:
        details = await wait_for_end(platform, plan_id)
        assert (details.status, details.result) == ("completed", {"ok": True})
        assert (details.usage.llm_calls, len(details.decisions)) == (1, 1)


async def test_an_hour_without_a_provider_ends_none_of_a_hundred_plans_and_few_ask(path: Path) -> None:
    clock = VirtualClock()
    minds = planner(away_until(clock, START + HOUR))
    async with running_platform(path, clock, minds, stock()) as platform:
        plans = [(await platform.submit("order.received", {"n": n})).plan_id for n in range(PLANS)]
        await pass_time(platform, clock, HOUR + 6 * MINUTE)
        await wait_until_completed(platform, plans)
    assert count_questions(minds) < 2 * PLANS + 60, (
        "one plan asks whether it is back, and the others wait for the outcome"
    )


async def test_a_kill_during_an_outage_changes_nothing(path: Path, clock: VirtualClock) -> None:
    back = START + HOUR
    plans: list[str] = []
    for _ in range(3):
        platform = open_platform(path, clock)
        await platform.__aenter__()
        await platform.start(planner(away_until(clock, back)), stock())
        plans += [(await platform.submit("order.received", {"n": n})).plan_id for n in range(5)]
        await sleeps(platform, plans[-1])
        await pass_time(platform, clock, 15 * MINUTE)
        await kill_platform(platform)
    async with running_platform(path, clock, planner(away_until(clock, back)), stock()) as platform:
        await pass_time(platform, clock, HOUR)
        await wait_until_completed(platform, plans)


async def test_a_kill_while_a_plan_tries_the_model_again_changes_nothing(path: Path, clock: VirtualClock) -> None:
    looked = asyncio.Event()

    async def look(_: Any) -> Any:
        if clock.now() < START + MINUTE:
            return ModelUnavailable("no line")
        looked.set()
        return await asyncio.get_running_loop().create_future()

    platform = open_platform(path, clock)
    await platform.__aenter__()
    await platform.start(planner(look), stock())
    plans = [(await platform.submit("order.received", {"n": n})).plan_id for n in range(5)]
    await sleeps(platform, plans[-1])
    await pass_time(platform, clock, 3 * MINUTE)
    await happens(looked)
    await kill_platform(platform)
    async with running_platform(path, clock, planner(away_until(clock, START)), stock()) as platform:
        await pass_time(platform, clock, 6 * MINUTE)
        for plan_id in plans:
            assert (await wait_for_end(platform, plan_id)).status == "completed"


async def test_a_resting_plan_is_paused_and_shows_the_end_and_the_reason_of_its_rest(
    platform: Platform, clock: VirtualClock, capsys: pytest.CaptureFixture[str]
) -> None:
    minds = planner([RateLimited("slow down", retry_after=HOUR), complete({"ok": True})])
    plan = await order(platform, minds, stock())
    await sleeps(platform, plan.plan_id)
    details = await platform.plan(plan.plan_id)
    assert details.rest is not None
    assert (details.rest.until, details.rest.reason) == (clock.now() + HOUR, "slow down")
    assert (details.usage.llm_calls, details.usage.tokens, details.deadline) == (0, 0, START + timedelta(days=7))
    print_trace(await platform.trace(plan.plan_id))
    assert "sleeps until" in (shown := capsys.readouterr().out) and "slow down" in shown
    print_json(details)
    assert json.loads(capsys.readouterr().out)["rest"]["reason"] == "slow down"
    await pass_time(platform, clock, 59 * MINUTE)
    assert count_questions(minds) == 1
    await pass_time(platform, clock, 2 * MINUTE)
    await wait_until_completed(platform, [plan.plan_id])
    assert (await platform.plan(plan.plan_id)).rest is None


async def test_a_reply_during_an_outage_waits_in_line_and_nothing_is_done_twice(
    platform: Platform, clock: VirtualClock
) -> None:
    charged: list[Any] = []
    lost = [ModelUnavailable("no line")] * 8
    two = [publish("payment.charge.requested", amount=1), *lost, complete({"ok": True})]
    plan = await order(platform, planner(two), payments(charged=charged))
    await wait_for_requests(platform, "payment.charge.requested")
    await sleeps(platform, plan.plan_id)
    await pass_time(platform, clock, HOUR)
    details = await wait_for_end(platform, plan.plan_id)
    assert (details.status, charged, details.usage.actions) == ("completed", [1], 1)
    assert [step.kind for step in details.steps].count("replied") == 1


async def test_a_resting_plan_is_cancelled_at_once(platform: Platform, clock: VirtualClock) -> None:
    minds = planner(away_until(clock, START + 10 * HOUR, retry_after=9 * HOUR))
    plan = await order(platform, minds, stock())
    await sleeps(platform, plan.plan_id)
    await platform.cancel(plan.plan_id, "no more need")
    assert (await wait_for_end(platform, plan.plan_id)).status == "cancelled"


async def test_a_resting_plan_ends_at_its_deadline(platform: Platform, clock: VirtualClock) -> None:
    limits = Limits(deadline=2 * HOUR)
    minds = planner(away_until(clock, START + 10 * HOUR, retry_after=9 * HOUR), limits=limits)
    plan = await order(platform, minds, stock())
    await sleeps(platform, plan.plan_id)
    await pass_time(platform, clock, 2 * HOUR)
    assert "limit_exceeded: deadline" in ((await wait_for_end(platform, plan.plan_id)).reason or "")


async def test_plans_on_another_provider_go_on(platform: Platform, clock: VirtualClock) -> None:
    lost = planner(away_until(clock, START + HOUR))
    fine = planner([complete({"ok": True})] * 2, name="others", goals=["other.goal"])
    await platform.start(lost, fine, stock())
    assert isinstance(fine.reasoner, ScriptedReasoner)
    fine.reasoner.provider = "another"
    resting = [await platform.submit("order.received", {"n": n}) for n in range(2)]
    for plan in resting:
        await sleeps(platform, plan.plan_id)
    other = await platform.submit("other.goal", {})
    assert await other.result(timeout=PATIENCE) == {"ok": True}


async def test_an_always_failing_question_keeps_no_other_plan_from_its_model(
    platform: Platform, clock: VirtualClock
) -> None:
    def respond(question: Any) -> Any:
        return (
            ModelUnavailable("no choices") if '"bad":true' in question.messages[1].content else complete({"ok": True})
        )

    bad = await order(platform, planner(respond), stock(), bad=True)
    await sleeps(platform, bad.plan_id)
    for number in range(3):
        good = await platform.submit("order.received", {"n": number})
        assert await good.result(timeout=PATIENCE) == {"ok": True}
        await pass_time(platform, clock, 11 * MINUTE)
    assert (await platform.plan(bad.plan_id)).status == "paused"


async def test_a_timed_out_call_costs_its_reservation_until_the_limit_ends_the_plan(
    platform: Platform, clock: VirtualClock
) -> None:
    silent = ModelUnavailable("no answer in time")
    silent.paid = Paid(uncounted=3)
    minds = planner(lambda _: silent, limits=Limits(max_llm_calls=4))
    plan = await order(platform, minds, stock())
    await sleeps(platform, plan.plan_id)
    usage = (await platform.plan(plan.plan_id)).usage
    assert usage.tokens > 3 * 1000

    async def is_over() -> bool:
        return (await platform.plan(plan.plan_id)).status == "failed"

    await as_time_passes(clock, is_over)
    with pytest.raises(PlanFailed, match="max_llm_calls"):
        await plan.result(timeout=PATIENCE)


async def test_a_handler_may_do_something_else_when_the_model_is_away(platform: Platform) -> None:
    minds = planner([ModelUnavailable("no line")], goals=[])

    @minds.on_goal("order.received")
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        try:
            await minds.reason_next_action("Go.", context)
        except ModelUnavailable:
            by_hand = PlannerDecision(next_action=CompleteAction(result={"by": "hand"}))
            await minds.execute_decision(by_hand, context)

    plan = await order(platform, minds, stock())
    assert await plan.result(timeout=PATIENCE) == {"by": "hand"}
