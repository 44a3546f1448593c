from urllib.parse import unquote

import pytest

from soorma_ai.api.clients.address import PathTail, address_of, path_of
from soorma_ai.errors import ConfigError, NotFound


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("http://localhost:8700", "http://localhost:8700"),
        ("http://localhost:8700/", "http://localhost:8700"),
        ("https://shop.example/agents/", "https://shop.example/agents"),
        ("http://[::1]:8700", "http://[::1]:8700"),
    ],
)
def test_a_url_is_kept_without_its_last_slash(given: str, url: str) -> None:
    assert address_of(given, None).url == url


@pytest.mark.parametrize(
    "given",
    [
        "",
        "localhost:8700",
        "ftp://localhost",
        "sqlite:///shop.db",
        "http://",
        "http:///v1",
        "http://localhost:0",
        "http://localhost:99999",
        "http://localhost:port",
        "http://[::1",
        "http://localhost/?a=1",
        "http://localhost/#a",
        "http://local host",
        "http://localhost/\nHost: evil",
        "http://lo\u00e7al",
        None,
        7,
    ],
)
def test_a_malformed_server_url_is_refused(given: object) -> None:
    with pytest.raises(ConfigError, match=r"URL|url"):
        address_of(given, None)


def test_a_password_in_a_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(ConfigError, match="give token=") as refused:
        address_of("http://maria:geheim@localhost:8700", None)
    assert "geheim" not in str(refused.value)


@pytest.mark.parametrize(
    "token", ["geheim\n", "geheim\r\nX: y", "ge heim", "gehe\u00efm", "", "geheim\0", 7, b"geheim"]
)
def test_a_token_unfit_for_a_header_is_refused_and_not_repeated(token: object) -> None:
    with pytest.raises(ConfigError, match="token") as refused:
        address_of("http://localhost", token)
    assert "heim" not in str(refused.value)


def test_a_token_is_sent_to_the_server_and_printed_nowhere() -> None:
    address = address_of("http://localhost", "geheim")
    assert address.headers["authorization"] == "Bearer geheim"
    assert "geheim" not in repr(address) + str(address)
    assert "authorization" not in address_of("http://localhost", None).headers


@pytest.mark.parametrize("part", ["..", ".", "...", "a b", "a?b=c", "a#b", "%2e%2e", "é\n", "\0", "a;b", "a\\b"])
def test_an_escaped_path_part_stays_one_part(part: str) -> None:
    path = path_of("plans", part, "cancel")
    assert path.isascii() and path.count("/") == 4
    quoted = path.split("/")[3]
    assert quoted.strip(".") and unquote(quoted) == part


def test_only_the_last_part_may_have_slashes() -> None:
    assert path_of("working-memory", "plan-1", PathTail("a/../b")) == "/v1/working-memory/plan-1/a%2F..%2Fb"
    with pytest.raises(NotFound, match="slash"):
        path_of("plans", "../waits")
