"""The console in a real browser: live, by keys, and with two people at one question."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from browser_kit import Tab, chromium, find_chromium, new_tab
from console_kit import key_for, shop, site
from playwright.async_api import Browser, expect

from soorma_ai import Platform
from soorma_ai.api.server.serve import listen, serve, url_of


@pytest.fixture
async def platform(tmp_path: Path) -> AsyncIterator[Platform]:
    find_chromium()
    async with Platform(f"sqlite:///{tmp_path / 'console.db'}") as opened:
        yield opened


@pytest.fixture
async def url(platform: Platform) -> AsyncIterator[str]:
    stop, has_begun = asyncio.Event(), asyncio.Event()
    listener = listen("127.0.0.1", 0, is_open=False)
    address = url_of(listener)
    serving = asyncio.create_task(serve(site(platform), listener, stop, has_begun.set))
    await has_begun.wait()
    yield address
    stop.set()
    await serving


async def sign_in(browser: Browser, url: str, token: str, *, has_script: bool = True) -> Tab:
    tab = await new_tab(browser, url, has_script=has_script)
    await tab.page.goto("/inbox")
    await expect(tab.page.get_by_label("API key")).to_be_focused()
    await tab.page.keyboard.type(token)
    await tab.page.keyboard.press("Enter")
    await expect(tab.page.get_by_role("heading", name="Inbox")).to_be_visible()
    return tab


async def test_a_question_appears_live_and_is_edited_and_approved_by_keyboard(platform: Platform, url: str) -> None:
    charged: list[float] = []
    await platform.start(*shop(charged))
    async with AsyncExitStack() as stack:
        browser = await stack.enter_async_context(chromium())
        tab = await sign_in(browser, url, await key_for(platform, "maria", "manager", "operator"))
        page = tab.page
        await expect(page.get_by_text("No open questions")).to_be_visible()
        plan = await platform.submit("order.received", {"order_id": "4711"})
        await expect(page.get_by_role("heading", name="Pay 1,840 $ to ACME Tools for order 4711")).to_be_visible()
        await expect(page).to_have_title("(1) Inbox · Soorma")
        await expect(page.locator(":focus")).to_have_count(0)

        await page.keyboard.press("a")
        await expect(page.get_by_role("button", name="Approve", exact=True)).to_be_focused()
        await page.keyboard.press("e")
        amount = page.get_by_label("amount")
        await expect(page.get_by_label("order_id")).to_be_focused()
        await amount.fill("6000")
        await amount.press("Enter")  # it decides nothing
        await expect(page.get_by_text("Choose one of the buttons")).to_be_visible()
        await expect(amount).to_have_value("6000")
        await page.get_by_role("button", name="Approve with changes").press("Enter")
        await expect(page.get_by_text("6000 is greater than the maximum of 5000")).to_be_visible()
        await expect(amount).to_have_attribute("aria-invalid", "true")
        await amount.fill("1500")
        await page.get_by_role("button", name="Approve with changes").press("Enter")
        await expect(page.get_by_text("Your answer was recorded")).to_be_visible()
        await expect(page.get_by_text("No open questions")).to_be_visible()
        await plan.result(timeout=5)
        assert (charged, tab.said) == ([1500], [])


async def test_the_second_of_two_browsers_gets_the_first_persons_name(platform: Platform, url: str) -> None:
    await platform.start(*shop())
    await platform.submit("order.received", {"order_id": "4711"})
    async with chromium() as browser:
        tabs = [
            await sign_in(browser, url, await key_for(platform, name, "manager", "operator"), has_script=has_script)
            for name, has_script in (("maria", True), ("bob", False))
        ]
        maria, bob = (tab.page for tab in tabs)
        await bob.reload()
        await expect(maria.get_by_role("button", name="Approve", exact=True)).to_be_visible()
        await bob.get_by_label("Note").fill("too much")
        await maria.get_by_role("button", name="Approve", exact=True).click()
        await expect(maria.get_by_text("Your answer was recorded")).to_be_visible()
        await bob.get_by_role("button", name="Reject").click()
        await expect(bob.get_by_text("maria was first: approve at")).to_be_visible()
        assert [tab.said for tab in tabs] == [[], []]
