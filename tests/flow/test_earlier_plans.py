"""A plan in a session sees the results of the plans before it, with a planner set to look."""

from typing import Any

import pytest
from kit import planner, stock

from soorma_ai import ConfigError, Platform
from soorma_ai.testing.scripted import complete


def prompt_of(agent: Any, number: int) -> str:
    return str(agent.reasoner.questions[number].messages[1].content)


async def test_the_prompt_of_a_follow_up_holds_the_result_of_the_plan_before_it(platform: Platform) -> None:
    agent = planner([complete({"found": "owls"}), complete({}), complete({})], earlier_plans=3)
    await platform.start(agent, stock())
    ada = platform.as_user(tenant_id="default", user_id="ada")
    for number, session in enumerate(("s-1", "s-1", "s-2")):
        plan = await ada.submit("order.received", {"order_id": f"A{number}"}, session_id=session)
        await plan.result(timeout=5)
    assert "earlier in this session" not in prompt_of(agent, 0)
    assert '"found":"owls"' in prompt_of(agent, 1)
    assert "earlier in this session" not in prompt_of(agent, 2)


async def test_a_prompt_holds_nothing_of_its_session_by_default(platform: Platform) -> None:
    agent = planner([complete({"found": "owls"}), complete({})])
    await platform.start(agent, stock())
    for number in range(2):
        plan = await platform.submit("order.received", {"order_id": f"A{number}"}, session_id="s-1")
        await plan.result(timeout=5)
    assert "owls" not in prompt_of(agent, 1)


def test_a_number_below_zero_is_refused() -> None:
    with pytest.raises(ConfigError, match="from 0"):
        planner([], earlier_plans=-1)
