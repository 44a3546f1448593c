"""A planner's model by name: a whole plan through the real client over real HTTP."""

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from model_kit import MODEL, always, in_turn

from soorma_ai import (
    ChoreographyPlanner,
    GoalContext,
    InvocationContext,
    PlanFailed,
    Planner,
    Platform,
    PlatformContext,
    Tool,
)
from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.schemas import violations
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.testing.model_server import ModelServer, Reply
from soorma_ai.testing.scripted import complete

NOTHING: JsonObject = {"default_next": None, "outcome": None, "result": None}
# The form of a strict provider: every option, null if unused.
PLAN: JsonObject = {
    "reasoning": "It is counted, and that is all.",
    "initial_state": "counting",
    "states": [
        {
            "state_name": "counting",
            "description": "",
            "action": {"event_type": "stock.count", "data": {"sku": "A", "shelf": None}, "timeout_seconds": None},
            "transitions": [{"on_event": "stock.count.completed", "to_state": "done", "condition": None}],
            "is_terminal": False,
            **NOTHING,
        },
        {
            **NOTHING,
            "state_name": "done",
            "description": "",
            "action": None,
            "transitions": [],
            "is_terminal": True,
            "result": "{results.counting.count}",
        },
    ],
}
COUNT: JsonObject = {
    "type": "object",
    "properties": {"sku": {"type": "string"}, "shelf": {"type": "integer"}},
    "required": ["sku"],
    "additionalProperties": False,
}


def counter(api_base: str | None = None) -> Planner:
    planner = Planner("counter", reasoning_model=MODEL, api_base=api_base, temperature=0.0)

    @planner.on_goal("stock.known")
    async def begin(goal: GoalContext, context: PlatformContext) -> None:
        plan = await planner.create_plan(goal, await context.registry.discover([]), context)
        await plan.execute_next()

    return planner


async def test_a_plan_is_drawn_by_the_named_model(tmp_path: Path) -> None:
    stock = Tool("stock")

    @stock.on_invoke("stock.count", payload_schema=COUNT)
    async def count(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        return {"count": 3 if request.data == {"sku": "A"} else 0}

    with ModelServer(in_turn(Reply(json.dumps(PLAN)))) as server:
        async with Platform(f"sqlite:///{tmp_path / 'stock.db'}") as platform:
            await platform.start(counter(server.url), stock)
            plan = await platform.submit("stock.known", {})
            assert await plan.result(timeout=30) == 3
    (request,) = server.requests
    shown = request["response_format"]["json_schema"]
    assert (shown["strict"], request["temperature"]) == (True, 0.0)
    assert violations(shown["schema"], PLAN) == []


@pytest.mark.parametrize(("finish_reasons", "plan_ends"), [((), "failed"), (["done"], "completed")])
async def test_a_planners_finish_reasons_decide_on_good_endings(
    tmp_path: Path, finish_reasons: Sequence[str], plan_ends: str
) -> None:
    said = Reply(json.dumps(complete({"ok": True})), finish="done")
    with ModelServer(always(said)) as server:
        kept = {"api_base": server.url, "finish_reasons": finish_reasons}
        events = {"goals": ["g.wanted"], "external_events": ["x.came"]}
        minds = ChoreographyPlanner("minds", reasoning_model=MODEL, **events, **kept)
        async with Platform(f"sqlite:///{tmp_path / 'minds.db'}") as platform:
            await platform.start(minds)
            plan = await platform.submit("g.wanted", {})
            with suppress(PlanFailed):
                await plan.result(timeout=30)
            details = await platform.plan(plan.plan_id)
    assert details.status == plan_ends
    assert (details.reason is None) or "'done'" in details.reason
    assert len(server.requests) == (1 if finish_reasons else 2)


async def test_a_model_without_a_key_is_refused_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    async with Platform(f"sqlite:///{tmp_path / 'stock.db'}") as platform:
        with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
            await platform.start(counter())
