"""Documents of token issuers, read over HTTP: short ones, soon, and safe on the way."""

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import urlsplit

import httpx

LONGEST = 2**20
SECONDS = 5.0
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def is_safe(url: str) -> bool:
    """Tell whether a URL is safe against changes on the way: by https, or on this machine."""
    try:
        place = urlsplit(url)
    except ValueError:
        return False
    return place.hostname is not None and (
        place.scheme == "https" or (place.scheme == "http" and place.hostname in _LOOPBACK)
    )


async def read(url: str) -> bytes:
    """Return the document at a URL. Raise HTTPError, also for a redirect, and ValueError for too long a one."""
    status, text = await ask("GET", url)
    if status != HTTPStatus.OK:
        raise httpx.HTTPError(f"{url} answered {status}")
    return text


async def ask(method: str, url: str, *, body: str = "", headers: Mapping[str, str] | None = None) -> tuple[int, bytes]:
    """Return the status and the text of an answer. Raise HTTPError, and ValueError for one that is too long."""
    text = b""
    try:
        async with (
            asyncio.timeout(SECONDS),
            httpx.AsyncClient(timeout=SECONDS) as client,
            client.stream(method, url, content=body or None, headers=headers) as answer,
        ):
            async for part in answer.aiter_bytes():
                text += part
                if len(text) > LONGEST:
                    raise ValueError(f"{url} is longer than {LONGEST} bytes")
            return answer.status_code, text
    except TimeoutError as error:
        raise httpx.HTTPError(f"{url} did not answer within {SECONDS:g} seconds") from error
    except httpx.InvalidURL as error:
        raise httpx.HTTPError(f"{url} is no address: {error}") from error
