"""A trial asks another model the recorded questions, keeps each answer once, and holds its budget."""

import asyncio
import json
from collections.abc import Callable
from datetime import timedelta
from math import comb
from pathlib import Path
from typing import Any

import pytest
from kit import PATIENCE, happens, order, payments, planner, stock
from places import raw
from test_lookups import FIND, NEED, library

from soorma_ai import Platform
from soorma_ai.errors import ConfigError, ModelRefused, ModelUnavailable, Paid
from soorma_ai.features.trials.asking import Asker, Budget
from soorma_ai.features.trials.figures import report_of
from soorma_ai.features.trials.model_replay import ModelReplay
from soorma_ai.features.trials.ports import TRIALS
from soorma_ai.features.trials.records import ModelTrial, Outcome, Stop
from soorma_ai.features.trials.replay import Replay
from soorma_ai.kernel.ports import ModelQuestion
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import Item, ScriptedReasoner, complete, give_up, publish

RESERVE = publish("inventory.reserve.requested", order_id="A1")
CHARGE = publish("payment.charge.requested", amount=9.0)
DONE = complete({"reserved": True})


async def finished(platform: Platform, *script: Item) -> str:
    plan = await order(platform, planner([*script]), stock(), payments())
    await plan.result(timeout=PATIENCE)
    return plan.plan_id


async def try_model(
    platform: Platform,
    plan_id: str,
    model: ScriptedReasoner,
    *,
    times: int = 1,
    budget: Budget | None = None,
    is_over: Callable[[], bool] = lambda: False,
) -> ModelTrial:
    services = platform.services
    plan = await services.store.plans.plan(plan_id)
    assert plan is not None
    replay = Replay(services.store.plans, services.store.registry, services.prompts)
    ledger = services.store.part(TRIALS)
    asker = Asker(model, ledger, services.clock, budget or Budget(), times)
    return await ModelReplay(replay, asker, is_over).try_plan(plan)


def money_in(path: Path) -> float:
    """Return the dollars in the ledger."""
    with raw(path) as store:
        rows = store.execute("SELECT body FROM trial_call").fetchall()
    return sum(json.loads(body)["usd"] for (body,) in rows)


def priced(script: list[Item] | Callable[[ModelQuestion], Item], **options: int) -> ScriptedReasoner:
    return ScriptedReasoner(script, model="other", usd_per_token=1e-4, **options)


async def test_a_model_with_the_recorded_answers_has_no_difference(platform: Platform) -> None:
    plan_id = await finished(platform, RESERVE, CHARGE, DONE)
    trial = await try_model(platform, plan_id, ScriptedReasoner([RESERVE, CHARGE, DONE]))
    assert (trial.first, trial.tried, trial.count) == (None, 3, 3)
    assert [(one.good, one.count) for one in trial.scores] == [(1, 1)] * 3
    assert trial.now.calls == trial.then.calls == 3


async def test_a_model_gets_the_messages_and_the_form_of_the_journal(platform: Platform) -> None:
    agent = planner([RESERVE, "no JSON", DONE])
    plan = await order(platform, agent, stock())
    await plan.result(timeout=PATIENCE)
    other = ScriptedReasoner([RESERVE, DONE])
    trial = await try_model(platform, plan.plan_id, other)
    assert (trial.first, trial.tried) == (None, 3)
    prompts = [await platform.prompt(plan.plan_id, number) for number in (1, 2)]
    asked = [[(one.role, one.content) for one in question.messages] for question in other.questions]
    assert asked == [[(one.role, one.content) for one in prompt.messages] for prompt in prompts]


async def test_a_trial_stops_at_its_first_difference_with_a_diff_of_the_payload(platform: Platform) -> None:
    plan_id = await finished(platform, RESERVE, CHARGE, DONE)
    other = ScriptedReasoner([RESERVE, publish("payment.charge.requested", amount=90.0)])
    trial = await try_model(platform, plan_id, other)
    assert trial.first is not None
    assert (trial.first.number, trial.first.outcome, trial.tried) == (2, Outcome.DIFFERENT, 2)
    assert trial.first.reason == "payment.charge.requested with another payload"
    assert {'-  "amount": 9.0', '+  "amount": 90.0'} <= {*trial.first.answer}


