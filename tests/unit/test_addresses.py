"""Public addresses: the only targets of a webhook."""

import httpx
import pytest

from soorma_ai.errors import ConfigError
from soorma_ai.gateways.webhooks.addresses import PublicOnly, is_public


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1:248:1893:25c8:1946", True),
        ("127.0.0.1", False),
        ("0.0.0.0", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::1", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("fc00::1", False),
        ("ff02::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:93.184.216.34", True),
        ("64:ff9b::7f00:1", False),
        ("64:ff9b::a9fe:a9fe", False),
        ("2002:7f00:1::", False),
        ("fec0::1", False),
        ("64:ff9b:1::7f00:1", False),
        ("::7f00:1", False),
        ("192.0.0.8", False),
    ],
)
def test_only_globally_reachable_addresses_are_public(address: str, public: bool) -> None:
    assert is_public(address) is public


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "127.1", "0x7f.1", "2130706433", "[::1]", "[::ffff:7f00:1]"]
)
async def test_every_spelling_of_a_private_address_is_refused_before_a_request_is_sent(host: str) -> None:
    sent: list[httpx.Request] = []
    inner = httpx.MockTransport(lambda request: (sent.append(request), httpx.Response(200))[1])
    async with httpx.AsyncClient(transport=PublicOnly(inner)) as client:
        with pytest.raises(ConfigError, match="no public address"):
            await client.get(f"http://{host}/")
    assert sent == []


async def test_the_checked_address_is_the_one_connected_to_under_the_requested_host_name() -> None:
    sent: list[httpx.Request] = []
    inner = httpx.MockTransport(lambda request: (sent.append(request), httpx.Response(200))[1])
    async with httpx.AsyncClient(transport=PublicOnly(inner)) as client:
        await client.get("https://93.184.216.34:8443/x")
    (request,) = sent
    assert (request.url.host, request.url.port, request.headers["host"]) == (
        "93.184.216.34",
        8443,
        "93.184.216.34:8443",
    )
    assert request.extensions["sni_hostname"] == "93.184.216.34"
