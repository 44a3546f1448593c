"""Links by which one person answers one question."""

from datetime import UTC, datetime, timedelta

import pytest

from soorma_ai.domain.people import Person
from soorma_ai.errors import ConfigError, Unauthenticated
from soorma_ai.gateways.user_agent import Links

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LINKS = Links("a secret of at least 32 characters", "https://soorma.example.com/")
ANN = Person("acme", "ann", frozenset({"manager", "clerk"}))
TOKEN = LINKS.token("w-1", ANN, NOW + timedelta(hours=1))


def test_a_link_says_for_whom_it_is_and_about_what() -> None:
    assert LINKS.read(TOKEN, NOW) == ("w-1", ANN)
    assert LINKS.link("w-1", ANN, NOW + timedelta(hours=1)) == f"https://soorma.example.com/v1/answers/{TOKEN}"


@pytest.mark.parametrize("later", [timedelta(hours=1), timedelta(days=400)])
def test_a_link_ends(later: timedelta) -> None:
    with pytest.raises(Unauthenticated, match="has ended"):
        LINKS.read(TOKEN, NOW + later)


@pytest.mark.parametrize(
    "token", ["", ".", "x.y", TOKEN[:-1], TOKEN[1:], TOKEN.replace(".", ""), f"{TOKEN}é", TOKEN.partition(".")[0] + "."]
)
def test_a_changed_link_is_refused(token: str) -> None:
    with pytest.raises(Unauthenticated):
        LINKS.read(token, NOW)


def test_a_link_of_another_secret_is_refused() -> None:
    other = Links("another secret of 32 characters, or more", LINKS.base_url)
    with pytest.raises(Unauthenticated, match="not one of ours"):
        LINKS.read(other.token("w-1", ANN, NOW + timedelta(hours=1)), NOW)


def test_the_root_gets_no_link_and_a_short_secret_is_a_fault_of_the_set_up() -> None:
    with pytest.raises(ConfigError, match="root"):
        LINKS.token("w-1", Person(), NOW)
    with pytest.raises(ConfigError, match="32"):
        Links("short", "https://x")
    assert "secret of" not in repr(LINKS)
