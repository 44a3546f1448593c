"""A shadow asks the questions of committed decisions again: no plan is delayed or fails, and its budget holds."""

import asyncio
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from kit import PATIENCE, kill_platform, open_platform, payments, stock, until
from places import raw

from soorma_ai import Change, ChoreographyPlanner, Platform
from soorma_ai.adapters.prompts import SUFFIX, packaged_prompts
from soorma_ai.errors import ConfigError, ModelUnavailable, Paid
from soorma_ai.features.trials.records import Outcome
from soorma_ai.features.trials.shadow.records import is_chosen
from soorma_ai.kernel.domain.history import DECIDE
from soorma_ai.kernel.domain.values import derived_id
from soorma_ai.kernel.ports import ModelQuestion
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import Item, Script, ScriptedReasoner, complete, publish

RESERVE = publish("inventory.reserve.requested", order_id="A1")
CHARGE = publish("payment.charge.requested", amount=9.0)
DONE = complete({"reserved": True})
BUDGET = 5.0
DAY = timedelta(days=1)


def answer(question: ModelQuestion) -> Item:
    told = question.messages[-1].content
    if "You published payment.charge.requested" in told:
        return DONE
    return CHARGE if "You published inventory.reserve.requested" in told else RESERVE


def model_b(script: Script, **options: Any) -> ScriptedReasoner:
    return ScriptedReasoner(script, model="b", usd_per_token=1e-4, **options)


def orders(**shadow: Any) -> ChoreographyPlanner:
    planner = ChoreographyPlanner("orders", reasoner=ScriptedReasoner(answer, model="a"), goals=["order.received"])
    if shadow:
        planner.shadow(Change(model="b"), **{"share": 1.0, "max_usd_a_day": BUDGET} | shadow)
    return planner


async def start(platform: Platform, other: ScriptedReasoner, **shadow: Any) -> None:
    """Start a shop whose planner has a shadow by this model."""
    owner = ChoreographyPlanner("owner", reasoner=other, goals=["other.goal"])
    await platform.start(orders(**{"share": 1.0} | shadow), owner, stock(), payments())


async def finished(platform: Platform, number: int = 0) -> str:
    plan = await platform.submit("order.received", {"n": number}, idempotency_key=f"order {number}")
    await plan.result(timeout=PATIENCE)
    return plan.plan_id


async def report(platform: Platform, outcomes: int) -> Any:
    """Return the report once it has so many outcomes."""

    async def ready() -> Any:
        found = await platform.shadow_report("orders", limit=100)
        return found if len(found.trials) >= outcomes else None

    return await until(platform, ready)


def money_in(path: Path) -> tuple[float, float]:
    """Return the dollars of the calls, and those of the budgets."""
    with raw(path) as store:
        calls = store.execute("SELECT body FROM trial_call").fetchall()
        days = store.execute("SELECT usd FROM shadow_budget").fetchall()
    return sum(json.loads(body)["usd"] for (body,) in calls), sum(usd for (usd,) in days)


async def test_a_shadow_with_the_same_answers_has_no_difference(platform: Platform, path: Path) -> None:
    await start(platform, model_b(answer))
    plan_id = await finished(platform)
    found = await report(platform, 3)
    assert [(one.plan_id, one.first, one.model) for one in found.trials] == [(plan_id, None, "b")] * 3
    assert sorted(one.tried for one in found.trials) == [1, 2, 3]
    calls, budgets = money_in(path)
    assert found.days[0].usd == pytest.approx(budgets) == pytest.approx(calls)
    assert calls > 0


async def test_a_shadow_shows_the_difference_of_a_decision(platform: Platform) -> None:
    other = publish("payment.charge.requested", amount=90.0)
    await start(platform, model_b(lambda question: other if answer(question) is CHARGE else answer(question)))
    await finished(platform)
    found = await report(platform, 3)
    (first,) = [one.first for one in found.trials if one.first]
    assert (first.number, first.outcome, first.reason) == (
        2,
        Outcome.DIFFERENT,
        "payment.charge.requested with another payload",
    )


async def moments(path: Path, script: Script | None, *, meanwhile: Callable[[Platform], Any] | None = None) -> Any:
    """Return the moments of all decisions and steps of two plans, as time passes between them."""
    clock = VirtualClock()
    async with open_platform(path, clock) as platform:
        if script is None:
            await platform.start(orders(), stock(), payments())
        else:
            await start(platform, model_b(script))
        plans = []
        for number in range(2):
            plans.append(await finished(platform, number))
            await clock.advance(60)
        store = platform.services.store.plans
        return [
            ([one.at for one in await store.decisions(plan)], [(one.kind, one.name) for one in await store.steps(plan)])
            for plan in plans
        ]


async def hang(question: ModelQuestion) -> Item:
    await asyncio.Event().wait()
    return DONE


def err(question: ModelQuestion) -> Item:
    away = ModelUnavailable("down")
    away.paid = Paid(10, 0, 0.001)
    return away


def burst(question: ModelQuestion) -> Item:
    raise ValueError("a bug of this reasoner")


@pytest.mark.parametrize("script", [hang, err, burst, lambda _: "no JSON", answer], ids=lambda one: one.__name__)
async def test_plans_take_the_same_steps_at_the_same_moments_with_and_without_a_shadow(
    tmp_path: Path, script: Script
) -> None:
    without, beside = await moments(tmp_path / "one.db", None), await moments(tmp_path / "other.db", script)
    assert beside == without


