"""Every page in a real browser: that all can use it, that it says nothing to its console, and that keys are enough."""

from pathlib import Path
from typing import Any

from axe_kit import violations
from browser_kit import Tab, chromium, find_chromium, new_tab
from playwright.async_api import Browser, expect
from tour_kit import Tour, touring

WORST = ("serious", "critical")
MOST_TABS = 60
HIDE = """hidden => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


async def sign_in(browser: Browser, tour: Tour, token: str, **options: Any) -> Tab:
    tab = await new_tab(browser, tour.url, **options)
    await tab.page.goto("/inbox")
    await tab.page.keyboard.type(token)
    await tab.page.keyboard.press("Enter")
    await expect(tab.page.get_by_role("heading", name="Inbox")).to_be_visible()
    return tab


async def test_no_page_shuts_anybody_out_and_none_complains(tmp_path: Path) -> None:
    find_chromium()
    async with touring(tmp_path) as (_, tour), chromium() as browser:
        found: dict[str, list[str]] = {}
        tab = await new_tab(browser, tour.url)
        await tab.page.goto("/sign-in")
        found["sign in"] = await violations(tab.page, WORST)
        tab = await sign_in(browser, tour, tour.token)
        for scheme in ("light", "dark"):
            await tab.page.emulate_media(color_scheme=scheme)
            for name, path in tour.pages.items():
                await tab.page.goto(path)
                found[f"{name}, {scheme}"] = await violations(tab.page, WORST)
        empty = await sign_in(browser, tour, tour.nobodys)
        found["empty"] = await violations(empty.page, WORST)
        assert {name: said for name, said in found.items() if said} == {}
        assert tab.said == empty.said == []


async def test_from_the_sign_in_to_a_yes_by_the_keyboard_alone_and_a_hidden_tab_catches_up(tmp_path: Path) -> None:
    find_chromium()
    async with touring(tmp_path) as (platform, tour), chromium() as browser:
        tab = await sign_in(browser, tour, tour.token)
        page = tab.page
        sentence = await page.locator(".sentence").inner_text()
        for _ in range(MOST_TABS):
            await page.keyboard.press("Tab")
            if await page.evaluate("document.activeElement.id") == "approve":
                break
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("Your answer was recorded")).to_be_visible()
        assert sentence not in [wait.message for wait in await platform.waits()] or "4711" in sentence

        await page.goto("/inbox")
        await expect(page.locator(".count")).to_have_text("2")
        async with page.expect_event("requestfailed", lambda one: "/live" in one.url):
            await page.evaluate(HIDE, True)
        for wait in await platform.waits():
            await platform.answer(wait.wait_id, {"approved": True})
        async with page.expect_request(lambda one: "/live" in one.url):
            await page.evaluate(HIDE, False)
        await expect(page.locator(".count")).to_have_text("0")
        assert tab.said == []
