"""The front page, by the reads of other pages."""

from console_kit import ask, key_for, open_browser, shop, site
from kit import planner, sleeps, stock

from soorma_ai import Platform
from soorma_ai.errors import ModelUnavailable


async def test_the_front_page_has_questions_plans_trouble_and_cost(platform: Platform) -> None:
    await platform.start(*shop())
    plan = await platform.submit("order.received", {"order_id": "4711"})
    assert await plan.next_wait()
    await ask(platform, payee="Paper & Sons")
    async with open_browser(site(platform)) as browser:
        await browser.sign_in(await key_for(platform, "maria", "manager", "operator"))
        await browser.open("/")
        assert browser.page.url.path == "/home"
        assert "<title>(2) Home" in browser.page.text
        for words in ("2 open questions", "0 plans running", "1 plans waiting", "0 plans failed", "No problems found"):
            assert words in browser.text
        assert f'href="/plans/{plan.plan_id}"' in browser.page.text, "the oldest active plan"
        assert "Pay 1,840 $ to Paper &amp; Sons" in browser.page.text
        assert browser.text.count("No model cost") == 2


async def test_a_plan_at_rest_for_its_model_is_listed_under_trouble(platform: Platform) -> None:
    await platform.start(planner([ModelUnavailable("the model is away")] * 9), stock())
    plan = await platform.submit("order.received", {"order_id": "4711"})
    await sleeps(platform, plan.plan_id)
    async with open_browser(site(platform)) as browser:
        await browser.sign_in(await key_for(platform, "maria", "operator"))
        await browser.open("/home")
        assert f"Plan {plan.plan_id[:8]} rests" in browser.text and "the model is away" in browser.text
        assert "No problems found" not in browser.text


async def test_the_front_page_shows_nothing_of_other_users(platform: Platform) -> None:
    await platform.start(*shop())
    await ask(platform, payee="Paper & Sons")
    await platform.submit("order.received", {"order_id": "4711"})
    async with open_browser(site(platform)) as browser:
        await browser.sign_in(await key_for(platform, "nora"))
        await browser.open("/home")
        assert "0 open questions" in browser.text and "0 plans running" in browser.text
        assert "Paper" not in browser.text and "Queues" not in browser.text
