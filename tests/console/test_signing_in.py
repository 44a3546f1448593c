"""Admission to the console, its sessions, and attacks from pages of other sites."""

from datetime import timedelta
from pathlib import Path

import pytest
from console_kit import Browser, key_for, open_browser, shop, site
from http_kit import OpenStream
from kit import open_platform
from starlette.applications import Starlette

from soorma_ai import Platform
from soorma_ai.api.server.streams import CHECKED_EVERY
from soorma_ai.errors import ConfigError, LocalProtocolError, NotFound
from soorma_ai.features.human_tasks.records import LinkKind
from soorma_ai.surfaces.secret import secret_of_store
from soorma_ai.testing.clock import VirtualClock


async def test_a_page_asks_to_sign_in_and_leads_back_to_itself(platform: Platform) -> None:
    async with open_browser(site(platform)) as browser:
        await browser.open("/plans?status=active")
        assert browser.page.url.path == "/sign-in"
        await browser.press("", token="soorma_no_key")
        assert browser.page.status_code == 401
        assert "this API key is unknown" in browser.text
        await browser.press("", token=await key_for(platform, "maria"))
        assert str(browser.page.url) == "http://localhost/plans?status=active"
        assert "maria ( default )" in browser.text


@pytest.mark.parametrize("target", ["https://evil.example", "//evil.example", "/\\evil.example", "/\tx", ""])
async def test_a_sign_in_leads_to_no_other_site(platform: Platform, target: str) -> None:
    async with open_browser(site(platform)) as browser:
        await browser.open("/sign-in")
        await browser.press("", token=await key_for(platform, "maria"), next=target)
        assert str(browser.page.url) == "http://localhost/home"


async def test_a_session_ends_with_its_key_with_its_time_and_with_a_sign_out(
    platform: Platform, clock: VirtualClock
) -> None:
    served, token = site(platform), await key_for(platform, "maria")
    async with open_browser(served) as first, open_browser(served) as second:
        await first.sign_in(token)
        await second.sign_in(token)
        await first.press("")  # the button of the header has no name
        assert first.page.url.path == "/sign-in"
        await clock.advance(timedelta(hours=13))
        assert (await second.open("/inbox")).page.url.path == "/sign-in"
        await second.sign_in(token)
        assert second.page.url.path == "/inbox"
        await platform.keys.revoke(token.split("_")[1])
        assert (await second.open("/inbox")).page.url.path == "/sign-in"


def session_of(browser: Browser) -> tuple[str, str]:
    """Return the cookie of a session, as a thief would copy it."""
    [name] = [name for name in browser.client.cookies if not name.startswith("soorma_visit")]
    return name, browser.client.cookies[name]


async def is_let_in(served: Starlette, stolen: tuple[str, str]) -> bool:
    async with open_browser(served) as thief:
        thief.client.cookies.set(*stolen)
        return (await thief.open("/inbox")).page.url.path == "/inbox"


async def test_a_copied_cookie_ends_with_the_sign_out_and_other_sessions_go_on(platform: Platform) -> None:
    served, token = site(platform), await key_for(platform, "maria")
    async with open_browser(served) as first, open_browser(served) as second:
        await first.sign_in(token)
        await second.sign_in(token)
        stolen = session_of(first)
        assert await is_let_in(served, stolen)
        await first.press("")
        assert not await is_let_in(served, stolen)
        assert not await is_let_in(site(platform), stolen), "another process on the same store admits the ended session"
        assert (await second.open("/inbox")).page.url.path == "/inbox"


