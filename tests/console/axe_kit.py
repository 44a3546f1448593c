"""Checks of a page by axe-core."""

import json
from collections.abc import Collection
from importlib import import_module
from pathlib import Path

from playwright.async_api import Page

AXE = Path(str(import_module("axe_playwright_python").__file__)).with_name("axe.min.js")
EVERY = ("minor", "moderate", "serious", "critical")


async def violations(page: Page, impacts: Collection[str] = EVERY) -> list[str]:
    """Return violations of these impacts, by rule and place."""
    await page.evaluate(AXE.read_text(encoding="utf-8"))
    found = json.loads(await page.evaluate("async () => JSON.stringify((await axe.run()).violations)"))
    return [
        f"{one['id']}: {node['html'][:200]}" for one in found if one["impact"] in impacts for node in one["nodes"][:3]
    ]
