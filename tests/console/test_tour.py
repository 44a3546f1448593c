"""Every page in a real browser: accessible, without messages on the browser's console, and usable by keyboard alone."""

from pathlib import Path
from typing import Any

import pytest
from axe_kit import violations
from browser_kit import Tab, chromium, find_chromium, new_tab
from console_kit import ask, open_browser, site
from playwright.async_api import Browser, expect
from starlette.routing import compile_path
from tour_kit import Tour, run_tour

from soorma_ai.apps.console.app import ROUTES

# Other answers than pages: a download, or a page of the API.
NO_PAGES = ("/payload", ".ndjson", "/v1/answers/{token}")
MOST_TABS = 60
HIDE = """hidden => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


async def sign_in(browser: Browser, tour: Tour, token: str, **options: Any) -> Tab:
    tab = await new_tab(browser, tour.url, **options)
    await tab.page.goto("/inbox")
    await expect(tab.page.get_by_label("API key")).to_be_focused()
    await tab.page.keyboard.type(token)
    await tab.page.keyboard.press("Enter")
    await expect(tab.page.get_by_role("heading", name="Inbox")).to_be_visible()
    return tab


# Twenty pages, each judged: a busy machine needs its time.
@pytest.mark.timeout(400)
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_every_page_is_accessible_and_logs_no_fault_in_the_browser(tmp_path: Path, scheme: Any) -> None:
    find_chromium()
    async with run_tour(tmp_path) as (_, tour), chromium() as browser:
        found: dict[str, list[str]] = {}
        tab = await new_tab(browser, tour.url)
        await tab.page.emulate_media(color_scheme=scheme)
        await tab.page.goto("/sign-in")
        found["sign in"] = await violations(tab.page)
        tab = await sign_in(browser, tour, tour.token)
        await tab.page.emulate_media(color_scheme=scheme)
        for name, path in tour.pages.items():
            await tab.page.goto(path)
            found[name] = await violations(tab.page)
        empty = await sign_in(browser, tour, tour.nobodys)
        found["empty"] = await violations(empty.page)
        assert {name: said for name, said in found.items() if said} == {}
        assert tab.said == empty.said == []


async def test_the_tour_visits_every_page_and_each_works_without_script(tmp_path: Path) -> None:
    wanted = {route.path for route in ROUTES if route.method == "GET" and not route.path.endswith(NO_PAGES)}
    assert len(wanted) > 10
    async with run_tour(tmp_path) as (platform, tour), open_browser(site(platform)) as browser:
        await browser.sign_in(tour.token)
        for name, path in tour.pages.items():
            answer = (await browser.open(path)).page
            assert answer.status_code == (404 if name == "error" else 200), name
            assert "<h1" in answer.text, name
            wanted -= {pattern for pattern in wanted if compile_path(pattern)[0].match(path.partition("?")[0])}
    assert wanted == set()


async def test_a_question_is_approved_by_keyboard_alone_and_a_hidden_tab_catches_up(tmp_path: Path) -> None:
    find_chromium()
    async with run_tour(tmp_path) as (platform, tour), chromium() as browser:
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


async def test_a_list_opened_by_a_link_shows_a_new_question_after_half_a_minute_and_keeps_the_focus(
    tmp_path: Path,
) -> None:
    find_chromium()
    async with run_tour(tmp_path) as (platform, tour), chromium() as browser:
        tab = await new_tab(browser, tour.url)
        await tab.page.clock.install()
        await tab.page.goto(tour.pages["questions by a link"])
        before = int(await tab.page.locator(".count").inner_text())
        await tab.page.locator("#main").focus()
        await ask(platform, order_id="4714")
        await tab.page.clock.run_for(30_000)
        await expect(tab.page.locator(".count")).to_have_text(str(before + 1))
        await expect(tab.page.locator("#main")).to_be_focused()
        assert tab.said == []