@pytest.mark.parametrize("ended", ["maria", "*"])
async def test_all_sessions_of_one_person_or_of_all_end_at_once_and_a_new_sign_in_works(
    platform: Platform, ended: str
) -> None:
    served = site(platform)
    async with open_browser(served) as maria, open_browser(served) as jo:
        await maria.sign_in(await key_for(platform, "maria"))
        await jo.sign_in(await key_for(platform, "jo"))
        with pytest.raises(NotFound):
            await platform.as_user(tenant_id="default", user_id="jo").inbox.revoke_link("session", user_id=ended)
        operator = platform.as_user(tenant_id="default", user_id="boss", roles={"operator"})
        elsewhere = platform.as_user(tenant_id="other", user_id="boss", roles={"operator"})
        await elsewhere.inbox.revoke_link("session", user_id=ended)
        assert await is_let_in(served, session_of(maria))
        await operator.inbox.revoke_link("session", user_id=ended)
        assert not await is_let_in(served, session_of(maria))
        assert await is_let_in(served, session_of(jo)) is (ended == "maria")
    assert await operator.inbox.links() == []


async def test_ended_sessions_stay_ended_after_a_restart_and_an_erasure_of_their_user(
    tmp_path: Path, clock: VirtualClock
) -> None:
    async with open_platform(tmp_path / "shop.db", clock) as platform:
        token = await key_for(platform, "maria")
        async with open_browser(site(platform)) as maria:
            await maria.sign_in(token)
            stolen = session_of(maria)
            await maria.press("")
        await platform.forget("maria")
    async with open_platform(tmp_path / "shop.db", clock) as platform:
        served = site(platform)
        assert not await is_let_in(served, stolen)
        async with open_browser(served) as maria:
            await clock.advance(timedelta(seconds=0.01))
            await maria.sign_in(await key_for(platform, "maria"))
            assert maria.page.url.path == "/inbox", "a new session of a new key"


async def test_a_live_page_ends_with_its_session(platform: Platform, clock: VirtualClock) -> None:
    served = site(platform)
    async with open_browser(served) as maria:
        await maria.sign_in(await key_for(platform, "maria"))
        name, value = session_of(maria)
        async with OpenStream(served, "/live", cookie=f"{name}={value}", host="localhost") as stream:
            await stream.until(lambda: "changed" in stream.text)
            await platform.inbox.revoke_link("session", user_id="maria")
            await clock.advance(timedelta(seconds=2 * CHECKED_EVERY))
            await stream.ended()


@pytest.mark.parametrize("kind", ["question", "inbox"])
async def test_only_sessions_can_be_revoked_for_all_users_and_no_link_starts_one(
    platform: Platform, kind: LinkKind
) -> None:
    with pytest.raises(LocalProtocolError, match="name a user"):
        await platform.inbox.revoke_link(kind, user_id="*")
    with pytest.raises(LocalProtocolError, match="by signing in"):
        await platform.inbox.make_link("session", user_id="maria")


async def test_a_changed_cookie_is_no_session(platform: Platform) -> None:
    async with open_browser(site(platform)) as browser:
        await browser.sign_in(await key_for(platform, "maria"))
        [name] = [name for name in browser.client.cookies if not name.startswith("soorma_visit")]
        sealed = browser.client.cookies[name].strip('"')
        other = "y" if sealed[20] == "x" else "x"
        for changed in (f"{sealed[:20]}{other}{sealed[21:]}", sealed[:-4], "x", "\u00e4"):
            headers = {b"cookie": f"{name}={changed}".encode("latin-1")}
            answer = await browser.client.get("/inbox", headers=headers, follow_redirects=False)
            assert answer.headers["location"] == "/sign-in?next=%2Finbox"


async def test_a_form_of_another_session_changes_nothing(platform: Platform) -> None:
    served = site(platform)
    async with open_browser(served) as maria, open_browser(served) as mallory:
        await maria.sign_in(await key_for(platform, "maria"))
        await mallory.sign_in(await key_for(platform, "mallory"))
        theirs = dict(mallory.form("").fields)["form_token"]
        for token in (theirs, "", "0" * 64, "\ud7ff"):
            answer = await maria.client.post("/sign-out", data={"form_token": token})
            assert answer.status_code == 403
        assert (await maria.open("/inbox")).page.url.path == "/inbox"


