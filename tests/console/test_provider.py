"""Sign-in by an OpenID Connect provider, and attacks on it."""

import html
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlencode

import httpx
import pytest
from console_kit import SECRET, Browser, key_for, site
from provider_kit import (
    OTHER_KEY,
    Provider,
    Sign,
    flow,
    open_browser_with,
    run_provider,
    sign_claims,
    sign_with_public_key,
    unsigned_token,
)

from soorma_ai import Platform
from soorma_ai.adapters.tokens.code_flow import PAUSE, ClientRegistration
from soorma_ai.apps.console import Console
from soorma_ai.errors import ConfigError
from soorma_ai.server import app
from soorma_ai.settings import read_sign_in
from soorma_ai.testing.clock import VirtualClock

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with run_provider() as made:
        yield made


async def come_back(browser: Browser, *, begin: str = "/sign-in/with?next=%2Fplans") -> httpx.URL:
    """Go to the provider, and return its redirect back."""
    browser.client.follow_redirects = False
    to_provider = await browser.client.get(begin)
    back = await browser.client.get(to_provider.headers["location"])
    browser.client.follow_redirects = True
    return httpx.URL(back.headers["location"])


async def test_a_sign_in_by_a_provider_has_the_tokens_claims_and_leads_to_the_wanted_page(
    platform: Platform, provider: Provider, clock: VirtualClock
) -> None:
    async with open_browser_with(provider, platform) as browser:
        await browser.open("/plans?status=active")
        assert "Sign in with 127.0.0.1" in browser.text
        await browser.open("/sign-in/with?next=%2Fplans%3Fstatus%3Dactive")
        assert str(browser.page.url) == "http://localhost/plans?status=active"
        assert "ann ( default )" in browser.text
        assert 'title="manager"' in browser.page.text
        assert (provider.asked["code_challenge_method"], provider.asked["scope"]) == ("S256", "openid profile email")
        await browser.press("")
        assert (await browser.open("/inbox")).page.url.path == "/sign-in"
        await browser.open("/sign-in/with")
        assert browser.page.url.path == "/home"
        assert (await browser.client.get("/v1/plans")).status_code == 401
        await clock.advance(timedelta(hours=13))
        assert (await browser.open("/inbox")).page.url.path == "/sign-in"


async def test_a_key_signs_in_beside_a_provider(platform: Platform, provider: Provider) -> None:
    async with open_browser_with(provider, platform) as browser:
        await browser.sign_in(await key_for(platform, "maria"))
        assert "maria ( default )" in browser.text


@pytest.mark.parametrize(
    ("names", "claims", "who"),
    [
        ({"user": "preferred_username"}, {"preferred_username": "anna"}, "anna ( default )"),
        ({"user": "email"}, {"email": "a@b.example", "email_verified": True}, "a@b.example ( default )"),
        ({"tenant": "org"}, {"org": "acme"}, "ann ( acme )"),
        ({"tenant_id": "acme"}, {"tenant": None}, "ann ( acme )"),
        ({"roles": "groups"}, {"roles": None, "groups": "manager auditor"}, 'title="auditor, manager"'),
        ({}, {"roles": None}, 'title="no roles"'),
        ({}, {"aud": ["console", "other"], "azp": "console"}, "ann ( default )"),
    ],
)
async def test_claims_name_people_as_the_settings_say(
    platform: Platform, provider: Provider, names: dict[str, str], claims: dict[str, Any], who: str
) -> None:
    provider.claims = claims
    async with open_browser_with(provider, platform, **names) as browser:
        await browser.open("/sign-in/with")
        assert browser.page.url.path == "/home"
        assert who in browser.text or who in browser.page.text


