"""Addresses open to a webhook: those of the public Internet, unless more is allowed.

A name is resolved once, for the connection itself: the checked address is the used one.
"""

import asyncio
import ipaddress
import socket
from urllib.parse import urlsplit

import httpx

from soorma_ai.errors import ConfigError


def is_public(address: str) -> bool:
    """Tell whether an address is public. A wrapper of an IPv4 address is as public as that one."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
        if inner is None and found in _NAT64:
            inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if inner is not None:
            found = inner
    return found.is_global and not found.is_multicast and not any(found in network for network in _RESERVED)


_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# What this Python takes for global and is not: site-local, local NAT64, IPv4-compatible, protocol assignments.
_RESERVED = tuple(map(ipaddress.ip_network, ("fec0::/10", "64:ff9b:1::/48", "::/96", "192.0.0.0/24")))


def check_url(url: str, *, allow_private: bool) -> str:
    """Return the URL of a receiver. Raise ConfigError for another form, and for http to other than tests."""
    try:
        parts, called = urlsplit(url), httpx.URL(url)
        is_whole = bool(called.host) and "%" not in called.host and parts.hostname is not None and parts.port != 0
    except (ValueError, httpx.InvalidURL):
        is_whole, parts = False, urlsplit("")
    if parts.scheme not in ("https", "http") or not is_whole:
        raise ConfigError(f"url={url!r}: give where to post to, as in https://example.com/events")
    if parts.scheme == "http" and not allow_private:
        raise ConfigError(f"url={url!r}: events go out by https; allow_private=True allows http, as for tests")
    if parts.username or parts.password:
        raise ConfigError("a webhook's URL holds no password: the receiver knows us by the signature")
    return url


async def public_addresses(host: str, port: int) -> list[str]:
    """Return the addresses of a name. Raise ConfigError for a name of a non-public address, in any spelling, and
    OSError for an unknown one."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise ConfigError(f"{host[:80]!r} is no name of a host") from error
    addresses = [str(address[0]) for *_, address in found]
    if hidden := [address for address in addresses if not is_public(address)]:
        raise ConfigError(f"{host} is {hidden[0]}, which is no public address; allow_private=True allows it")
    return addresses


class PublicOnly(httpx.AsyncBaseTransport):
    """Transport to public addresses only. Certificates are checked for the requested name."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Raise ConfigError for a name of a non-public address, in any spelling."""
        host = request.url.host
        addresses = await public_addresses(host, request.url.port or 443)
        request.extensions = {**request.extensions, "sni_hostname": host}
        request.url = request.url.copy_with(host=addresses[0])
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


def open_client(*, allow_private: bool, seconds: float) -> httpx.AsyncClient:
    """Return a client for public addresses, others only if allowed, without proxies and redirections."""
    plain = httpx.AsyncHTTPTransport(trust_env=False)
    transport = plain if allow_private else PublicOnly(plain)
    return httpx.AsyncClient(transport=transport, timeout=seconds, follow_redirects=False)
