"""Limits hold: over restarts, over the whole tree, and against any answer of the model."""

import asyncio
import itertools
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from kit import (
    order,
    pass_time,
    payments,
    planner,
    pursue,
    running_platform,
    stock,
    types,
    until,
    wait_for_end,
    wait_for_requests,
)

from soorma_ai import (
    ChoreographyPlanner,
    DelegationSpec,
    InvocationContext,
    Limits,
    PlanFailed,
    Platform,
    PlatformContext,
    ResultContext,
    TaskContext,
    Tool,
    Worker,
)
from soorma_ai.errors import ConfigError, ContentFiltered, ModelRefused, Paid
from soorma_ai.kernel.domain.decisions import PlannerDecision, PublishAction
from soorma_ai.kernel.domain.limits import Reserved
from soorma_ai.kernel.domain.values import compact
from soorma_ai.kernel.ports import ModelAnswer, ModelQuestion
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import ScriptedReasoner, complete, delegate, publish


def endless() -> Any:
    """Never the same payload, so that only the limit on actions can stop it."""
    count = itertools.count()
    return lambda question: publish("inventory.reserve.requested", order_id=f"A{next(count)}")


async def test_max_actions_3_means_3_and_a_spent_limit_is_never_asked_about_again(platform: Platform) -> None:
    minds = planner(endless(), max_actions=3)
    plan = await order(platform, minds, stock())
    with pytest.raises(PlanFailed, match="limit_exceeded: max_actions"):
        await plan.result(timeout=5)
    assert (await types(platform)).count("inventory.reserve.requested") == 3
    assert len(minds.reasoner.questions) == 4  # type: ignore[union-attr]


async def test_max_actions_3_means_3_over_restarts_too(path: Path, clock: VirtualClock) -> None:
    for asked in range(1, 4):
        async with running_platform(path, clock, planner(endless(), max_actions=3)) as platform:
            await platform.submit("order.received", {}, idempotency_key="one")
            await platform.start(stock())
            await wait_for_requests(platform, "inventory.reserve.requested", asked)
    async with running_platform(path, clock, planner(endless(), max_actions=3), stock()) as platform:
        details = await wait_for_end(platform, (await platform.plans())[0].plan_id)
        assert "limit_exceeded: max_actions" in details.reason
        assert (await types(platform)).count("inventory.reserve.requested") == details.usage.actions == 3


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        (Limits(max_llm_calls=2), "max_llm_calls"),
        (Limits(max_tokens=1), "max_tokens"),
        (Limits(max_cost_usd=0.0001), "max_cost_usd"),
        (Limits(max_actions=0), "max_actions"),
    ],
)
async def test_a_tripped_limit_fails_the_plan_by_its_name(platform: Platform, limits: Limits, name: str) -> None:
    minds = planner([], limits=limits)
    minds.reasoner = ScriptedReasoner(endless(), usd_per_token=0.001)
    plan = await order(platform, minds, stock())
    with pytest.raises(PlanFailed, match=f"limit_exceeded: {name}"):
        await plan.result(timeout=5)


async def test_the_same_decision_in_the_same_state_is_stopped(platform: Platform) -> None:
    script = itertools.repeat(publish("payment.charge.requested", amount=1))
    plan = await order(platform, planner(script, limits=Limits(max_repeats=2)), payments())
    with pytest.raises(PlanFailed, match="limit_exceeded: max_repeats"):
        await plan.result(timeout=5)
    assert (await types(platform)).count("payment.charge.requested") <= 3


async def test_a_plan_ends_at_its_deadline_with_a_request_still_open(platform: Platform, clock: VirtualClock) -> None:
    script = [publish("slow.requested")]
    slow = Tool("slow")

    @slow.on_invoke("slow.requested")
    async def never(request: InvocationContext, context: PlatformContext) -> None:
        await clock.sleep(86_400)

    plan = await order(platform, planner(script, limits=Limits(deadline=timedelta(hours=1))), slow)
    await wait_for_requests(platform, "slow.requested")
    await pass_time(platform, clock, timedelta(minutes=59))
    assert (await platform.plan(plan.plan_id)).status == "running"
    await pass_time(platform, clock, timedelta(minutes=2))
    details = await wait_for_end(platform, plan.plan_id)
    assert "limit_exceeded: deadline" in details.reason
    assert not [e for e in details.expectations if e.status == "open"]


async def test_a_child_draws_on_the_budget_of_its_root(platform: Platform) -> None:
    child = planner(endless(), name="buyer", goals=["buy.wanted"], max_actions=50)
    root = planner([delegate("buyer", "buy.wanted", {}), complete({"child": "failed"})], max_actions=3)
    plan = await order(platform, root, child, stock())
    assert await plan.result(timeout=5) == {"child": "failed"}
    assert (await types(platform)).count("inventory.reserve.requested") == 2
    assert (await platform.plan(plan.plan_id)).usage.actions == 3


