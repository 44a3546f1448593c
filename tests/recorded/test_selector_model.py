"""A selector's model by name: a choice through the real client over real HTTP."""

import json
from pathlib import Path
from typing import Any

from model_kit import MODEL, in_turn

from soorma_ai import EventSelector, InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.kernel.domain.values import JsonObject
from soorma_ai.testing.model_server import ModelServer, Reply

COUNT: JsonObject = {
    "type": "object",
    "properties": {"sku": {"type": "string"}, "shelf": {"type": "integer"}},
    "required": ["sku"],
    "additionalProperties": False,
}
# The form of a strict provider: null for an unused option.
CHOICE = {"reasoning": "It counts.", "step": {"action": "publish:stock.count", "data": {"sku": "A", "shelf": None}}}
PATIENCE = 60


def guide(model: str, api_base: str | None = None) -> Tool:
    tool = Tool("guide")

    @tool.on_invoke("wish.made")
    async def choose(request: InvocationContext, context: PlatformContext) -> dict[str, Any]:
        selector = EventSelector(context, model=model, api_base=api_base, api_key="none")
        return (await selector.select_event(request.data)).model_dump()

    return tool


def stock() -> Tool:
    tool = Tool("stock")

    @tool.on_invoke("stock.count", payload_schema=COUNT)
    async def count(request: InvocationContext, context: PlatformContext) -> None: ...

    return tool


async def test_an_event_is_chosen_by_the_named_model(tmp_path: Path) -> None:
    with ModelServer(in_turn(Reply(json.dumps(CHOICE)))) as server:
        async with Platform(f"sqlite:///{tmp_path / 'stock.db'}") as platform:
            await platform.start(guide(MODEL, server.url), stock())
            chosen = await platform.request("wish.made", {"count": "A"}, timeout=PATIENCE)
    assert chosen["result"] == {"event_type": "stock.count", "data": {"sku": "A"}, "reasoning": "It counts."}


async def test_an_unknown_model_is_reported_to_the_requester(tmp_path: Path) -> None:
    async with Platform(f"sqlite:///{tmp_path / 'stock.db'}") as platform:
        await platform.start(guide("unknown/model"), stock())
        told = await platform.request("wish.made", {}, timeout=PATIENCE)
    assert told["error"]["code"] == "model_blocked" and "unknown model 'unknown/model'" in told["error"]["message"]
