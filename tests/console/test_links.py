"""A question opened by the link sent to a person."""

from datetime import timedelta
from typing import Any

import pytest
from console_kit import SECRET, ask, open_browser, shop, site

from soorma_ai import Platform
from soorma_ai.adapters.tokens import ApiKeys
from soorma_ai.apps.console import Console
from soorma_ai.errors import ConfigError, Forbidden, LocalProtocolError
from soorma_ai.features.human_tasks.records import Link
from soorma_ai.gateways.user_agent import Links, UserAgent
from soorma_ai.kernel.domain.people import Person
from soorma_ai.server import app
from soorma_ai.surfaces.secret import link_secret
from soorma_ai.testing.clock import VirtualClock

LINKS = Links("of the links, with thirty-two characters", "http://localhost")
MARIA = Person("default", "maria", frozenset({"manager"}))


@pytest.fixture
async def link(platform: Platform) -> str:
    await platform.start(*shop())
    now = platform.services.clock.now()
    roles = MARIA.roles or frozenset()
    return LINKS.path(Link("question", await ask(platform), "default", "maria", roles, now, now + timedelta(hours=1)))


async def test_a_link_opens_one_question_and_answers_it_as_its_addressee(platform: Platform, link: str) -> None:
    async with open_browser(site(platform, links=LINKS)) as browser:
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


async def test_an_expired_or_forged_link_opens_nothing(platform: Platform, link: str, clock: VirtualClock) -> None:
    async with open_browser(site(platform, links=LINKS)) as browser:
        for broken in (link[:-1], f"{link[:13]}x{link[14:]}", "/v1/answers/x"):
            assert (await browser.open(broken)).page.status_code == 403
        await browser.open(link)
        await clock.advance(timedelta(hours=2))
        assert "this link has ended" in (await browser.press("approve")).text
        assert (await browser.open(link)).page.status_code == 403


async def test_json_posted_to_a_link_is_an_answer(platform: Platform, link: str) -> None:
    async def tell(question: object) -> None: ...

    people = UserAgent(tell, lambda wait: [], links=LINKS)
    await platform.start(people)
    async with open_browser(site(platform, links=people.links, inlets=[people])) as browser:
        assert (await browser.open(link)).page.headers["content-type"].startswith("text/html")
        answer = await browser.client.post(link, json={"payload": {"approved": True}})
        assert answer.json()["outcome"] == "accepted"
        assert "maria approved this" in (await browser.open(link)).text


async def test_a_link_of_another_signer_opens_nothing(platform: Platform, link: str) -> None:
    async with open_browser(site(platform)) as browser:
        assert (await browser.open(link)).page.status_code == 403


async def link_for_maria(platform: Platform, console: Console, kind: Any, about: str = "", **wanted: Any) -> str:
    """Return the path of a link from root to maria, as opened by this console."""
    new = await platform.inbox.make_link(kind, about, user_id="maria", roles={"manager"}, **wanted)
    return Links(link_secret(SECRET)).path(new.made.link)


def served(platform: Platform, console: Console) -> Any:
    return app(platform, auth=ApiKeys(platform), site=console)


async def test_a_link_is_for_one_answer_and_then_shows_its_outcome_without_the_payload(platform: Platform) -> None:
    await platform.start(*shop())
    wait_id, console = await ask(platform), Console(secret=SECRET)
    link = await link_for_maria(platform, console, "question", wait_id)
    async with open_browser(served(platform, console)) as browser:
        for _ in range(2):
            await browser.open(link)
            assert "ACME Tools" in browser.text
        assert (await platform.wait(wait_id)).wait_id in {one.wait_id for one in await platform.waits()}
        assert "Your answer was recorded" in (await browser.press("approve")).text
        assert not browser.client.cookies
        await browser.open(link)
        assert "maria approved this" in browser.text and "ACME Tools" not in browser.text
        token = link.rpartition("/")[2]
        assert (await browser.open(f"/answers/{token}/payload")).page.status_code == 404
    notices = await platform.inbox.notices(wait_id)
    assert [(one.user_id, one.state) for one in notices] == [("maria", "opened")]