async def test_planners_in_a_row_are_counted(platform: Platform) -> None:
    first = planner([delegate("second", "b", {})] * 9, name="first", goals=["a"], limits=Limits(max_depth=1))
    second = planner([complete({})], name="second", goals=["b"])
    plan = await pursue(platform, "a", {}, first, second, stock())
    with pytest.raises(PlanFailed, match="limit_exceeded: max_depth"):
        await plan.result(timeout=5)


async def test_max_actions_given_twice_and_differently_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="give it once"):
        planner([], limits=Limits(max_actions=5), max_actions=3)
    assert planner([], limits=Limits(max_llm_calls=5), max_actions=3).limits == Limits(max_llm_calls=5, max_actions=3)


async def test_a_cost_limit_with_an_unpriced_model_is_a_config_error(platform: Platform) -> None:
    minds = planner([], limits=Limits(max_cost_usd=1.0))
    minds.reasoner = ScriptedReasoner([], usd_per_token=None)
    cures = r"max_cost_usd=1.0, .*: give the planner price=\(in, out\), .*soorma-ai\[llm\].*or limit max_tokens"
    with pytest.raises(ConfigError, match=cures):
        await platform.start(minds, stock())


async def test_several_decisions_of_one_handling_are_counted_one_by_one(platform: Platform) -> None:
    minds = planner([], goals=[], max_actions=3)

    @minds.on_goal("order.received")
    async def eager(goal: Any, context: PlatformContext) -> None:
        for number in range(5):
            action = PublishAction(event_type="inventory.reserve.requested", data={"order_id": str(number)})
            await minds.execute_decision(PlannerDecision(next_action=action), context)

    plan = await order(platform, minds, stock())
    assert "limit_exceeded: max_actions" in (await wait_for_end(platform, plan.plan_id)).reason


async def test_a_handler_with_endless_questions_to_its_model_is_stopped_by_max_llm_calls(platform: Platform) -> None:
    minds = planner(endless(), goals=[], limits=Limits(max_llm_calls=5))

    @minds.on_goal("order.received")
    async def doubtful(goal: Any, context: PlatformContext) -> None:
        while True:
            await minds.reason_next_action(trigger="And now?", context=context)

    plan = await order(platform, minds, stock())
    with pytest.raises(PlanFailed, match="limit_exceeded: max_llm_calls"):
        await plan.result(timeout=5)
    assert len(minds.reasoner.questions) == 5  # type: ignore[union-attr]


async def test_a_call_reserves_its_whole_prompt_and_the_longest_answer(platform: Platform) -> None:
    minds = planner([complete({})], limits=Limits(max_tokens=10**6))
    plan = await order(platform, minds, stock(), payments())
    await plan.result(timeout=5)
    assert isinstance(minds.reasoner, ScriptedReasoner)
    (question,) = minds.reasoner.questions
    sent = sum(len(message.content) for message in question.messages) + len(compact(question.schema))
    least = sent // 4 + minds.reasoner.max_output_tokens
    scarce = planner([], name="scarce", goals=["scarce.goal"], limits=Limits(max_tokens=least - 1))
    plan = await pursue(platform, "scarce.goal", {}, scarce)
    with pytest.raises(PlanFailed, match="limit_exceeded: max_tokens"):
        await plan.result(timeout=5)


@pytest.mark.parametrize("usage", [(0, 0), (-5, 20), (5, -20)])
async def test_an_answer_without_usage_costs_its_reservation(platform: Platform, usage: tuple[int, int]) -> None:
    answer = ModelAnswer("", complete({}), "", "m", *usage, cost_usd=0.0, latency_ms=1.0)
    minds = planner([])
    minds.reasoner = ScriptedReasoner([answer], usd_per_token=0.001)
    plan = await order(platform, minds, stock())
    await plan.result(timeout=5)
    details = await platform.plan(plan.plan_id)
    (entry,) = details.decisions
    assert details.usage.tokens == entry.prompt_tokens + entry.completion_tokens > 1000
    assert details.usage.cost_usd == pytest.approx(details.usage.tokens * 0.001)
    assert details.usage.cost_usd == pytest.approx(entry.cost_usd)


@pytest.mark.parametrize("declined", [ModelRefused("no"), ContentFiltered("no")])
async def test_the_price_of_a_refusal_is_charged(platform: Platform, declined: ModelRefused) -> None:
    declined.paid = Paid(9000, 500, 0.0)
    minds = planner([declined])
    plan = await order(platform, minds, stock())
    with pytest.raises(PlanFailed):
        await plan.result(timeout=5)
    details = await platform.plan(plan.plan_id)
    assert (details.usage.tokens, details.usage.llm_calls) == (9500, 1)
    assert [(entry.prompt_tokens, entry.completion_tokens) for entry in details.decisions] == [(9000, 500)]


async def test_an_answer_without_a_price_costs_its_reservation(platform: Platform) -> None:
    answer = ModelAnswer("", None, "nothing", "m", 10, 10, None, 1.0)
    minds = planner([], limits=Limits(max_cost_usd=5.0))
    minds.reasoner = ScriptedReasoner(itertools.repeat(answer), usd_per_token=0.001)
    plan = await order(platform, minds, stock())
    cost = (await wait_for_end(platform, plan.plan_id)).usage.cost_usd
    assert cost is not None and cost > 1


