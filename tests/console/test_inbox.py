"""The inbox, by forms and redirects alone."""

import re
from datetime import timedelta

import pytest
from console_kit import ORDER, Browser, ask, key_for, open_browser, shop, site

from soorma_ai import Held, InvocationContext, Platform, PlatformContext, Tool
from soorma_ai.testing.clock import VirtualClock

NOTE = "the invoice has another total"


async def sign_in_as(browser: Browser, platform: Platform, user: str = "maria", *roles: str) -> Browser:
    return await browser.sign_in(await key_for(platform, user, *(roles or ("manager", "operator"))))


async def test_a_question_is_answered_without_script_from_the_sign_in_to_the_end_of_the_plan(
    platform: Platform,
) -> None:
    charged: list[float] = []
    await platform.start(*shop(charged))
    async with open_browser(site(platform)) as browser:
        await sign_in_as(browser, platform)
        assert "No open questions" in browser.text
        plan = await platform.submit("order.received", {"order_id": "4711"})
        assert await plan.next_wait()
        await browser.open("/inbox")
        assert "<title>(1) Inbox" in browser.page.text
        for words in (
            "Pay 1,840 $ to ACME Tools for order 4711",
            "No earlier approval of this kind",
            "Rule payload.amount > 1000.0",
            "1 of 60 model calls",
            "The goods are reserved: pay them.",
            "published with exactly this payload, and orders continues its plan",
            "No answer Rejected automatically.",
            '"payee": "ACME Tools"',
        ):
            assert words in browser.text
        await browser.press("edit", **{"payload$.amount": "6000", "payload$.lines[0].sku": "a lathe"})
        assert browser.page.status_code == 422
        assert "6000 is greater than the maximum of 5000" in browser.text
        assert dict(browser.form("edit").fields)["payload$.lines[0].sku"] == "a lathe"
        await browser.press("approve")
        assert "You edited the payload" in browser.text
        await browser.press("edit", **{"payload$.amount": "1500", "payload$.lines[0].sku": "lathe"}, note="as agreed")
        assert "Your answer was recorded" in browser.text
        assert "maria approved this with changes" in browser.text
        await plan.result(timeout=5)
        assert charged == [1500]


async def test_a_question_is_snoozed_and_shows_until_when(platform: Platform) -> None:
    await platform.start(*shop())
    async with open_browser(site(platform)) as browser:
        await sign_in_as(browser, platform)
        wait_id = await ask(platform, amount=1840.0)
        await browser.open(f"/inbox/{wait_id}")
        await browser.press("snooze", hours="1")
        assert "Snoozed until" in browser.text and "by maria" in browser.text
        await browser.press("snooze", hours="2")
        assert browser.page.status_code == 422 and "choose one of 1 hour" in browser.text


async def test_a_question_shows_its_differences_from_the_last_approved_payload(platform: Platform) -> None:
    await platform.start(*shop())
    async with open_browser(site(platform)) as browser:
        await sign_in_as(browser, platform)
        for amount, do in ((1840.0, "approve"), (1900.0, "reject")):
            await browser.open(f"/inbox/{await ask(platform, amount=amount)}")
            await browser.press(do, note="no")
        await browser.open(f"/inbox/{await ask(platform, amount=2500.0, payee='ACME Ltd')}")
        assert "Since the last approval ( maria" in browser.text
        assert 'payee "ACME Tools" "ACME Ltd" amount 1840.0 2500.0' in browser.text
        assert "1 approved, 0 edited, 1 rejected" in browser.text


async def test_a_question_is_not_compared_with_approvals_on_other_users_lists(platform: Platform) -> None:
    """A question without named approvers is listed to its owner alone, and its payload belongs to the owner."""
    till = Tool("till")

    @till.on_invoke("gift.wanted", approval="always")
    async def give(request: InvocationContext, context: PlatformContext) -> None: ...

    await platform.start(till)
    for user in ("alice", "bob"):
        person = platform.as_user(tenant_id="default", user_id=user)
        with pytest.raises(Held) as held:
            await person.request("gift.wanted", {"to": f"the clinic of {user}"}, timeout=1)
        async with open_browser(site(platform)) as browser:
            await browser.sign_in(await key_for(platform, user))
            await browser.open(f"/inbox/{held.value.wait_id}")
            assert "No earlier approval of this kind" in browser.text
            assert "0 approved" in browser.text
            await browser.press("approve")


async def test_a_rejection_needs_a_reason_and_stores_it_for_the_requester(platform: Platform) -> None:
    await platform.start(*shop())
    async with open_browser(site(platform)) as browser:
        await sign_in_as(browser, platform)
        wait_id = await ask(platform)
        await browser.open(f"/inbox/{wait_id}")
        await browser.press("reject", note="  ")
        assert browser.page.status_code == 422
        assert "a reason is required" in browser.text
        await browser.press("reject", note=NOTE)
        assert f"Note: {NOTE}" in browser.text
    answered = await platform.services.store.plans.expectation(wait_id)
    assert answered and answered.answer and answered.answer.note == NOTE


async def test_a_second_answer_gets_the_first_persons_name_and_a_double_press_is_one_answer(platform: Platform) -> None:
    await platform.start(*shop())
    wait_id, served = await ask(platform), site(platform)
    async with open_browser(served) as maria, open_browser(served) as bob:
        await sign_in_as(maria, platform)
        await sign_in_as(bob, platform, "bob", "manager")
        await maria.open(f"/inbox/{wait_id}")
        await bob.open(f"/inbox/{wait_id}")
        page = bob.page
        await bob.press("approve")
        assert "Your answer was recorded" in bob.text
        bob.page = page
        await bob.press("approve")
        assert "Your answer was recorded" in bob.text
        await maria.press("reject", note=NOTE)
        assert maria.page.status_code == 409
        assert "bob was first: approve at" in maria.text


