"""Among very many events a model sees the likely ones, and asks for the rest before it decides."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from kit import PATIENCE, kill_platform, open_platform, order, planner, stock, types, wait_for_requests
from unit.material import obj
from worst import IS_WORST

from soorma_ai import ChoreographyPlanner, GoalContext, InvocationContext, PlanFailed, Platform, PlatformContext, Tool
from soorma_ai.kernel.domain.history import Verdict
from soorma_ai.kernel.domain.values import compact
from soorma_ai.kernel.ports import ModelQuestion
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import ScriptedReasoner, complete, publish, publish_all

SHELF = obj({"shelf": {"type": "string"}, "copies": {"type": "integer"}}, "shelf")
MANY = 400


def library() -> Tool:
    """A tool: takes requests about very many things, and one about another."""
    tool = Tool("library")

    async def carry_out(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        return {"done": request.event_type}

    for number in range(MANY):
        words = f"Fetch the books of room {number} from their shelf, and count their copies."
        tool.on_invoke(f"room{number:03}.fetch", description=words, payload_schema=SHELF)(carry_out)
    tool.on_invoke("torch.dim", description="Make the light in a hall weaker.", payload_schema=SHELF)(carry_out)
    return tool


def lookup(action: str, **fields: Any) -> dict[str, Any]:
    return {"reasoning": "", "step": {"action": action, **fields}}


def has_schema(question: ModelQuestion, event: str) -> bool:
    return f'"publish:{event}"' in compact(question.schema)


def is_told(question: ModelQuestion, event: str) -> bool:
    return any(f'"publish:{event}":' in message.content for message in question.messages)


NEED, FIND = lookup("need_schema", events=["room399.fetch"]), lookup("find_events", words="weaker light")


async def test_very_many_events_are_shown_as_few_schemas_some_lines_and_a_number_of_others(platform: Platform) -> None:
    minds = planner([publish("room007.fetch", shelf="A"), complete({})], offer_tokens=1_500)
    plan = await order(platform, minds, library(), wish="the books of room 7")
    assert await plan.result(timeout=PATIENCE) == {}
    first, second = minds.reasoner.questions  # type: ignore[union-attr]
    assert has_schema(first, "room007.fetch") and compact(first.schema).count('"publish:') == 24
    lines = sum(is_told(first, f"room{n:03}.fetch") for n in range(MANY))
    assert 20 < lines < 80 and f"{MANY + 1 - lines} more actions are not listed" in first.messages[1].content
    assert first.messages[0] == second.messages[0]
    details = await platform.plan(plan.plan_id)
    showing = details.shown[details.decisions[0].shown]
    assert (len(showing.schemas), len(showing.lines), showing.hidden) == (24, lines, MANY + 1 - lines)


def order_of_requests(question: ModelQuestion) -> list[str]:
    schema = json.loads(compact(question.schema))
    return [one["properties"]["action"]["const"] for one in schema["$defs"]["request"]["anyOf"]]


@pytest.mark.skipif(IS_WORST, reason="no order of use is kept here")
async def test_two_plans_of_a_planner_share_the_beginning_and_the_most_used_requests_come_first_in_time(
    platform: Platform,
) -> None:
    script = [NEED, publish("room399.fetch", shelf="A"), complete({}), complete({}), complete({})]
    minds = planner(script, offer_tokens=1_500)
    await (await order(platform, minds, library(), wish="the books of room 7")).result(timeout=PATIENCE)
    await (await platform.submit("order.received", {"wish": "dim the torch"})).result(timeout=PATIENCE)
    await platform.start(stock())
    await (await platform.submit("order.received", {"wish": "dim the torch"})).result(timeout=PATIENCE)
    assert isinstance(minds.reasoner, ScriptedReasoner)
    asked = minds.reasoner.questions
    first, second, third = (order_of_requests(asked[at]) for at in (0, 3, 4))
    assert first[:10] == second[:10] == [f"publish:room{n:03}.fetch" for n in range(10)] and first != second
    assert third[:4] == ["publish:room399.fetch", *first[:3]]


async def test_no_lookup_is_offered_while_all_schemas_fit(platform: Platform) -> None:
    minds = planner([NEED, FIND, complete({})], offer_tokens=100_000)
    plan = await order(platform, minds, library())
    assert await plan.result(timeout=PATIENCE) == {}
    (first, *_) = minds.reasoner.questions  # type: ignore[union-attr]
    assert has_schema(first, "room399.fetch") and has_schema(first, "torch.dim")
    assert "need_schema" not in first.messages[0].content + compact(first.schema)
    assert "find_events" not in first.messages[1].content + compact(first.schema)


async def test_a_lookup_is_shown_charged_and_journalled_and_is_no_refusal(platform: Platform) -> None:
    script = [NEED, FIND, publish("torch.dim", shelf="A"), publish("room399.fetch", shelf="B"), complete({})]
    minds = planner(script, offer_tokens=1_500)
    plan = await order(platform, minds, library(), wish="the books of room 7")
    assert await plan.result(timeout=PATIENCE) == {}
    first, second, third, fourth, _ = minds.reasoner.questions  # type: ignore[union-attr]
    assert [has_schema(one, "room399.fetch") for one in (first, second, third)] == [False, True, True]
    assert [has_schema(one, "torch.dim") for one in (first, second, third)] == [False, False, True]
    assert len(third.messages) == 2 and first.messages[0] == third.messages[0]
    assert has_schema(fourth, "room399.fetch") and has_schema(fourth, "torch.dim"), "a shown schema stays shown"
    details = await platform.plan(plan.plan_id)
    looked, accepted = Verdict.LOOKED_UP, Verdict.ACCEPTED
    assert [entry.verdict for entry in details.decisions] == [looked, looked, accepted, accepted, accepted]
    assert details.usage.llm_calls == 5
    assert await types(platform) == ["order.received", "torch.dim", "room399.fetch"]


async def test_an_event_shown_only_as_a_line_is_refused_and_the_refusal_brings_its_schema(platform: Platform) -> None:
    decision = publish("room399.fetch", shelf="B")
    minds = planner([decision, decision, complete({})], offer_tokens=1_500)
    plan = await order(platform, minds, library(), wish="the books of room 7")
    assert await plan.result(timeout=PATIENCE) == {}
    first, second, _ = minds.reasoner.questions  # type: ignore[union-attr]
    assert not has_schema(first, "room399.fetch") and has_schema(second, "room399.fetch")
    assert "the schema of publish:room399.fetch: <data>{" in second.messages[-1].content
    details = await platform.plan(plan.plan_id)
    assert [entry.verdict for entry in details.decisions] == [Verdict.REFUSED, Verdict.ACCEPTED, Verdict.ACCEPTED]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (lookup("need_schema", events=["no.such.event"]), "None of what you named is offered"),
        (lookup("need_schema", events=["room007.fetch"]), "are shown already"),
        (lookup("find_events", words="zebra"), "Nothing more was found by these words"),
    ],
)
async def test_a_lookup_in_vain_is_reported_to_the_model_and_is_no_refusal(
    platform: Platform, said: Any, told: str
) -> None:
    minds = planner([said, said, complete({})], offer_tokens=1_500)
    plan = await order(platform, minds, library(), wish="the books of room 7")
    assert await plan.result(timeout=PATIENCE) == {}
    for question in minds.reasoner.questions[1:]:  # type: ignore[union-attr]
        assert len(question.messages) == 2 and told in question.messages[1].content
    verdicts = [entry.verdict for entry in (await platform.plan(plan.plan_id)).decisions]
    assert verdicts == [Verdict.LOOKED_UP, Verdict.LOOKED_UP, Verdict.ACCEPTED]


async def test_of_very_many_unseen_events_in_one_answer_few_schemas_are_shown(platform: Platform) -> None:
    several = publish_all(*(publish(f"room{n:03}.fetch", shelf="B") for n in range(300, 330)))
    minds = planner([several, complete({})], offer_tokens=1_500)
    plan = await order(platform, minds, library(), wish="the books of room 7")
    assert await plan.result(timeout=PATIENCE) == {}
    first, second = minds.reasoner.questions  # type: ignore[union-attr]
    more = compact(second.schema).count('"publish:') - compact(first.schema).count('"publish:')
    assert 0 < more <= 8


async def test_a_model_with_lookups_only_fails_its_plan(platform: Platform) -> None:
    minds = planner([NEED] * 9, offer_tokens=1_500)
    plan = await order(platform, minds, library())
    with pytest.raises(PlanFailed, match="3 times you have asked to see more"):
        await plan.result(timeout=PATIENCE)
    assert len(minds.reasoner.questions) == 6  # type: ignore[union-attr]


async def _kill_while_asking(path: Path, clock: VirtualClock, script: list[Any], wish: str) -> None:
    """Kill a process while its model is asked once more; the earlier question is in the journal."""
    hangs = asyncio.Event()

    async def answer(question: ModelQuestion) -> Any:
        if script:
            return script.pop(0)
        hangs.set()
        return await asyncio.Event().wait()

    platform = open_platform(path, clock)
    await platform.__aenter__()
    await order(platform, planner(answer, offer_tokens=1_500), library(), wish=wish)
    await hangs.wait()
    await kill_platform(platform)


async def test_a_refused_guess_stays_refused_though_its_schema_is_shown_by_now(path: Path, clock: VirtualClock) -> None:
    """A guess at the data of an unseen schema is not carried out because the schema is shown by now."""
    await _kill_while_asking(path, clock, [publish("room399.fetch", shelf="guess")], "the books of room 7")
    second = planner([publish("room399.fetch", shelf="B"), complete({"kept": True})], offer_tokens=100_000)
    async with open_platform(path, clock) as again:
        await again.start(second, library())
        await clock.advance(600)
        (asked,) = await wait_for_requests(again, "room399.fetch")
        assert asked.data == {"shelf": "B"}
        first = second.reasoner.questions[0]  # type: ignore[union-attr]
        assert "had not been shown to you" in first.messages[-1].content


async def test_an_accepted_decision_is_not_asked_again_though_other_events_are_likelier(
    path: Path, clock: VirtualClock
) -> None:
    decided = asyncio.Event()
    wish = "dim the light of the hall"

    def deciding(script: list[Any], hang: bool) -> ChoreographyPlanner:
        minds = planner(script, offer_tokens=1_500)

        @minds.on_goal("order.received")
        async def begin(goal: GoalContext, context: PlatformContext) -> None:
            decision = await minds.reason_next_action("The goal came.", context)
            if hang:
                decided.set()
                await asyncio.Event().wait()
            await minds.execute_decision(decision, context)

        return minds

    platform = open_platform(path, clock)
    await platform.__aenter__()
    await order(platform, deciding([publish("torch.dim", shelf="A")], hang=True), library(), wish=wish)
    await decided.wait()
    await kill_platform(platform)
    crowd = [Tool(f"crowd-{n}") for n in range(60)]
    for number, tool in enumerate(crowd):
        name = f"light.hall.dim.{number}"
        tool.on_invoke(name, description="Dim the light of the hall.", payload_schema=SHELF)(_nothing)
    second = deciding([complete({})], hang=False)
    async with open_platform(path, clock) as again:
        await again.start(second, library(), *crowd)
        await clock.advance(600)
        await wait_for_requests(again, "torch.dim")
        questions = second.reasoner.questions  # type: ignore[union-attr]
        assert not any("The goal came." in question.messages[1].content for question in questions)


async def _nothing(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
    return {}
