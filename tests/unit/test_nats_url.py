"""The URL of a bus on NATS: its servers and its namespace."""

import pytest

from soorma_ai.errors import ConfigError
from soorma_ai.settings import NatsUrl, nats_url


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("local:", None),
        ("nats://host", NatsUrl(("nats://host",), "soorma")),
        ("nats://host:4222/", NatsUrl(("nats://host:4222",), "soorma")),
        ("nats://host:4222/staging", NatsUrl(("nats://host:4222",), "staging")),
        ("tls://host/a_b-1", NatsUrl(("tls://host",), "a_b-1")),
        ("nats://ann:secret@a:1,b:2/x", NatsUrl(("nats://ann:secret@a:1", "nats://ann:secret@b:2"), "x")),
        ("nats://[::1]:4222", NatsUrl(("nats://[::1]:4222",), "soorma")),
    ],
)
def test_a_bus_url_names_servers_and_a_namespace(url: str, found: NatsUrl | None) -> None:
    assert nats_url(url) == found


@pytest.mark.parametrize(
    "url",
    ["redis://host", "nats://", "nats://host/a.b", "nats://host/a/b", "nats://host/>", "nats:host", "nats://a,,b"],
)
def test_an_invalid_bus_url_is_refused_with_the_valid_form(url: str) -> None:
    with pytest.raises(ConfigError, match="nats://HOST:PORT/NAMESPACE"):
        nats_url(url)


def test_a_refused_url_shows_no_password() -> None:
    with pytest.raises(ConfigError) as told:
        nats_url("nats://ann:secret@host/a.b")
    assert "secret" not in str(told.value)
    assert "secret" not in repr(nats_url("nats://ann:secret@host"))