async def test_an_answer_after_the_deadline_is_refused(platform: Platform, clock: VirtualClock) -> None:
    await platform.start(*shop())
    wait_id = await ask(platform)
    async with open_browser(site(platform)) as browser:
        await sign_in_as(browser, platform)
        await browser.open(f"/inbox/{wait_id}")
        await clock.advance(timedelta(hours=3))
        await browser.press("approve")
        assert browser.page.status_code == 410
        assert "an answer was possible until" in browser.text


async def test_a_hidden_question_and_a_missing_question_get_the_same_page(platform: Platform) -> None:
    await platform.start(*shop())
    wait_id = await ask(platform)
    async with open_browser(site(platform)) as browser:
        await sign_in_as(browser, platform, "mallory", "clerk")
        assert "No open questions" in browser.text
        await browser.open(f"/inbox/{wait_id}")
        assert browser.page.status_code == 404
        unknown = (await browser.open("/inbox/unknown")).page
        assert unknown.status_code == 404
        assert (await browser.open(f"/inbox/{wait_id}/payload")).page.status_code == 404


async def test_hostile_data_of_a_question_is_shown_escaped_and_bounded(platform: Platform) -> None:
    await platform.start(*shop())
    hostile = "<script>alert(1)</script>\u202egnp.exe" + "W" * 300_000
    wait_id = await ask(platform, payee=hostile, order_id='"><img src=x onerror=alert(1)>')
    async with open_browser(site(platform)) as browser:
        await sign_in_as(browser, platform)
        await browser.open(f"/inbox/{wait_id}")
        assert "<script>alert" not in browser.page.text
        assert "<img" not in browser.page.text
        assert "\u202e" not in browser.page.text
        assert "\\u202e" in browser.page.text
        assert len(browser.page.content) < 60_000
        assert "too long to be changed here" in browser.text
        await browser.press("edit", **{"payload$.amount": "1200"})  # the long text stays unchanged
        assert "Your answer was recorded" in browser.text
        whole = await browser.client.get(f"/inbox/{wait_id}/payload")
        assert whole.json()["payee"] == hostile
        assert whole.headers["content-disposition"].startswith("attachment")


async def test_an_item_is_added_and_removed_by_buttons(platform: Platform) -> None:
    await platform.start(*shop())
    wait_id = await ask(platform)
    async with open_browser(site(platform)) as browser:
        await sign_in_as(browser, platform)
        await browser.open(f"/inbox/{wait_id}")
        await browser.press("add payload$.lines", **{"payload$.amount": "2000"})
        assert browser.page.status_code == 200
        more = {"payload$.lines[1].sku": "chuck", "payload$.lines[1].quantity": "3"}
        await browser.press("remove payload$.lines 0", **more)
        await browser.press("edit")
        assert "Your answer was recorded" in browser.text
    answered = await platform.services.store.plans.expectation(wait_id)
    assert answered and answered.answer
    assert answered.answer.payload["data"] == {**ORDER, "amount": 2000, "lines": [{"sku": "chuck", "quantity": 3}]}


async def test_the_list_of_questions_has_small_pages(platform: Platform) -> None:
    await platform.start(*shop())
    ids = [await ask(platform, order_id=str(number)) for number in range(53)]
    async with open_browser(site(platform)) as browser:
        await sign_in_as(browser, platform)
        assert "<title>(53) Inbox" in browser.page.text
        parts = [part.split('"')[0] for part in browser.page.text.split('="/static/')[1:]]
        loaded = [len((await browser.client.get(f"/static/{part}")).content) for part in parts]
        assert len(browser.page.content) + sum(loaded) < 34_000
        pages = [shown_by(browser)]
        while later := link_of(browser, "next"):
            pages.append(shown_by(await browser.open(later)))
            assert "<title>(53) Inbox" in browser.page.text
        assert [len(page) for page in pages] == [25, 25, 3]
        assert [one for page in pages for one in page] == [wait.wait_id for wait in await platform.waits(limit=100)]
        await browser.open(f"/inbox/{ids[0]}?after={pages[0][-1]}")
        assert shown_by(browser) == pages[1]
        assert shown_by(await browser.open(link_of(browser, "prev"))) == pages[0]
        assert link_of(browser, "prev") == ""
        for odd in ("after=x", "before=", f"before={pages[0][3]}", "after=%00", f"after={'9' * 300}"):
            assert shown_by(await browser.open(f"/inbox?{odd}")) == pages[0]


async def test_a_page_of_the_list_keeps_its_place_after_an_answer_to_an_earlier_question(platform: Platform) -> None:
    await platform.start(*shop())
    for number in range(30):
        await ask(platform, order_id=str(number))
    async with open_browser(site(platform)) as browser:
        await sign_in_as(browser, platform)
        last, later = shown_by(browser)[-1], link_of(browser, "next")
        second = shown_by(await browser.open(later))
        await browser.open(f"/inbox/{last}")
        await browser.press("approve")
        assert shown_by(await browser.open(later)) == second
        assert len(shown_by(await browser.open(link_of(browser, "prev")))) == 25
        assert "<title>(29) Inbox" in browser.page.text


def shown_by(browser: Browser) -> list[str]:
    return re.findall(r'id="q-([^"]+)"', browser.page.text)


def link_of(browser: Browser, rel: str) -> str:
    return next(iter(re.findall(f'href="([^"]+)" rel="{rel}"', browser.page.text)), "")
