"""The first window of a page has its essentials, on a desk and on a phone, with and without script."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from axe_kit import violations
from browser_kit import chromium, find_chromium
from console_kit import key_for
from parts_kit import plan_of_parts
from playwright.async_api import Browser, Page, expect
from question_kit import WIDE, questions_of_many_kinds
from tour_kit import served

from soorma_ai import Platform, PlatformContext, TaskContext, Worker

SIZES = ((1280, 800), (390, 844))
DECIDING = (".sentence", "[data-payload] > div", "[data-reason]", ".bar textarea", ".bar button")
FIELDS = 10
# Elements beyond the window, or below the bar; hidden ones are left out.
OUTSIDE = """selectors => {
    const bar = document.querySelector(".bar")?.getBoundingClientRect();
    const shown = selectors.flatMap((one) => [...document.querySelectorAll(one)])
        .filter((one) => one.checkVisibility());
    const isOut = (one) => {
        const { top, bottom, left, right } = one.getBoundingClientRect();
        const end = one.closest(".bar") || !bar ? innerHeight : bar.top;
        return top < 0 || bottom > end + 0.5 || left < 0 || right > innerWidth + 0.5;
    };
    return shown.filter(isOut).map((one) => one.className + " " + one.textContent.slice(0, 80));
}"""


@dataclass
class Console:
    """A console with questions; `local` is its address without sign-in, with a notice of it on each page."""

    url: str
    token: str
    local: str
    questions: dict[str, str]


@pytest.fixture
async def console(tmp_path: Path) -> AsyncIterator[Console]:
    find_chromium()
    async with Platform(f"sqlite:///{tmp_path / 'view.db'}") as platform:
        questions = await questions_of_many_kinds(platform)
        token = await key_for(platform, "maria", "manager", "operator")
        async with served(platform) as url, served(platform, is_open=True) as local:
            yield Console(url, token, local, questions)


async def sign_in_with(browser: Browser, console: Console, size: tuple[int, int], *, has_script: bool = True) -> Page:
    width, height = size
    context = await browser.new_context(
        base_url=console.url, java_script_enabled=has_script, viewport={"width": width, "height": height}
    )
    context.set_default_timeout(30_000)
    page = await context.new_page()
    await page.goto("/sign-in")
    await page.get_by_label("API key").fill(console.token)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("navigation", name="Console")).to_be_visible()
    return page


@pytest.mark.parametrize("size", SIZES, ids=["desk", "phone"])
async def test_the_facts_and_buttons_of_a_decision_are_in_the_first_window(
    console: Console, size: tuple[int, int]
) -> None:
    outside: dict[str, list[str]] = {}
    async with chromium() as browser:
        page = await sign_in_with(browser, console, size)
        for name, wait_id in console.questions.items():
            for url in (console.url, console.local):
                await page.goto(f"{url}/inbox/{wait_id}")
                outside[f"{name} at {url}"] = await page.evaluate(OUTSIDE, [*DECIDING])
                if url == console.url or name == "forty long fields":
                    assert await page.locator(".bar button:visible").count() > 0, name
        assert {name: found for name, found in outside.items() if found} == {}
        await page.goto(f"/inbox/{console.questions['forty long fields']}")
        assert await page.locator("[data-payload] > div").count() == FIELDS
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


async def test_axe_finds_no_fault_on_the_page_of_a_question(console: Console) -> None:
    found: dict[str, list[str]] = {}
    async with chromium() as browser:
        page = await sign_in_with(browser, console, SIZES[0])
        for scheme in ("light", "dark"):
            await page.emulate_media(color_scheme=scheme)
            for name, wait_id in console.questions.items():
                await page.goto(f"/inbox/{wait_id}")
                await page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
                found[f"{name}, {scheme}"] = await violations(page)
    assert {name: said for name, said in found.items() if said} == {}


async def test_a_payload_is_edited_and_approved_without_script_by_keys_alone(console: Console) -> None:
    async with chromium() as browser:
        page = await sign_in_with(browser, console, SIZES[1], has_script=False)
        await page.goto(f"/inbox/{console.questions['of a plan']}")
        await page.get_by_label("Note").fill("as agreed")
        await page.get_by_role("button", name="Edit", exact=True).press("Enter")
        amount = page.get_by_label("amount")
        await expect(amount).to_be_visible()
        await expect(page.get_by_label("Note")).to_have_value("as agreed")
        await amount.fill("1500")
        await page.get_by_role("button", name="Approve with changes").press("Enter")
        await expect(page.get_by_text("Your answer was recorded")).to_be_visible()
        await expect(page.get_by_text("Note: as agreed")).to_be_visible()


@pytest.mark.parametrize("ends", [False, True], ids=["running", "ended"])
async def test_a_plan_of_two_hundred_parts_is_three_windows_high_with_its_progress_in_the_first(
    tmp_path: Path, *, ends: bool
) -> None:
    find_chromium()
    words = "199 of 200 done, 1 failed" if ends else "30 of 200 done, 8 running, 1 failed"
    async with Platform(f"sqlite:///{tmp_path / 'parts.db'}") as platform:
        plan_id = await plan_of_parts(platform, ends=ends)
        token = await key_for(platform, "maria", "operator")
        async with served(platform) as url, chromium() as browser:
            for size in SIZES:
                page = await sign_in_with(browser, Console(url, token, "", {}), size)
                await page.goto(f"/plans/{plan_id}")
                await expect(page.get_by_role("heading", name="Load sales")).to_be_visible()
                await expect(page.get_by_text(words)).to_be_visible()
                assert await page.evaluate(OUTSIDE, [".progress", ".ends h2", ".ends .payload"]) == []
                assert await page.evaluate("document.documentElement.scrollHeight <= 3 * innerHeight")
                assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
                assert await violations(page) == []
                await page.goto("/plans")
                await expect(page.get_by_role("link", name="Load sales")).to_be_visible()


async def test_a_request_has_its_progress_in_the_first_window_and_is_cancelled_without_script(tmp_path: Path) -> None:
    find_chromium()
    started, worker = asyncio.Event(), Worker("painter")

    @worker.on_task("paint.requested")
    async def paint(task: TaskContext[Any], context: PlatformContext) -> None:
        await task.report_progress(0.25, "first coat " + "w" * 300)
        started.set()
        await asyncio.Event().wait()

    async with Platform(f"sqlite:///{tmp_path / 'requests.db'}") as platform:
        await platform.start(worker)
        request_id = await platform.ask("paint.requested", WIDE)
        await started.wait()
        token = await key_for(platform, "maria", "operator")
        async with served(platform) as url, chromium() as browser:
            for size in SIZES:
                page = await sign_in_with(browser, Console(url, token, "", {}), size, has_script=size == SIZES[0])
                for path in ("/requests", f"/requests/{request_id}"):
                    await page.goto(path)
                    await expect(page.get_by_text("25% first coat")).to_be_visible()
                    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
                    assert size != SIZES[0] or await violations(page) == []
                assert await page.evaluate(OUTSIDE, [".head", ".facts", ".progress"]) == []
            await page.get_by_label("Reason").fill("a mistake")
            await page.get_by_role("button", name="Cancel the request").press("Enter")
            await expect(page.get_by_text("The request is cancelled.")).to_be_visible()
            assert (await platform.reply(request_id))["error"]["message"] == "a mistake"
