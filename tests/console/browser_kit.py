"""A real browser: an installed Chromium."""

import os
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from playwright.async_api import Browser, ConsoleMessage, Page, async_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 30_000  # milliseconds


def find_chromium() -> str:
    """Return the path of a Chromium; skip the test without one."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("no Chromium here: apt-get install chromium, or name one in CHROMIUM")
    return found


@dataclass
class Tab:
    """A page of its own session. `said` are the faults on its browser's console, except expected error answers."""

    page: Page
    said: list[str] = field(default_factory=list[str])


@asynccontextmanager
async def chromium() -> AsyncGenerator[Browser]:
    path = find_chromium()
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=path, args=["--no-sandbox"])  # as root it has none
        try:
            yield browser
        finally:
            await browser.close()


async def new_tab(browser: Browser, url: str, *, has_script: bool = True) -> Tab:
    context = await browser.new_context(base_url=url, java_script_enabled=has_script)
    context.set_default_timeout(PATIENCE)
    page = await context.new_page()
    tab = Tab(page)
    page.on("console", lambda one: tab.said.append(one.text) if _is_fault(one) else None)
    page.on("pageerror", lambda one: tab.said.append(str(one)))
    return tab


def _is_fault(one: ConsoleMessage) -> bool:
    return one.type in ("error", "warning") and "Failed to load resource" not in one.text