async def test_a_page_of_another_site_changes_nothing(platform: Platform) -> None:
    async with open_browser(site(platform), origin="https://evil.example") as browser:
        await browser.sign_in(await key_for(platform, "maria"))
        assert browser.page.status_code == 403


async def test_cookies_are_hidden_from_scripts_and_other_sites(platform: Platform) -> None:
    async with open_browser(site(platform)) as browser:
        await browser.sign_in(await key_for(platform, "maria"))
        found = [line for answer in browser.page.history for line in answer.headers.get_list("set-cookie")]
        assert found
        assert all("HttpOnly" in line and "SameSite=lax" in line and "Secure" not in line for line in found)
    async with open_browser(site(platform)) as browser:  # by a proxy with https to the browser
        browser.page = await browser.client.get("/sign-in")
        sent = {**dict(browser.form("").fields), "token": await key_for(platform, "maria")}
        browser.client.follow_redirects = False
        answer = await browser.client.post("/sign-in", data=sent, headers={"origin": "https://localhost"})
        assert answer.status_code == 303
        assert "Secure" in answer.headers["set-cookie"]


async def test_every_page_has_a_policy_for_its_content(platform: Platform) -> None:
    async with open_browser(site(platform)) as browser:
        for path in ("/sign-in", "/inbox", "/static/style.css", "/static/nothing", "/live"):
            headers = (await browser.open(path)).page.headers
            assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "same-origin"


async def test_an_open_server_has_a_notice_and_no_sign_in(platform: Platform) -> None:
    async with open_browser(site(platform, is_open=True)) as browser:
        assert "Sign-in is off" in (await browser.open("/")).text
        assert browser.page.url.path == "/home"
        assert (await browser.open("/sign-in")).page.url.path == "/home"


async def test_the_api_keeps_its_paths_beside_the_pages(platform: Platform) -> None:
    await platform.start(*shop())
    async with open_browser(site(platform, is_open=True)) as browser:
        assert (await browser.open("/v1/waits")).page.json() == {"items": [], "next": None}
        assert (await browser.open("/healthz")).page.json() == {"status": "alive"}
        assert (await browser.client.post("/inbox")).status_code == 405
        for path in ("/inbox", "/live"):
            assert (await browser.client.head(path)).status_code == 200


async def test_a_session_opens_nothing_of_the_api(platform: Platform) -> None:
    async with open_browser(site(platform)) as browser:
        await browser.sign_in(await key_for(platform, "maria"))
        assert (await browser.client.get("/v1/plans")).status_code == 401


async def test_the_first_page_is_small(platform: Platform) -> None:
    async with open_browser(site(platform, is_open=True)) as browser:
        page = (await browser.open("/")).page
        parts = [part.split('"')[0] for part in page.text.split('="/static/')[1:]]
        sizes = {part.split("?")[0]: len((await browser.client.get(f"/static/{part}")).content) for part in parts}
        assert sizes["live.js"] < 20_000
        assert len(page.content) + sum(sizes.values()) < 60_000


def test_the_secret_is_created_once_beside_the_store_and_readable_by_its_owner_only(tmp_path: Path) -> None:
    store = tmp_path / "soorma.db"
    first = secret_of_store(store)
    assert secret_of_store(store) == first
    assert len(first) >= 32
    assert [(path.name, path.stat().st_mode & 0o777) for path in tmp_path.iterdir()] == [("soorma.db.console", 0o600)]
    assert secret_of_store(None) != secret_of_store(None)
    with pytest.raises(ConfigError, match="cannot be read or made"):
        secret_of_store(tmp_path / "nowhere" / "soorma.db")


async def test_a_malformed_form_is_refused(platform: Platform) -> None:
    async with open_browser(site(platform)) as browser:
        await browser.sign_in(await key_for(platform, "maria"))
        many = "&".join(f"a{number}=1" for number in range(6_000))
        for body in (many, b"\xff=1", "x=" + "y" * 2**20):
            answer = await browser.client.post("/sign-out", content=body)
            assert answer.status_code in (403, 413, 422)
    assert isinstance(browser, Browser)
