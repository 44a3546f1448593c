"""Bounds for answers of a foreign server."""

from collections.abc import AsyncIterator

import httpx

from soorma_ai.errors import RemoteProtocolError
from soorma_ai.gateways.webhooks.addresses import PublicOnly


class BoundedTransport(httpx.AsyncBaseTransport):
    """Transport with a limit of `most_bytes` for each answer. Answers are asked for without compression, so the limit
    applies to the bytes as sent."""

    def __init__(self, inner: httpx.AsyncBaseTransport, most_bytes: int) -> None:
        self._inner = inner
        self._most_bytes = most_bytes

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Raise RemoteProtocolError, during the read, for too long or a compressed answer."""
        request.headers["accept-encoding"] = "identity"
        answer = await self._inner.handle_async_request(request)
        if answer.headers.get("content-encoding", "identity") != "identity":
            await answer.aclose()
            raise RemoteProtocolError(f"{request.url.host} packed its answer, which was not asked for")
        if isinstance(answer.stream, httpx.AsyncByteStream):
            answer.stream = _CountedStream(answer.stream, self._most_bytes, str(request.url.host))
        return answer

    async def aclose(self) -> None:
        await self._inner.aclose()


class _CountedStream(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream, most_bytes: int, host: str) -> None:
        self._inner = inner
        self._left = most_bytes
        self._host = host

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner:
            self._left -= len(chunk)
            if self._left < 0:
                raise RemoteProtocolError(f"{self._host} answers more than it may")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


def open_bounded(*, allow_private: bool, seconds: float, token: str | None, most_bytes: int) -> httpx.AsyncClient:
    """Return a client for public addresses, others only if allowed, without redirections, with a limit for an
    answer."""
    plain = httpx.AsyncHTTPTransport(trust_env=False)
    reached = plain if allow_private else PublicOnly(plain)
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return httpx.AsyncClient(
        transport=BoundedTransport(reached, most_bytes), timeout=seconds, follow_redirects=False, headers=headers
    )