async def test_a_plan_with_a_model_of_unknown_price_has_spent_an_unknown_amount(platform: Platform) -> None:
    minds = planner([])
    minds.reasoner = ScriptedReasoner([complete({})], usd_per_token=None)
    plan = await order(platform, minds, stock())
    await plan.result(timeout=20)
    usage = (await platform.plan(plan.plan_id)).usage
    assert (usage.cost_usd, usage.at_least_usd, usage.reserved) == (None, 0.0, Reserved())
    (line,) = (await platform.tracker.plans()).plans
    assert line.spent == usage


async def test_the_reservation_of_a_call_in_flight_is_not_spent(platform: Platform) -> None:
    asked, answers = asyncio.Event(), asyncio.Event()

    async def slow(_: ModelQuestion) -> Any:
        asked.set()
        await answers.wait()
        return complete({})

    minds = planner([])
    minds.reasoner = ScriptedReasoner(slow, usd_per_token=0.001)
    plan = await order(platform, minds, stock())
    await asked.wait()
    spent = await platform.services.store.plans.read_spent(plan.plan_id)
    assert (spent.tokens, spent.cost_usd, spent.llm_calls) == (0, 0.0, 0)
    assert spent.reserved.llm_calls == 1 and spent.reserved.tokens > 1000 and spent.reserved.cost_usd > 1
    answers.set()
    await plan.result(timeout=20)
    after = await platform.services.store.plans.read_spent(plan.plan_id)
    assert after.reserved == Reserved() and after.tokens > 0


async def test_an_unpriced_planner_cannot_spend_a_trees_budget_in_dollars(platform: Platform) -> None:
    child = planner([], name="child", goals=["child.goal"])
    child.reasoner = ScriptedReasoner(itertools.repeat(complete({})), usd_per_token=None)
    root = planner(
        [delegate("child", "child.goal", {}), complete({"child": "failed"})], limits=Limits(max_cost_usd=9.0)
    )
    plan = await order(platform, root, child, stock())
    assert await plan.result(timeout=5) == {"child": "failed"}
    assert (await platform.plans())[0].reason != ""


BRANCHES = 32


def _crowd() -> Worker:
    """A worker: gives a goal to a planner so many times at once."""
    crowd = Worker("crowd")

    @crowd.on_task("crowd.asked")
    async def ask(task: TaskContext, context: PlatformContext) -> None:
        parts = [DelegationSpec("buy.wanted", {"n": n}, "buy.wanted.completed") for n in range(BRANCHES)]
        await task.delegate_parallel(parts)

    @crowd.on_result("buy.wanted.completed")
    async def wait(result: ResultContext, context: PlatformContext) -> None:
        """End the task once all are answered."""

    return crowd


@pytest.mark.parametrize("error", [0.0, 0.2])
@pytest.mark.parametrize("limit", ["max_tokens", "max_cost_usd"])
async def test_branches_deciding_at_once_overspend_by_at_most_the_error_of_the_estimate(
    platform: Platform, limit: str, error: float
) -> None:
    """The model uses its whole reservation, and the share of `error` more."""
    price, sent, together = 0.001, asyncio.Event(), list[int]()

    async def answer(question: ModelQuestion) -> ModelAnswer:
        together.append(1)
        if len(together) < 8:
            with suppress(TimeoutError):
                await asyncio.wait_for(sent.wait(), 2)
        sent.set()
        used = int((1 + error) * (reserved(question) - child.max_output_tokens))
        made = int((1 + error) * child.max_output_tokens)
        said = complete({"done": True})
        return ModelAnswer(compact(said), said, "", "m", used, made, price * (used + made), 1.0)

    def reserved(question: ModelQuestion) -> int:
        texts = [message.content for message in question.messages]
        return len(compact([*texts])) // 4 + len(compact(question.schema)) // 4 + child.max_output_tokens

    child = ScriptedReasoner(answer, usd_per_token=price)
    most = 30_000
    limits = Limits(**{limit: most if limit == "max_tokens" else most * price})
    root = planner([publish("crowd.asked")] * 3, limits=limits)
    minds = ChoreographyPlanner("buyer", reasoner=child, goals=["buy.wanted"], limits=limits)
    plan = await order(platform, root, minds, _crowd())
    await until_all_ended(platform, BRANCHES + 1)
    usage = (await platform.plan(plan.plan_id)).usage
    used = usage.tokens if limit == "max_tokens" else (usage.cost_usd or 0) / price
    assert len(together) >= 8 and 0.7 * most < used <= (1 + error) * most
    ends = [one.reason for one in await platform.plans(limit=100) if one.reason]
    assert ends and all(f"limit_exceeded: {limit}" in reason or "cancelled" in reason for reason in ends)


async def until_all_ended(platform: Platform, count: int) -> None:
    async def all_ended() -> bool:
        plans = await platform.plans(limit=100)
        return len(plans) >= count and all(one.status.is_final for one in plans if one.parent_plan_id)

    await until(platform, all_ended)
