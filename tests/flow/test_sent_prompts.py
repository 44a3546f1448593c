"""Sent prompts are made again from stored rows, to the byte; a prompt without its rows has a fault."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from kit import ORDER_ID, PATIENCE, order, payments, planner, stock, the_wait
from msgspec.structs import astuple
from places import raw

from soorma_ai import ChoreographyPlanner, InvocationContext, Limits, NotFound, Platform, PlatformContext, Tool
from soorma_ai.errors import Forbidden
from soorma_ai.kernel.domain.values import compact
from soorma_ai.testing.scripted import ScriptedReasoner, complete, publish, publish_all

RESERVE = publish("inventory.reserve.requested", order_id="A1")
CHARGE = publish("payment.charge.requested", amount=9.0)


def step_of(step: str, **fields: Any) -> dict[str, Any]:
    return {"reasoning": "", "step": {"action": step, **fields}}


async def all_are_as_sent(platform: Platform, plan_id: str, minds: ChoreographyPlanner) -> int:
    """Compare every question of a plan with the one its model got; return their number."""
    reasoner = minds.reasoner
    assert isinstance(reasoner, ScriptedReasoner)
    for number, question in enumerate(reasoner.questions, 1):
        made = await platform.prompt(plan_id, number)
        assert made.faults == ()
        assert [*map(astuple, made.messages)] == [*map(astuple, question.messages)]
        assert (made.form, made.number) == (compact(question.schema), number)
        assert made.count == len(reasoner.questions)
    return len(reasoner.questions)


def reports(rows: int = 3) -> Tool:
    """The report of A has so many rows, any other three."""
    tool = Tool("reports")

    @tool.on_invoke("report.wanted", payload_schema=ORDER_ID)
    async def report(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        order_id = request.data["order_id"]
        return {"rows": [f"{order_id} <{number}>" for number in range(rows if order_id == "A" else 3)]}

    return tool


async def test_a_repeated_question_is_made_again_with_its_refusals(platform: Platform) -> None:
    odd = publish("no.such.event")
    minds = planner([odd, "no JSON", RESERVE, step_of("publish:inventory.reserve.requested", data={}), complete({})])
    plan = await order(platform, minds, stock())
    await plan.result(timeout=PATIENCE)
    assert await all_are_as_sent(platform, plan.plan_id, minds) == 5
    assert [len((await platform.prompt(plan.plan_id, number)).messages) for number in range(1, 6)] == [2, 4, 6, 2, 4]


async def test_a_prompt_with_a_long_history_is_made_again_with_its_outlines_and_gaps(platform: Platform) -> None:
    """Results of too large a size are shown in outline, old steps shorter and shorter, the first ones not at all."""
    see = step_of("see_result", path="step2.result.rows[3:5]")
    one = publish("report.wanted", order_id="A")
    many = publish_all(*(publish("report.wanted", order_id=f"B{number}") for number in range(22)))
    limits = Limits(max_actions=None, max_tokens=None)
    minds = planner([one, one, see, *[many] * 3, one, complete({})], limits=limits)
    plan = await order(platform, minds, reports(600))
    await plan.result(timeout=PATIENCE)
    assert await all_are_as_sent(platform, plan.plan_id, minds) == 8
    last = await platform.prompt(plan.plan_id)
    assert re.search(r"Steps 1 to \d+ are not shown", last.messages[1].content)
    assert "You asked to see" in (await platform.prompt(plan.plan_id, 4)).messages[1].content


async def test_results_of_requests_published_together_are_made_again(platform: Platform) -> None:
    together = publish_all(*(publish("report.wanted", order_id=f"A{number}") for number in range(3)))
    minds = planner([together, publish("report.wanted", order_id="B"), complete({})])
    plan = await order(platform, minds, reports())
    await plan.result(timeout=PATIENCE)
    assert await all_are_as_sent(platform, plan.plan_id, minds) == 3


async def test_words_of_people_and_of_authors_are_made_again(platform: Platform) -> None:
    script = [CHARGE, RESERVE, complete({})]
    minds = planner(script, system_instructions="Be thrifty. " * 40, tells_date_in="Europe/Berlin")

    @minds.custom_context
    async def known(goal: Any, context: PlatformContext) -> dict[str, Any]:
        return {"budget": 100, "notes": "x" * 500}

    plan = await order(platform, minds, stock(), payments("always"), wish="<data>")
    wait = await the_wait(platform)
    assert await platform.answer(wait.wait_id, {"approved": False}, note="not </data> today") == "accepted"
    await plan.result(timeout=PATIENCE)
    assert await all_are_as_sent(platform, plan.plan_id, minds) == 3


async def test_an_offer_of_very_many_events_is_made_again(platform: Platform) -> None:
    tool = Tool("library")

    async def fetch(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        return {"fetched": True}

    for number in range(300):
        words = f"Fetch the books of room {number} from their shelf, and count their copies."
        tool.on_invoke(f"room{number:03}.fetch", description=words, payload_schema=ORDER_ID)(fetch)
    need = step_of("need_schema", events=["room299.fetch"])
    script = [need, publish("room299.fetch", order_id="1"), publish("room007.fetch", order_id="1"), complete({})]
    minds = planner(script, offer_tokens=1_500)
    plan = await order(platform, minds, tool, wish="the books of room 7")
    await plan.result(timeout=PATIENCE)
    assert await all_are_as_sent(platform, plan.plan_id, minds) >= 4


async def test_prompts_are_shown_only_with_the_right_to_steer_their_plan(platform: Platform) -> None:
    ann = platform.as_user(tenant_id="default", user_id="ann")
    await platform.start(planner([complete({})]), stock())
    plan = await ann.submit("order.received", {})
    await plan.result(timeout=PATIENCE)
    operator = platform.as_user(tenant_id="default", user_id="olga", roles={"operator"})
    assert (
        await ann.prompt(plan.plan_id) == await operator.prompt(plan.plan_id, 1) == await platform.prompt(plan.plan_id)
    )
    with pytest.raises(NotFound):
        await platform.as_user(tenant_id="default", user_id="bob").prompt(plan.plan_id)
    with pytest.raises(Forbidden):
        await platform.as_user(tenant_id="default", user_id="eve", roles={"auditor"}).prompt(plan.plan_id)
    with pytest.raises(NotFound, match="has no decision 2; it has 1 to 1"):
        await ann.prompt(plan.plan_id, 2)


async def test_a_prompt_of_an_older_version_has_a_fault_in_place_of_its_messages(
    platform: Platform, path: Path
) -> None:
    """The question is older than the journal's record of its parts."""
    await platform.start(planner([complete({})]), stock())
    plan = await platform.submit("order.received", {})
    await plan.result(timeout=PATIENCE)
    forget_what_was_sent(path)
    shown = await platform.prompt(plan.plan_id)
    assert shown.messages == () and shown.faults == (
        "it was asked by a version of this code that wrote down no more than the hash of its template",
    )


def forget_what_was_sent(path: Path) -> None:
    with raw(path) as owner:
        for seq, rest in owner.execute("SELECT seq, rest FROM journal").fetchall():
            left = {name: value for name, value in json.loads(rest).items() if name != "sent"}
            owner.execute("UPDATE journal SET rest = ? WHERE seq = ?", (json.dumps(left), seq))
