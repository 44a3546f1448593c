"""The options of a server: each has a known name and the right type, or the application is refused."""

from typing import Any

import pytest

from soorma_ai import ConfigError, Platform
from soorma_ai.server import Rate, app


@pytest.mark.parametrize(
    ("option", "meant"),
    [
        *(("orgins", "origins"), ("host", "hosts"), ("rates", "rate"), ("inlet", "inlets"), ("sites", "site")),
        *(("most_byte", "most_bytes"), ("auths", "auth"), ("role", "roles"), ("door", "doors")),
    ],
)
async def test_a_misspelt_option_of_a_server_is_refused(platform: Platform, option: str, meant: str) -> None:
    misspelt: Any = {option: None}
    with pytest.raises(ConfigError, match=f"has no option '{option}'; did you mean '{meant}'?"):
        app(platform, **misspelt)


async def test_an_unknown_option_is_refused_with_the_list_of_all_options(platform: Platform) -> None:
    nonsense: Any = {"nonsense": 1}
    with pytest.raises(ConfigError, match="has no option 'nonsense'; there are auth, doors, hosts, inlets, most_bytes"):
        app(platform, **nonsense)


@pytest.mark.parametrize(
    ("option", "value", "wanted"),
    [
        ("origins", "https://shop.example", "a list, each item text"),
        ("origins", None, "a list, each item text"),
        ("origins", [b"https://shop.example"], "a list, each item text"),
        ("origins", ["shop.example"], "scheme and host, as https://shop.example"),
        ("origins", ["https://shop.example/"], "scheme and host, as https://shop.example"),
        ("origins", ["*"], "scheme and host, as https://shop.example"),
        ("hosts", "shop.example", "a list, each item text"),
        ("roles", "manager", "a list, each item text"),
        ("roles", {"manager": True}, "a list, each item text"),
        ("rate", 100, "a Rate or None"),
        ("rate", Rate, "a Rate or None"),
        ("most_bytes", "1MB", "a whole number above zero"),
        ("most_bytes", True, "a whole number above zero"),
        ("most_streams", 0, "a whole number above zero"),
        ("most_streams_each", None, "a whole number above zero"),
        ("inlets", ["/v1/hooks/bank"], "a list, each item an Inlet"),
        ("doors", object(), "a list, each item a Door"),
        ("site", "console", "a PageApp"),
    ],
)
async def test_a_value_of_another_type_is_refused(platform: Platform, option: str, value: Any, wanted: str) -> None:
    given: Any = {option: value}
    with pytest.raises(ConfigError, match=f"server.app: {option}.*: give {wanted}"):
        app(platform, **given)


async def test_every_declared_option_is_accepted(platform: Platform) -> None:
    app(platform, hosts={"shop.example"}, origins=["https://shop.example", "http://localhost:3000"], rate=None)
    app(platform, rate=Rate(5, 5), roles=(), most_bytes=10, inlets=[], doors=())
