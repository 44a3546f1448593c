"""The console's pages about clients' requests, without a browser."""

import asyncio
import html
import re
from typing import Any

import pytest
from browsing_kit import browser_of, open_browser
from kit import PATIENCE, payments, stock

from soorma_ai import Approval, Held, Platform, PlatformContext, TaskContext, Worker
from soorma_ai.apps.console.pages import requests

CHARGE = "payment.charge.requested"
RESERVE = "inventory.reserve.requested"
HOSTILE = '<script>alert(1)</script>"\u202e' + "x" * 5_000


async def held_request(platform: Platform, user: str = "ann") -> str:
    """Make a user's request, and return its id once it waits for a manager."""
    person = platform.as_user(tenant_id="default", user_id=user)
    with pytest.raises(Held) as found:
        await person.ask(CHARGE, {"amount": 7})
    return found.value.request_id


def painter(started: asyncio.Event, go_on: asyncio.Event) -> Worker:
    worker = Worker("painter")

    @worker.on_task("paint.requested")
    async def paint(task: TaskContext, context: PlatformContext) -> None:
        await task.report_progress(0.25, "first coat")
        started.set()
        await go_on.wait()
        await task.complete({"color": "red"})

    return worker


async def test_open_requests_are_listed_with_progress_and_one_is_shown_with_data_and_reply(platform: Platform) -> None:
    started, go_on = asyncio.Event(), asyncio.Event()
    await platform.start(painter(started, go_on), stock())
    request_id = await platform.ask("paint.requested", {"wall": "north"})
    await started.wait()
    async with open_browser(platform) as browser:
        page = await browser.look("/requests")
        assert f'href="/requests/{request_id}"' in page and "25% first coat" in page and "painter" in page
        page = await browser.look(f"/requests/{request_id}")
        assert "north" in page and "25% first coat" in page and "No reply yet" in page
        assert f"soorma requests cancel {request_id}" in page
        go_on.set()
        await platform.reply(request_id, timeout=PATIENCE)
        page = await browser.look(f"/requests/{request_id}")
        assert 'class="status completed"' in page and "red" in page and "Cancel the request" not in page
        assert "No open requests" in await browser.look("/requests")
        failed = await platform.ask(RESERVE, {"order_id": "none-left"})
        await platform.reply(failed, timeout=PATIENCE)
        page = await browser.look(f"/requests/{failed}")
        assert 'class="status failed"' in page and "no stock" in page and "out_of_stock" in page


async def test_a_request_is_cancelled_once_with_a_reason(platform: Platform) -> None:
    await platform.start(payments(Approval(when="true", approvers=("manager",))))
    request_id = await held_request(platform)
    async with open_browser(platform) as browser:
        page = await browser.look(f"/requests/{request_id}")
        assert 'class="status held"' in page and re.search(r'href="/inbox/[^"]+">Waits for an approval', page)
        page = await browser.send(f"/requests/{request_id}/cancel", reason="a mistake")
        assert requests.DONE["cancelled"] in page and 'class="status cancelled"' in page and "a mistake" in page
        assert requests.DONE["ended"] in await browser.send(f"/requests/{request_id}/cancel", reason="again")
    reply = await platform.as_user(tenant_id="default", user_id="ann").reply(request_id, timeout=PATIENCE)
    assert reply["error"] == {"code": "cancelled", "message": "a mistake"}


async def test_users_see_their_own_requests_and_auditors_see_all_and_cancel_none(platform: Platform) -> None:
    await platform.start(payments(Approval(when="true", approvers=("manager",))))
    request_id = await held_request(platform)
    async with browser_of(platform, "default", "ann") as ann:
        assert f'href="/requests/{request_id}"' in await ann.look("/requests")
        assert "Cancel the request" in await ann.look(f"/requests/{request_id}")
    async with browser_of(platform, "default", "bob") as bob:
        assert request_id not in await bob.look("/requests")
        await bob.look(f"/requests/{request_id}", 404)
        await bob.send(f"/requests/{request_id}/cancel", 404)
    async with browser_of(platform, "default", "aud", "auditor") as auditor:
        assert request_id in await auditor.look("/requests")
        page = await auditor.look(f"/requests/{request_id}")
        assert "Cancel the request" not in page and "soorma requests cancel" not in page
        await auditor.send(f"/requests/{request_id}/cancel", 403)
    async with browser_of(platform, "elsewhere", "eve", "operator") as stranger:
        assert request_id not in await stranger.look("/requests")
        await stranger.look(f"/requests/{request_id}", 404)
        await stranger.send(f"/requests/{request_id}/cancel", 404)
    (listed,) = await platform.tracker.requests()
    assert listed.action_id == request_id


async def test_pages_of_requests_follow_each_other(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "PAGE", 2)
    await platform.start(payments(Approval(when="true", approvers=("manager",))))
    wanted = [await held_request(platform, f"user{number}") for number in range(5)]
    found, path = list[str](), "/requests"
    async with open_browser(platform) as browser:
        while path:
            page = await browser.look(path)
            found += re.findall(r'href="/requests/([^"/?]+)"', page)
            older = re.search(r'href="([^"]+)" rel="next"', page)
            path = html.unescape(older[1]) if older else ""
    assert sorted(found) == sorted(wanted)


@pytest.mark.parametrize("hostile", [HOSTILE, {"a": [HOSTILE] * 50}])
async def test_hostile_data_of_a_request_is_shown_escaped_and_bounded(platform: Platform, hostile: Any) -> None:
    worker = Worker("echo")

    @worker.on_task("echo.requested")
    async def echo(task: TaskContext, context: PlatformContext) -> None:
        await task.complete({"said": hostile})

    await platform.start(worker)
    request_id = await platform.ask("echo.requested", {HOSTILE[:100]: hostile})
    await platform.reply(request_id, timeout=PATIENCE)
    async with open_browser(platform) as browser:
        page = await browser.look(f"/requests/{request_id}")
        assert "<script>alert" not in page and "\u202e" not in page and len(page) < 40_000
