"""A large result is shown in outline: the model refers to it by its path, or looks at a part of it."""

from typing import Any

import pytest
from kit import PATIENCE, order, planner, published_events
from unit.material import obj

from soorma_ai import InvocationContext, PlanFailed, Platform, PlatformContext, Tool
from soorma_ai.kernel.domain.history import Verdict
from soorma_ai.kernel.domain.values import compact
from soorma_ai.testing.scripted import complete, publish, publish_all

ROWS = [{"id": number, "text": f"row {number}"} for number in range(2_000)]
LIST = obj({"rows": {"type": "array", "items": {"type": "object"}}}, "rows", additionalProperties=False)
ASK = publish("rows.list")


def archive(taken: list[Any]) -> Tool:
    tool = Tool("archive")

    @tool.on_invoke("rows.list")
    async def list_rows(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        return {"rows": ROWS, "$from": "step1.result"}

    @tool.on_invoke("rows.keep", payload_schema=LIST)
    async def keep(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        taken.append(request.data["rows"])
        return {"kept": len(request.data["rows"])}

    return tool


def look(path: str) -> dict[str, Any]:
    return {"reasoning": "", "step": {"action": "see_result", "path": path}}


@pytest.mark.parametrize(
    ("decision", "taken"),
    [
        (publish("rows.keep", rows={"$from": "step2.result.rows"}), [ROWS]),
        (publish("rows.keep", rows=[{"$from": "step2.result.rows[7]"}, {"id": 1}]), [[ROWS[7], {"id": 1}]]),
        (
            publish_all(
                publish("rows.keep", rows={"$from": "step2.result.rows[0:2]"}),
                publish("rows.keep", rows={"$from": "step2.result.rows[1990:]"}),
            ),
            [ROWS[:2], ROWS[1990:]],
        ),
    ],
)
async def test_a_large_result_is_handed_on_without_passing_through_the_model(
    platform: Platform, decision: dict[str, Any], taken: list[Any]
) -> None:
    came: list[Any] = []
    minds = planner([ASK, decision, complete({"first": {"$from": "step2.result.rows[0]"}})])
    plan = await order(platform, minds, archive(came))
    assert await plan.result(timeout=PATIENCE) == {"first": ROWS[0]}
    assert sorted(came, key=compact) == sorted(taken, key=compact)
    second = minds.reasoner.questions[1]  # type: ignore[union-attr]
    assert "step2, in outline: <data>" in second.messages[1].content
    assert "row 1999" not in second.messages[1].content and len(second.messages[1].content) < 8_000
    for event in (await published_events(platform))[2:]:
        assert "$from" not in event.data, "the value itself is published"


async def test_a_part_of_a_large_result_is_shown_on_request(platform: Platform) -> None:
    minds = planner([ASK, look("step2.result.rows[1500:1502]"), complete({})])
    plan = await order(platform, minds, archive([]))
    assert await plan.result(timeout=PATIENCE) == {}
    asked, _, told = minds.reasoner.questions  # type: ignore[union-attr]
    assert "see_result" not in compact(asked.schema) and "see_result" in compact(told.schema)
    assert "row 1501" in told.messages[1].content and "row 1502" not in told.messages[1].content
    verdicts = [entry.verdict for entry in (await platform.plan(plan.plan_id)).decisions]
    assert verdicts == [Verdict.ACCEPTED, Verdict.LOOKED_UP, Verdict.ACCEPTED]


async def test_a_part_of_a_large_result_is_found_by_words(platform: Platform) -> None:
    find = {"reasoning": "", "step": {"action": "find_steps", "words": "row 1501"}}
    minds = planner([ASK, find, complete({"text": {"$from": "step2.result.rows[1501].text"}})])
    plan = await order(platform, minds, archive([]))
    assert await plan.result(timeout=PATIENCE) == {"text": "row 1501"}
    told = minds.reasoner.questions[-1].messages[1].content  # type: ignore[union-attr]
    assert '"at":"step2.result.rows[1501]"' in told


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (publish("rows.keep", rows={"$from": "step9.result"}), "there is no step9.result"),
        (publish("rows.keep", rows={"$from": "step2.result.columns"}), "there is no step2.result.columns"),
        (publish("rows.keep", rows={"$from": "step2.result.rows[0]"}), "does not match its schema"),
        (publish("rows.keep", rows={"$from": "step2.result.rows", "x": 1}), "stands beside"),
        (publish("rows.keep", data={"$from": "step2.result.rows"}), "data must be an object"),
        (look("step2.result.rows[9999]"), "a list of 2000, from [0] to [1999]"),
        (look("the rows"), "is no reference"),
    ],
)
async def test_a_reference_in_vain_is_refused_with_its_reason(platform: Platform, bad: Any, told: str) -> None:
    minds = planner([ASK, bad, complete({})])
    plan = await order(platform, minds, archive([]))
    assert await plan.result(timeout=PATIENCE) == {}
    assert told in minds.reasoner.questions[-1].messages[-1].content  # type: ignore[union-attr]


async def test_no_plan_sees_the_results_of_another(platform: Platform) -> None:
    """Steps are numbered per plan: the number of another plan's result means nothing here."""
    first = planner([ASK, complete({})])
    await (await order(platform, first, archive([]))).result(timeout=PATIENCE)
    second = planner([complete({"x": {"$from": "step2.result"}})] * 3, name="other", goals=["other.goal"])
    await platform.start(second)
    plan = await platform.submit("other.goal", {})
    with pytest.raises(PlanFailed, match=r"there is no step2\.result"):
        await plan.result(timeout=PATIENCE)