@pytest.mark.parametrize(
    ("names", "claims", "sign", "words"),
    [
        (
            {},
            {"nonce": "of another sign-in"},
            sign_claims,
            "none of this sign-in: invalid_claim: Invalid claim: 'nonce'",
        ),
        ({}, {"nonce": None}, sign_claims, "Missing claim: 'nonce'"),
        ({}, {"azp": "other"}, sign_claims, "Invalid claim: 'azp'"),
        ({}, {"aud": ["console", "other"]}, sign_claims, "Missing claim: 'azp'"),
        ({}, {"at_hash": "AAAA"}, sign_claims, "Invalid claim: 'at_hash'"),
        ({}, {"aud": "other"}, sign_claims, "Audience doesn't match"),
        ({}, {"aud": None}, sign_claims, '"aud" claim'),
        ({}, {"iss": "https://evil.example"}, sign_claims, "Invalid issuer"),
        ({}, {"exp": LONG_AGO}, sign_claims, "Signature has expired"),
        ({}, {"exp": None}, sign_claims, '"exp" claim'),
        ({}, {}, unsigned_token, "the token is not valid"),
        ({}, {}, sign_with_public_key, "the token is not valid"),
        ({}, {}, partial(sign_claims, key=OTHER_KEY), "Signature verification failed"),
        ({}, {}, lambda _: "x.y.z", "the token is not valid"),
        ({}, {}, lambda _: None, "the provider sent no ID token"),
        ({}, {"tenant": None}, sign_claims, "claim 'tenant' is no text"),
        ({}, {"roles": {"operator": True}}, sign_claims, "claim 'roles' is no list"),
        ({"user": "email"}, {"email": "boss@b.example"}, sign_claims, "has verified the e-mail address"),
        ({}, {"roles": ["x" * 3_000]}, sign_claims, "longer than the 2800 characters"),
    ],
)
async def test_a_token_unfit_for_this_sign_in_is_refused(
    platform: Platform, provider: Provider, names: dict[str, str], claims: dict[str, Any], sign: Sign, words: str
) -> None:
    provider.claims, provider.sign = claims, sign
    async with open_browser_with(provider, platform, **names) as browser:
        await browser.open("/sign-in/with")
        assert (browser.page.status_code, browser.page.url.path) == (401, "/sign-in/back")
        assert words in browser.text
        assert (await browser.open("/inbox")).page.url.path == "/sign-in"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"state": "x"}, "begun elsewhere"),
        ({"state": None}, "begun elsewhere"),
        ({"state": "\u00e4"}, "begun elsewhere"),
        ({"iss": "https://evil.example"}, "another provider"),
        ({"code": None}, "sent no code"),
        ({"code": "code-99"}, "or a used one: 'invalid_grant'"),
        ({"code": None, "error": "access_denied", "error_description": "call 555"}, "did not let you in"),
        ({"code": None, "error": "<b>call 555</b>"}, "did not say why"),
    ],
)
async def test_a_forged_return_from_the_provider_is_refused(
    platform: Platform, provider: Provider, change: dict[str, str | None], words: str
) -> None:
    async with open_browser_with(provider, platform) as browser:
        back = await come_back(browser)
        asked = {**dict(parse_qsl(back.query.decode())), **change}
        query = urlencode({name: value for name, value in asked.items() if value is not None})
        await browser.open(f"/sign-in/back?{query}")
        assert browser.page.status_code == 401
        assert words in browser.text
        assert "555" not in browser.text
        assert (await browser.open(str(back))).page.status_code == 401  # one try for each sign-in


async def test_an_answer_counts_once_in_its_own_browser_and_for_ten_minutes(
    platform: Platform, provider: Provider, clock: VirtualClock
) -> None:
    async with open_browser_with(provider, platform) as maria, open_browser_with(provider, platform) as mallory:
        back = str(await come_back(maria))
        cookies = dict(maria.client.cookies)
        await mallory.open(back)
        assert (mallory.page.status_code, "begun in another browser" in mallory.text) == (401, True)
        await come_back(mallory)
        assert "begun elsewhere" in (await mallory.open(back)).text
        assert (await maria.open(back)).page.url.path == "/plans"
        assert (await maria.open(back)).page.status_code == 401
        for name, value in cookies.items():
            maria.client.cookies.set(name, value, domain="localhost.local")
        assert "or a used one" in (await maria.open(back)).text
        late = str(await come_back(mallory))
        await clock.advance(timedelta(minutes=11))
        assert "took too long" in (await mallory.open(late)).text


@pytest.mark.parametrize(
    "target", ["https://evil.example", "//evil.example", "/\\evil.example", "/\tx", "", "/" * 2000]
)
async def test_a_sign_in_by_a_provider_leads_to_no_other_site(
    platform: Platform, provider: Provider, target: str
) -> None:
    async with open_browser_with(provider, platform) as browser:
        await browser.open(f"/sign-in/with?{urlencode({'next': target})}")
        assert str(browser.page.url) == "http://localhost/home"


def link_to_provider(browser: Browser) -> str:
    """Return the provider's address on the page after a sign-out, the same for its refresh and its link."""
    (by_itself,) = re.findall(r'http-equiv="refresh" content="0; url=([^"]+)"', browser.page.text)
    assert f'href="{by_itself}"' in browser.page.text
    return html.unescape(by_itself)