@pytest.mark.parametrize(
    ("answer", "outcome", "reason"),
    [
        (CHARGE, Outcome.DIFFERENT, "inventory.reserve.requested then, and payment.charge.requested in the trial"),
        (give_up("no stock"), Outcome.DIFFERENT, "inventory.reserve.requested then, and giving up in the trial"),
        (publish("no.such.event"), Outcome.REFUSED, "no.such.event"),
        ("no JSON", Outcome.REFUSED, "JSON"),
        (ModelRefused("not for me"), Outcome.REFUSED, "not for me"),
    ],
)
async def test_another_answer_is_different_or_refused(
    platform: Platform, answer: Item, outcome: Outcome, reason: str
) -> None:
    plan_id = await finished(platform, RESERVE, DONE)
    trial = await try_model(platform, plan_id, ScriptedReasoner([answer]))
    assert trial.first is not None
    assert trial.first.outcome is outcome
    assert reason in trial.first.reason


async def test_a_lookup_is_compared_with_the_recorded_one(platform: Platform) -> None:
    dim = publish("torch.dim", shelf="A")
    plan = await order(platform, planner([FIND, dim, complete({})], offer_tokens=1_500), library())
    await plan.result(timeout=PATIENCE)
    assert (await try_model(platform, plan.plan_id, ScriptedReasoner([FIND, dim, complete({})]))).is_same
    reasons: list[str] = []
    for number, answer in enumerate((NEED, complete({}))):
        other = ScriptedReasoner([answer], model=f"m{number}")
        trial = await try_model(platform, plan.plan_id, other)
        reasons.append(trial.first.reason if trial.first else "")
    assert reasons == ["another lookup", "a lookup then, and a decision in the trial"]


async def test_words_of_a_reason_are_no_difference(platform: Platform) -> None:
    plan_id = await finished(platform, RESERVE, DONE)
    other = ScriptedReasoner([{**RESERVE, "reasoning": "Stock first."}, {**DONE, "reasoning": "All there."}])
    assert (await try_model(platform, plan_id, other)).is_same


async def test_pass_at_1_and_pass_power_of_a_scripted_model_are_the_closed_form(platform: Platform) -> None:
    """Each plan's only question is answered as then by `good` of six answers."""
    times, goods = 6, (6, 5, 3, 0)
    await platform.start(stock())
    trials: list[ModelTrial] = []
    for number, good in enumerate(goods):
        agent = planner([complete({"n": number})], name=f"p{number}", goals=[f"goal.{number}"])
        await platform.start(agent)
        plan = await platform.submit(f"goal.{number}", {})
        await plan.result(timeout=PATIENCE)
        script = [complete({"n": number})] * good + [complete({"n": -1})] * (times - good)
        trials.append(await try_model(platform, plan.plan_id, ScriptedReasoner(script), times=times))
    for asked in range(1, times + 1):
        report = report_of(trials, asked)
        wanted = sum(comb(good, asked) / comb(times, asked) for good in goods) / len(goods)
        assert report.pass_power.value == pytest.approx(wanted)
        assert report.pass_power.low <= wanted <= report.pass_power.high
    assert report_of(trials, times).pass_at_1.value == pytest.approx(sum(goods) / times / len(goods))


async def test_a_paid_answer_is_not_asked_for_again(platform: Platform, path: Path) -> None:
    plan_id = await finished(platform, RESERVE, DONE)
    first = await try_model(platform, plan_id, priced([RESERVE, RESERVE, DONE, DONE]), times=2)
    again = await try_model(platform, plan_id, priced([]), times=2)
    assert (again.first, again.scores, again.now) == (None, first.scores, first.now)
    assert (first.paid_usd, again.paid_usd) == (pytest.approx(first.now.usd), 0.0)
    more = await try_model(platform, plan_id, priced([RESERVE, DONE]), times=3)
    assert more.now.calls == 6
    assert more.now.usd == pytest.approx(money_in(path))


async def test_the_answers_of_another_model_are_not_its_own(platform: Platform) -> None:
    plan_id = await finished(platform, DONE)
    await try_model(platform, plan_id, priced([DONE]))
    third = ScriptedReasoner([complete({"reserved": False})], model="third")
    assert not (await try_model(platform, plan_id, third)).is_same


async def test_a_budget_holds_in_parts_of_a_trial_together(platform: Platform, path: Path) -> None:
    plan_id = await finished(platform, RESERVE, CHARGE, DONE)
    other, tried = priced([RESERVE, CHARGE, DONE], max_output_tokens=10), list[int]()
    for max_usd in (0.01 * number for number in range(1, 200)):
        trial = await try_model(platform, plan_id, other, budget=Budget(max_usd))
        assert money_in(path) <= max_usd
        assert trial.tried == len(trial.scores) == len(other.questions)
        tried.append(trial.tried)
        if trial.stopped is None:
            break
        assert trial.stopped is Stop.BUDGET
    assert (tried[0], tried[-1]) == (0, 3)
    assert {*tried} == {0, 1, 2, 3}


