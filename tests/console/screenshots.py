"""Make the pictures of the console in docs/screenshots: `make screenshots`.

python tests/console/screenshots.py [FOLDER]
"""

import asyncio
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("tests", "tests/flow", "tests/console", ".")]

from browser_kit import chromium  # noqa: E402
from playwright.async_api import Browser, Page, expect  # noqa: E402
from tour_kit import Tour, run_tour  # noqa: E402

SIZES = {"desktop": (1100, 700), "phone": (390, 700)}
SMALL = {"type": "jpeg", "quality": 75}
SCHEMES = ("light", "dark")
# Name, path by the tour's name, and the part of the page.
SHOWN = (
    ("home", "home", ""),
    ("inbox", "inbox", ""),
    ("plan", "waiting", ""),
    ("graph", "plan", "#graph"),
    ("error", "error", ""),
)


async def shoot(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as place:
        async with run_tour(Path(place)) as (_, tour), chromium() as browser:
            for size in SIZES:
                for scheme in SCHEMES:
                    page = await open_page(browser, tour, tour.token, size, scheme)
                    for name, at, place_of in SHOWN:
                        await page.goto(tour.pages[at] + place_of)
                        await page.screenshot(path=folder / f"{name}-{size}-{scheme}.jpg", **SMALL)
                    if size == "desktop" and scheme == "light":
                        await shoot_fault(page, folder / "fault.jpg")
                    page = await open_page(browser, tour, tour.nobodys, size, scheme)
                    await page.screenshot(path=folder / f"empty-{size}-{scheme}.jpg", **SMALL)


async def shoot_fault(page: Page, path: Path) -> None:
    """Shoot an edited payload with an error at its field."""
    await page.goto("/inbox")
    await page.get_by_role("button", name="Edit", exact=True).click()
    amount = page.get_by_label("amount")
    await amount.fill("6000")
    await page.get_by_role("button", name="Approve with changes").click()
    await amount.scroll_into_view_if_needed()
    await page.screenshot(path=path, **SMALL)


async def open_page(browser: Browser, tour: Tour, token: str, size: str, scheme: str) -> Page:
    width, height = SIZES[size]
    context = await browser.new_context(
        java_script_enabled=False,  # pages stand still
        base_url=tour.url,
        color_scheme="dark" if scheme == "dark" else "light",
        viewport={"width": width, "height": height},
    )
    context.set_default_timeout(60_000)
    page = await context.new_page()
    await page.goto("/inbox")
    await page.get_by_label("API key").fill(token)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Inbox")).to_be_visible()
    return page


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "screenshots"
    target.mkdir(parents=True, exist_ok=True)
    asyncio.run(shoot(target))
