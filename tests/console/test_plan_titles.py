"""Titles of plans, from the option of a planner to the pages."""

import pytest
from console_kit import key_for, open_browser, site
from kit import planner, stock

from soorma_ai import ConfigError, Platform
from soorma_ai.testing.scripted import complete


async def test_a_plan_has_the_title_of_its_goal_data_in_lists_and_on_its_page(platform: Platform) -> None:
    refunds = planner([complete({"refunded": 80})] * 2, name="refunds", title="Refund {ticket_id}")
    await platform.start(refunds, stock())
    titled = await platform.submit("order.received", {"ticket_id": "T-1"})
    await titled.result(timeout=5)
    other = await platform.submit("order.received", {"other": 1})
    await other.result(timeout=5)
    newest = (await platform.tracker.plans()).plans
    assert [one.title for one in newest] == ["", "Refund T-1"]
    assert [one.result for one in newest] == ['{"refunded": 80}'] * 2
    async with open_browser(site(platform)) as browser:
        await browser.sign_in(await key_for(platform, "maria", "operator"))
        await browser.open("/plans")
        assert "Refund T-1 order.received · refunds" in browser.text
        assert '{"refunded": 80}' in browser.text
        await browser.open(f"/plans/{titled.plan_id}")
        assert "<title>Refund T-1 · plan" in browser.page.text
        assert "Goal ticket_id T-1 Result refunded 80" in browser.text


def test_a_title_of_another_type_than_text_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"title=5: give text, as 'Refund \{ticket_id\}'"):
        planner([], title=5)
