"""The versions of its planner and its prompt stay with a plan, so that an old plan is understood after both have
changed."""

from pathlib import Path

import pytest
from kit import order, planner, stock, wait_for_end

from soorma_ai import Platform
from soorma_ai.adapters.prompts import PromptFiles, packaged_prompts
from soorma_ai.errors import ConfigError
from soorma_ai.kernel.domain.history import DECIDE
from soorma_ai.settings import PROMPTS_DIR
from soorma_ai.testing.clock import VirtualClock
from soorma_ai.testing.scripted import complete, publish


async def test_a_plan_records_the_version_of_its_planner_and_its_prompt(platform: Platform) -> None:
    handle = await order(
        platform, planner([publish("inventory.reserve.requested", order_id="A1")], version="2.1.0"), stock()
    )
    plan = await wait_for_end(platform, handle.plan_id)
    entry = plan.decisions[0]
    assert plan.agent_version == "2.1.0"
    assert plan.prompt == f"{entry.prompt_id} {entry.prompt_version} {entry.prompt_hash[:8]}"


async def test_a_plan_with_a_broken_prompt_fails_without_a_prompt_version(
    path: Path, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = path.parent / f"{DECIDE}.md.j2"
    broken.parent.mkdir()
    broken.write_text("no front matter")
    monkeypatch.setenv(PROMPTS_DIR, str(path.parent))
    async with Platform(f"sqlite:///{path}", clock=clock) as platform:
        handle = await order(platform, planner([complete()]), stock())
        plan = await wait_for_end(platform, handle.plan_id)
    assert (plan.status, plan.prompt) == ("failed", "")
    assert "is no prompt" in str(plan.reason)


def test_a_label_names_the_text_and_not_only_its_version(tmp_path: Path) -> None:
    text = (packaged_prompts() / f"{DECIDE}.md.j2").read_text()
    edited = tmp_path / f"{DECIDE}.md.j2"
    edited.parent.mkdir()
    edited.write_text(f"{text}\n")
    one, other = PromptFiles().label(DECIDE), PromptFiles(tmp_path).label(DECIDE)
    assert one.split()[:2] == other.split()[:2] == [DECIDE, "10"]
    assert one != other
    with pytest.raises(ConfigError, match="no prompt"):
        PromptFiles().label("planner/unknown")