async def test_a_sign_out_also_ends_the_session_with_the_provider(platform: Platform, provider: Provider) -> None:
    provider.document = {"end_session_endpoint": f"{provider.url}/logout?realm=a"}
    async with open_browser_with(provider, platform) as browser:
        await browser.open("/sign-in/with")
        await browser.press("")
        assert "Signed out here" in browser.text
        link = link_to_provider(browser)
        assert (await browser.open("/inbox")).page.url.path == "/sign-in"
        await browser.open(link)
        state = provider.asked.pop("state")
        assert provider.asked == {
            "realm": "a",
            "client_id": "console",
            "post_logout_redirect_uri": "http://localhost/sign-out/back",
        }
        assert browser.page.url.path == "/sign-out/back"
        assert "signed out, here and with 127.0.0.1" in browser.text
        await browser.open(f"/sign-out/back?{urlencode({'state': state})}")
        assert browser.page.url.path == "/sign-in" and "signed out" not in browser.text


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"state": "x"},
        {"state": ""},
        {"state": "\u00e4"},
        {"state": "x", "next": "https://evil.example"},
        {"post_logout_redirect_uri": "https://evil.example", "redirect_uri": "//evil.example"},
    ],
    ids=str,
)
async def test_a_forged_return_from_a_sign_out_leads_to_the_sign_in_page_without_a_notice(
    platform: Platform, provider: Provider, asked: dict[str, str]
) -> None:
    provider.document = {"end_session_endpoint": f"{provider.url}/logout"}
    async with open_browser_with(provider, platform) as browser, open_browser_with(provider, platform) as mallory:
        await browser.open("/sign-in/with")
        assert str((await browser.open(f"/sign-out/back?{urlencode(asked)}")).page.url) == "http://localhost/sign-in"
        assert (await browser.open("/inbox")).page.url.path == "/inbox"  # a link signs out no session
        await browser.press("")
        state = dict(parse_qsl(httpx.URL(link_to_provider(browser)).query.decode()))["state"]
        for one, said in ((browser, asked), (mallory, {"state": state})):
            await one.open(f"/sign-out/back?{urlencode(said)}")
            assert str(one.page.url) == "http://localhost/sign-in" and "signed out" not in one.text


@pytest.mark.parametrize("place", [None, "http://evil.example/logout", "javascript:alert(1)", 7], ids=str)
async def test_a_sign_out_skips_a_provider_without_a_safe_logout_address(
    platform: Platform, provider: Provider, place: object
) -> None:
    provider.document = {"end_session_endpoint": place}
    async with open_browser_with(provider, platform) as browser:
        await browser.open("/sign-in/with")
        await browser.press("")
        assert "You may be signed in with 127.0.0.1 still" in browser.text and "refresh" not in browser.page.text
        await browser.sign_in(await key_for(platform, "maria"))
        await browser.press("")
        assert browser.page.url.path == "/sign-in"  # a key is no session at the provider


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"issuer": "https://evil.example"}, "calls itself 'https://evil.example'"),
        ({"token_endpoint": "http://evil.example/token"}, "not by https://"),
        ({"jwks_uri": None}, "not by https://"),
        ({"filler": "x" * 2**20}, "is longer than"),
    ],
)
async def test_a_wrong_or_unreachable_provider_is_reported_on_the_sign_in_page(
    platform: Platform, provider: Provider, clock: VirtualClock, document: dict[str, Any], words: str
) -> None:
    provider.document = document
    async with open_browser_with(provider, platform) as browser:
        page = (await browser.open("/sign-in/with")).page
        assert (page.status_code, page.headers["retry-after"]) == (503, "5")
        assert words in browser.text
        provider.document = {}
        assert "did not answer a moment ago" in (await browser.open("/sign-in/with")).text
        await clock.advance(timedelta(seconds=PAUSE))
        assert (await browser.open("/sign-in/with")).page.url.path == "/home"


async def test_an_open_server_refuses_a_provider_and_a_server_without_one_has_no_such_path(
    platform: Platform, provider: Provider
) -> None:
    with pytest.raises(ConfigError, match="lets everybody of this machine in"):
        app(platform, site=Console(secret=SECRET, provider=flow(provider, platform)))
    transport = httpx.ASGITransport(site(platform))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        for path in ("/sign-in/with", "/sign-in/back"):
            assert (await client.get(path)).status_code == 404


@pytest.mark.parametrize(
    "wrong",
    [{"issuer": "http://id.example"}, {"url": "shop.example"}, {"client_id": ""}, {"scopes": ("profile",)}],
    ids=str,
)
def test_an_insecure_client_registration_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"https://|openid"):
        ClientRegistration(**{"issuer": "https://id.example", "client_id": "c", "url": "https://shop.example", **wrong})


def test_the_environment_names_a_provider_completely_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_sign_in() is None
    monkeypatch.setenv("SOORMA_OIDC_ISSUER", "https://id.example")
    with pytest.raises(ConfigError, match="SOORMA_OIDC_CLIENT_ID and SOORMA_OIDC_URL must be set"):
        read_sign_in()
    monkeypatch.setenv("SOORMA_OIDC_CLIENT_ID", "c")
    monkeypatch.setenv("SOORMA_OIDC_URL", "https://shop.example")
    monkeypatch.setenv("SOORMA_OIDC_TENANT", "acme")
    found = read_sign_in()
    assert found is not None
    assert (found.names.tenant_id, found.names.user, found.scopes) == ("acme", "sub", ("openid", "profile", "email"))
    assert "secret" not in repr(found)
