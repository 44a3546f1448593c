"""Bad answers of a model within a plan: calls are counted, repairs cost none, and the end has a name."""

import json
from typing import Any

import pytest
from kit import PATIENCE, as_time_passes, order, planner, published_events, stock

from soorma_ai import PlanFailed, Platform
from soorma_ai.errors import Paid, UnreadableAnswer
from soorma_ai.kernel.domain.history import Ending
from soorma_ai.kernel.ports import ModelAnswer
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish, wait

RESERVE = publish("inventory.reserve.requested", order_id="A")
DONE = complete({"ok": True})
CUT = '{"reasoning":' + " " * 900
BLANK = ModelAnswer(CUT, None, "it was cut off within blanks", "m", 10, 10, 0.0, 0.0, ending=Ending.BLANK)


def unreadable() -> UnreadableAnswer:
    fault = UnreadableAnswer("m: what came is no answer of a model: <html>")
    fault.paid = Paid(uncounted=1)
    return fault


async def test_five_unreadable_answers_in_a_row_end_the_plan_with_model_unreadable(
    platform: Platform, clock: VirtualClock
) -> None:
    plan = await order(platform, planner([unreadable() for _ in range(5)]), stock())

    async def is_over() -> bool:
        return (await platform.plan(plan.plan_id)).status.is_final

    await as_time_passes(clock, is_over, 5)
    found = await platform.plan(plan.plan_id)
    assert found.status == "failed" and found.usage.llm_calls == 5
    with pytest.raises(PlanFailed, match="5 answers in a row could not be read") as failed:
        await plan.result(timeout=PATIENCE)
    assert failed.value.code == "model_unreadable"


async def test_a_readable_answer_restarts_the_count_of_unreadable_ones(platform: Platform, clock: VirtualClock) -> None:
    script = [*(unreadable() for _ in range(4)), RESERVE, *(unreadable() for _ in range(4)), DONE]
    plan = await order(platform, planner(script), stock())

    async def is_over() -> bool:
        return (await platform.plan(plan.plan_id)).status.is_final

    await as_time_passes(clock, is_over, 5)
    assert (await platform.plan(plan.plan_id)).usage.llm_calls == 10
    assert await plan.result(timeout=PATIENCE) == {"ok": True}


@pytest.mark.parametrize(
    ("said", "how"),
    [
        ({"reasoning": "", **RESERVE["step"]}, "a step without its wrapper"),
        ({"Decision": RESERVE}, "in a wrapper 'Decision'"),
        (json.dumps([RESERVE]), "in a list of one"),
        ({"reasoning": "", "step": json.dumps(RESERVE["step"])}, "the step as JSON text"),
        (publish("inventory.reserve.requested") | {"step": {**RESERVE["step"], "data": '{"order_id": "A"}'}}, "`data`"),
        ({"reasoning": "", "step": {**RESERVE["step"], "action": "inventory.reserve.requested"}}, "for 'publish:"),
    ],
)
async def test_a_repair_without_loss_costs_no_call_and_the_journal_names_it(
    platform: Platform, said: Any, how: str
) -> None:
    plan = await order(platform, planner([said, DONE]), stock())
    assert await plan.result(timeout=PATIENCE) == {"ok": True}
    first, second = (await platform.plan(plan.plan_id)).decisions
    assert how in first.found and first.verdict == "accepted" and second.found == ""
    assert [event.data for event in await published_events(platform)][1:] == [{"order_id": "A"}]


async def test_a_repaired_answer_is_checked_like_any_other(platform: Platform) -> None:
    lone = {"reasoning": "", "step": {**RESERVE["step"], "data": '{"order_id": "\\ud800"}'}}
    plan = await order(platform, planner([lone, DONE]), stock())
    assert await plan.result(timeout=PATIENCE) == {"ok": True}
    assert len(await published_events(platform)) == 1, "the goal alone"


async def test_a_blank_question_is_refused_and_not_published(platform: Platform) -> None:
    blank = wait("user.replied", "  ")
    plan = await order(platform, planner([blank, DONE], external_events=["user.replied"]), stock())
    assert await plan.result(timeout=PATIENCE) == {"ok": True}
    assert not await published_events(platform, topic="notification-events")
    assert "is blank" in (await platform.plan(plan.plan_id)).decisions[0].refusal


async def test_a_lookup_outside_the_offer_ends_with_its_first_refusal(platform: Platform) -> None:
    lookup = {"reasoning": "", "step": {"action": "need_schema", "events": ["inventory.reserve.requested"]}}
    minds = planner([lookup, DONE])
    plan = await order(platform, minds, stock())
    assert await plan.result(timeout=PATIENCE) == {"ok": True}
    assert [one.verdict for one in (await platform.plan(plan.plan_id)).decisions] == ["refused", "accepted"]
    assert "every action is shown with its schema" in minds.reasoner.questions[-1].messages[-1].content


async def test_an_answer_cut_within_blanks_is_asked_for_in_compact_json_then_in_another_form(
    platform: Platform,
) -> None:
    minds = planner([BLANK, BLANK, DONE])
    plan = await order(platform, minds, stock())
    assert await plan.result(timeout=PATIENCE) == {"ok": True}
    asked = minds.reasoner.questions
    assert [(one.room, one.other_form) for one in asked] == [(1000, False), (1000, False), (1000, True)]
    assert asked[1].messages[2].content == '{"reasoning":'
    assert "cut off within blanks" in asked[1].messages[-1].content
    decisions = (await platform.plan(plan.plan_id)).decisions
    assert [one.ending for one in decisions] == [Ending.BLANK, Ending.BLANK, Ending.GOOD]
    assert not (await platform.prompt(plan.plan_id, 2)).faults, "the question is made again to the byte"