@pytest.mark.parametrize("first", [err, burst])
async def test_an_error_of_a_shadow_leaves_out_its_own_decision_alone(
    platform: Platform, caplog: pytest.LogCaptureFixture, first: Callable[[ModelQuestion], Item]
) -> None:
    await start(
        platform, model_b(lambda question: first(question) if answer(question) is RESERVE else answer(question))
    )
    await finished(platform)
    found = await report(platform, 2)
    assert (sorted(one.tried for one in found.trials), found.unanswered) == ([2, 3], 1)
    assert len([one for one in caplog.records if "shadow" in one.getMessage()]) == 1


async def test_the_budget_of_a_day_holds_and_the_next_day_has_its_own(
    platform: Platform, path: Path, clock: VirtualClock
) -> None:
    other = model_b(answer, max_output_tokens=10)
    await start(platform, other, max_usd_a_day=0.15)
    for number in range(4):
        await finished(platform, number)
    await report(platform, len(other.questions))
    first = len(other.questions)
    calls, budgets = money_in(path)
    assert 0 < first < 12
    assert calls == pytest.approx(budgets)
    assert budgets <= 0.15
    await clock.advance(DAY.total_seconds())
    await finished(platform, 5)
    found = await report(platform, first + 1)
    assert len(found.days) == 2
    assert all(day.usd <= 0.15 for day in found.days)


async def test_tenants_have_budgets_of_their_own(platform: Platform) -> None:
    await start(platform, model_b(answer, max_output_tokens=10), max_usd_a_day=0.15)
    for number in range(3):
        await finished(platform, number)
    acme = platform.as_user(tenant_id="acme", user_id="ann", roles=["operator"])
    plan = await acme.submit("order.received", {})
    await plan.result(timeout=PATIENCE)

    async def asked() -> bool:
        return bool((await acme.shadow_report("orders")).trials)

    await until(platform, asked)


async def test_a_killed_call_is_in_doubt_and_neither_asked_nor_counted_twice(path: Path, clock: VirtualClock) -> None:
    sent = asyncio.Event()

    async def silent(question: ModelQuestion) -> Item:
        sent.set()
        return await hang(question)

    platform = open_platform(path, clock)
    await platform.__aenter__()
    await start(platform, model_b(silent))
    await finished(platform)
    async with asyncio.timeout(PATIENCE):
        await sent.wait()
    await kill_platform(platform)
    calls, budgets = money_in(path)
    assert calls == pytest.approx(budgets)
    assert calls > 0
    other = model_b(answer)
    async with open_platform(path, clock) as again:
        await start(again, other)
        await finished(again)
        await finished(again, 1)
        found = await report(again, 3)
    assert found.unanswered == 1
    assert len(other.questions) == 3
    after, budgets = money_in(path)
    assert after == pytest.approx(budgets)
    assert after > calls


async def test_the_chosen_decisions_are_a_share_of_all_by_their_ids() -> None:
    ids = [derived_id("shadow", "orders", str(number), "0") for number in range(4_000)]
    chosen = {share: {one for one in ids if is_chosen(one, share)} for share in (0.1, 0.5, 1.0)}
    assert len(chosen[0.1]) == pytest.approx(400, abs=80)
    assert chosen[0.1] < chosen[0.5] < chosen[1.0] == {*ids}


@pytest.mark.parametrize(
    ("change", "options", "told"),
    [
        (Change(), {}, "changes nothing"),
        (Change(prompts="no/such/folder"), {}, "no such folder"),
        (Change(model="b"), {"share": 0.0}, "share"),
        (Change(model="b"), {"max_usd_a_day": -1}, "max_usd_a_day"),
    ],
)
def test_a_shadow_without_a_sense_is_refused(change: Change, options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        orders().shadow(change, **{"max_usd_a_day": BUDGET} | options)


async def test_a_shadow_of_unknown_price_does_not_start(platform: Platform) -> None:
    with pytest.raises(ConfigError, match="price of b is not known"):
        await start(platform, ScriptedReasoner(answer, model="b", usd_per_token=None))


async def test_a_shadow_asks_with_the_prompts_of_its_folder(platform: Platform, tmp_path: Path) -> None:
    words = (packaged_prompts() / f"{DECIDE}{SUFFIX}").read_text()
    (tmp_path / DECIDE).parent.mkdir(parents=True)
    (tmp_path / f"{DECIDE}{SUFFIX}").write_text(
        words.replace("{% block system -%}", "{% block system -%}Be brief. ", 1)
    )
    asked, other = list[bool](), orders()

    def same(question: ModelQuestion) -> Item:
        asked.append(question.messages[0].content.startswith("Be brief. "))
        return answer(question)

    other.reasoner = ScriptedReasoner(same, model="a")
    other.shadow(Change(prompts=str(tmp_path)), max_usd_a_day=BUDGET, share=1.0)
    await platform.start(other, stock(), payments())
    await finished(platform)
    await report(platform, 3)
    assert sorted(asked) == [False] * 3 + [True] * 3


async def test_outcomes_of_a_removed_user_are_gone(platform: Platform) -> None:
    await start(platform, model_b(answer))
    ann = platform.as_user(tenant_id="default", user_id="ann")
    plan = await ann.submit("order.received", {})
    await plan.result(timeout=PATIENCE)
    await report(platform, 3)
    await platform.forget("ann")
    assert (await platform.shadow_report("orders")).trials == ()


async def test_a_shadow_asks_the_model_in_force(platform: Platform) -> None:
    first, second = model_b(answer), ScriptedReasoner(answer, model="c", usd_per_token=0.0)
    await platform.start(ChoreographyPlanner("third", reasoner=second, goals=["third.wanted"]))
    await start(platform, first)
    await platform.retire_model("b", "c")
    await finished(platform)
    found = await report(platform, 3)
    assert {one.model for one in found.trials} == {"c"}
    assert len(first.questions) == 0