async def test_a_budget_needs_a_price(platform: Platform) -> None:
    plan_id = await finished(platform, DONE)
    unknown = ScriptedReasoner([DONE], usd_per_token=None)
    with pytest.raises(ConfigError, match="price"):
        await try_model(platform, plan_id, unknown, budget=Budget(1.0))
    assert unknown.questions == []


async def test_a_stopped_trial_goes_on_with_its_kept_answers(platform: Platform) -> None:
    plan_id = await finished(platform, RESERVE, CHARGE, DONE)
    looks = iter([False, True])
    part = await try_model(platform, plan_id, priced([RESERVE]), is_over=lambda: next(looks))
    assert (part.stopped, part.tried) == (Stop.TIME, 1)
    whole = await try_model(platform, plan_id, priced([CHARGE, DONE]))
    assert (whole.stopped, whole.first, whole.tried) == (None, None, 3)


class SlowReasoner(ScriptedReasoner):
    """Reasoner with answers behind a gate."""

    def __init__(self, script: list[Item]) -> None:
        super().__init__(script, model="other", usd_per_token=1e-4)
        self.begun, self.gate = asyncio.Event(), asyncio.Event()

    async def ask(self, question: ModelQuestion) -> Any:
        self.begun.set()
        await self.gate.wait()
        return await super().ask(question)


async def test_a_trial_answers_after_its_patience_and_the_same_call_gets_the_answer_paid_once(
    platform: Platform, clock: VirtualClock, path: Path
) -> None:
    plan_id = await finished(platform, RESERVE, DONE)
    slow = SlowReasoner([RESERVE, DONE])
    platform.services.models.keep(slow)
    operator = platform.as_user(tenant_id="default", user_id="op", roles=["operator"])
    asked = asyncio.ensure_future(operator.try_model(plan_id, "other", patience=5.0))
    await happens(slow.begun)
    await clock.advance(timedelta(seconds=7))
    first = await asked
    assert (first.stopped, first.tried, first.count, first.paid_usd) == (Stop.TIME, 0, 2, 0.0)
    slow.gate.set()
    second = await operator.try_model(plan_id, "other", patience=5.0)
    while second.stopped is Stop.TIME:
        second = await operator.try_model(plan_id, "other", patience=5.0)
    assert (second.stopped, second.first, second.tried) == (None, None, 2)
    assert len(slow.questions) == 2
    assert second.now.usd == pytest.approx(money_in(path))


async def test_an_error_of_the_model_ends_the_trial_and_costs_its_usage(platform: Platform, path: Path) -> None:
    plan_id = await finished(platform, RESERVE, DONE)
    away = ModelUnavailable("down")
    away.paid = Paid(10, 0, 0.001)
    with pytest.raises(ModelUnavailable):
        await try_model(platform, plan_id, priced([RESERVE, away]))
    whole = await try_model(platform, plan_id, priced([DONE]))
    assert whole.first is None
    assert whole.now.usd == pytest.approx(money_in(path))
    assert whole.now.calls == 3


async def test_a_call_without_an_answer_keeps_its_reservation(platform: Platform, path: Path) -> None:
    """A kill between the call and its answer: the money may be spent, and counts once."""
    plan_id = await finished(platform, RESERVE, DONE)
    sent = asyncio.Event()

    async def hang(question: ModelQuestion) -> Item:
        sent.set()
        await asyncio.Event().wait()
        return RESERVE

    running = asyncio.create_task(
        try_model(platform, plan_id, ScriptedReasoner(hang, model="other", usd_per_token=1e-4))
    )
    await sent.wait()
    reserved = money_in(path)
    assert reserved > 0
    running.cancel()
    await asyncio.wait([running])
    assert money_in(path) == reserved
    whole = await try_model(platform, plan_id, priced([RESERVE, DONE]))
    assert whole.now.usd == pytest.approx(money_in(path))
    assert (whole.now.calls, whole.first) == (3, None)


async def test_equal_questions_of_two_plans_are_paid_once(platform: Platform, path: Path) -> None:
    await platform.start(planner([DONE, DONE]), stock())
    plans = [await platform.submit("order.received", {}) for _ in range(2)]
    for plan in plans:
        await plan.result(timeout=PATIENCE)
    budget, other = Budget(1.0), priced([DONE])
    trials = [await try_model(platform, plan.plan_id, other, budget=budget) for plan in plans]
    assert [one.first for one in trials] == [None, None]
    assert report_of(trials, 1).now.usd == pytest.approx(money_in(path)) == pytest.approx(budget.spent)
