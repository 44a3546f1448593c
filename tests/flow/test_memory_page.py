"""The programs of the page about memory work as written."""

import re
from pathlib import Path
from typing import Any

import pytest
from kit import PATIENCE

from soorma_ai import Platform
from soorma_ai.features.upkeep.commands.forget import forget

PAGE = (Path(__file__).parents[2] / "docs" / "memory.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def page_names() -> dict[str, Any]:
    """The names defined by the page's programs."""
    found: dict[str, Any] = {}
    for block in BLOCKS:
        exec(compile(block, "memory.md", "exec"), found)
    return found


async def test_the_worker_of_the_page_keeps_and_finds(platform: Platform, page_names: dict[str, Any]) -> None:
    await platform.memory.store_knowledge("Refunds take 14 days.", tags=["policy"], shared=True)
    await platform.memory.store_skill("polite", "Say please.", when_to_use="refunds", shared=True)
    await platform.start(page_names["desk"])
    reply = await platform.request("question.asked", {"text": "how long does a refund take?"}, timeout=PATIENCE)
    assert reply["result"] == {"rules": ["Say please."], "known": ["Refunds take 14 days."]}
    assert [memo.title for memo in await platform.memory.get_recent_history("desk")] == ["user"]
    kept = await platform.memory.get_knowledge("last question")
    assert kept is not None and kept.expires_at is not None


async def test_the_embedder_and_the_planner_of_the_page_are_made(page_names: dict[str, Any]) -> None:
    assert await page_names["ByFunction"]("one", page_names["embed"]).embed(["tee"]) == [[3.0, 2.0, 1.0]]
    assert await page_names["ByFunction"]("two", lambda texts: [[1.0]] * len(texts)).embed(["a", "b"]) == [[1.0], [1.0]]
    assert page_names["orders"].settings.recall.args[0].tokens == 800


def test_the_page_names_every_call_and_the_command_names_the_data_it_keeps() -> None:
    from soorma_ai.features.knowledge.service import PersonMemos

    for name in vars(PersonMemos):
        assert name.startswith("_") or f"`{name}`" in PAGE
    told = " ".join((forget.help or "").split())
    for what in ("audit", "API keys", "shared", "backups"):
        assert what in told and what in PAGE