async def test_a_revoked_or_replaced_link_opens_nothing(platform: Platform, clock: VirtualClock) -> None:
    await platform.start(*shop())
    wait_id, console = await ask(platform), Console(secret=SECRET)
    first = await link_for_maria(platform, console, "question", wait_id)
    await clock.advance(timedelta(minutes=1))
    second = await link_for_maria(platform, console, "question", wait_id)
    async with open_browser(served(platform, console)) as browser:
        assert (await browser.open(first)).page.status_code == 403
        assert (await browser.open(second)).page.status_code == 200
        assert [one.made_by for one in await platform.inbox.links(wait_id)] == ["local"]
        assert await platform.inbox.revoke_link("question", wait_id, user_id="maria") is True
        assert await platform.inbox.revoke_link("question", wait_id, user_id="maria") is False
        assert "revoked" in (await browser.open(second)).text
        assert "revoked" in (await browser.open(second.replace("/v1", ""))).text


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"kind": "answer"}, "nothing that a link opens"),
        ({"roles": "manager"}, "would be its letters"),
        ({"user_id": ""}, "is not a name"),
        ({"lasts": timedelta.max}, "lasts="),
    ],
)
async def test_an_invalid_link_is_not_created(platform: Platform, given: Any, fault: str) -> None:
    await platform.start(*shop())
    wait_id = await ask(platform)
    wanted: dict[str, Any] = {"kind": "question", "about": wait_id, "user_id": "maria", **given}
    with pytest.raises(LocalProtocolError, match=fault):
        await platform.inbox.make_link(**wanted)
    assert await platform.inbox.links(wait_id) == []


async def test_a_link_sent_out_by_an_agent_can_be_revoked(platform: Platform, link: str, clock: VirtualClock) -> None:
    [wait] = await platform.waits()
    await clock.advance(timedelta(seconds=1))
    async with open_browser(site(platform, links=LINKS)) as browser:
        assert (await browser.open(link)).page.status_code == 200
        assert await platform.inbox.revoke_link("question", wait.wait_id, user_id="maria")
        assert (await browser.open(link)).page.status_code == 403
        await platform.inbox.make_link("question", wait.wait_id, user_id="maria", roles={"manager"})
        assert (await browser.open(link)).page.status_code == 403, "a later link makes no earlier one valid again"


async def test_a_user_makes_links_for_themselves_only(platform: Platform) -> None:
    await platform.start(*shop())
    wait_id = await ask(platform)
    maria = platform.as_user(tenant_id="default", user_id="maria", roles={"manager", "operator"})
    with pytest.raises(Forbidden, match="themselves only"):
        await maria.inbox.make_link("question", wait_id, user_id="bob")
    own = await maria.inbox.make_link("question", wait_id)
    assert own.made.link.roles == {"manager"}


async def test_a_queue_embedded_in_a_named_site_is_answered_without_a_cookie(platform: Platform) -> None:
    charged: list[float] = []
    await platform.start(*shop(charged))
    console = Console(secret=SECRET, embed_in=["https://shop.example"])
    plan = await platform.submit("order.received", {"order_id": "4711"})
    wait = await plan.next_wait()
    assert wait is not None
    elsewhere = await ask(platform, order_id="4712")
    queue = await link_for_maria(platform, console, "plan", plan.plan_id)
    async with open_browser(served(platform, console)) as browser:
        await browser.open(queue)
        assert "frame-ancestors https://shop.example;" in browser.page.headers["content-security-policy"]
        assert "4711" in browser.text and "4712" not in browser.text
        assert (await browser.open(f"{queue}/{elsewhere}")).page.status_code == 404
        await browser.open(f"{queue}/{wait.wait_id}")
        assert "Your answer was recorded" in (await browser.press("approve")).text
        assert not browser.client.cookies
        assert "frame-ancestors 'none'" in (await browser.open("/inbox")).page.headers["content-security-policy"]
        question = await link_for_maria(platform, console, "question", elsewhere)
        assert "frame-ancestors 'none'" in (await browser.open(question)).page.headers["content-security-policy"]
    assert await plan.result(timeout=5) == {"done": True}
    assert charged == [1840.0]


async def test_without_a_named_site_a_queue_cannot_be_framed(platform: Platform) -> None:
    await platform.start(*shop())
    await ask(platform)
    console = Console(secret=SECRET)
    async with open_browser(served(platform, console)) as browser:
        await browser.open(await link_for_maria(platform, console, "inbox"))
        assert "4711" in browser.text
        assert "frame-ancestors 'none'" in browser.page.headers["content-security-policy"]


@pytest.mark.parametrize("origin", ["*", "https://*.example", "shop.example", "https://a; script-src *", "https://a/b"])
def test_a_site_to_embed_in_is_a_plain_origin(origin: str) -> None:
    with pytest.raises(ConfigError, match="embed_in"):
        Console(embed_in=[origin])
