"""The console's pages without a browser: cookies, forms and redirects."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from http_kit import Keys, caller

from soorma_ai import Platform
from soorma_ai.apps.console import Console
from soorma_ai.server import app

SECRET = "s" * 40


class Browser:
    """Keeps cookies, follows redirects, and sends the forms of the last page."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http
        self._form_token = ""

    async def look(self, path: str, status: int = 200) -> str:
        return self._read(await self._http.get(path), status)

    async def send(self, path: str, status: int = 200, **fields: str | list[str]) -> str:
        data = {"form_token": self._form_token, **fields}
        return self._read(await self._http.post(path, data=data), status)

    def _read(self, page: httpx.Response, status: int) -> str:
        assert page.status_code == status, page.text
        assert "'unsafe" not in page.headers["content-security-policy"]
        assert " style=" not in page.text and "<style" not in page.text
        if found := re.search(r'name="form_token" value="([^"]+)"', page.text):
            self._form_token = found[1]
        return page.text


@asynccontextmanager
async def open_browser(platform: Platform, *roles: str) -> AsyncIterator[Browser]:
    served = app(platform, roles=roles, site=Console(secret=SECRET))
    transport = httpx.ASGITransport(served, client=("127.0.0.1", 5000))
    async with httpx.AsyncClient(
        transport=transport, base_url="http://127.0.0.1:8700", follow_redirects=True, timeout=20
    ) as http:
        yield Browser(http)


@asynccontextmanager
async def browser_of(platform: Platform, tenant: str, user: str, *roles: str) -> AsyncIterator[Browser]:
    keys = Keys(token=caller(tenant, user, *roles))
    served = app(platform, auth=keys, site=Console(secret=SECRET))
    transport = httpx.ASGITransport(served, client=("127.0.0.1", 5000))
    async with httpx.AsyncClient(
        transport=transport, base_url="http://127.0.0.1:8700", follow_redirects=True, timeout=20
    ) as http:
        browser = Browser(http)
        await browser.look("/sign-in")
        await browser.send("/sign-in", 404, token="token", next="/plans/none")
        yield browser
