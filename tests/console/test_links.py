"""A question that somebody opens by the link that was sent to them."""

from datetime import timedelta
from pathlib import Path

import pytest
from console_kit import ask, browsing, shop, site

from soorma_ai import Platform
from soorma_ai.domain.people import Person
from soorma_ai.gateways.user_agent import Links, UserAgent
from soorma_ai.testing.clock import VirtualClock

LINKS = Links("of the links, with thirty-two characters", "http://localhost")
MARIA = Person("default", "maria", frozenset({"manager"}))


@pytest.fixture
async def link(platform: Platform) -> str:
    await platform.start(*shop())
    until = platform.services.clock.now() + timedelta(hours=1)
    return LINKS.link(await ask(platform), MARIA, until).removeprefix("http://localhost")


async def test_a_link_opens_one_question_and_answers_it_as_the_one_whom_it_was_sent_to(
    platform: Platform, link: str
) -> None:
    async with browsing(site(platform, links=LINKS)) as browser:
        await browser.open(link)
        assert "Pay 1,840 $ to ACME Tools for order 4711" in browser.text
        assert "data-live " not in browser.page.text
        await browser.press("edit", **{"payload$.amount": "6000"})
        assert "6000 is greater than the maximum of 5000" in browser.text
        await browser.press("reject", note="not ordered")
        assert "maria rejected this" in browser.text
        assert (await browser.open("/inbox")).page.url.path == "/sign-in"
    [entry] = [row.entry for row in await platform.audit() if row.entry.call == "answer"]
    assert (entry.user_id, entry.key_id, entry.outcome) == ("maria", "link", "accepted")


async def test_a_link_that_is_over_or_not_ours_opens_nothing(
    platform: Platform, link: str, clock: VirtualClock
) -> None:
    async with browsing(site(platform, links=LINKS)) as browser:
        for broken in (link[:-1], f"{link[:13]}x{link[14:]}", "/v1/answers/x"):
            assert (await browser.open(broken)).page.status_code == 403
        await browser.open(link)
        await clock.advance(timedelta(hours=2))
        assert "this link has ended" in (await browser.press("approve")).text
        assert (await browser.open(link)).page.status_code == 403


async def test_what_is_posted_where_a_link_leads_is_an_answer_as_before(platform: Platform, link: str) -> None:
    async def tell(question: object) -> None: ...

    people = UserAgent(tell, lambda wait: [], links=LINKS)
    await platform.start(people)
    async with browsing(site(platform, links=people.links, inlets=[people])) as browser:
        assert (await browser.open(link)).page.headers["content-type"].startswith("text/html")
        answer = await browser.client.post(link, json={"payload": {"approved": True}})
        assert answer.json()["outcome"] == "accepted"
        assert "maria approved this" in (await browser.open(link)).text


async def test_without_links_there_is_no_such_page(platform: Platform, link: str, tmp_path: Path) -> None:
    async with browsing(site(platform)) as browser:
        assert (await browser.open(link)).page.status_code == 404
