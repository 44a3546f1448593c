"""The configuration of a NATS server: needed values, and the message about a difference."""

import pytest

from soorma_ai.adapters.nats.configuration import (
    check_config,
    check_server,
    consumer_config,
    differences,
    stream_config,
)
from soorma_ai.errors import ConfigError


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ({"max_age": 1, "storage": "file"}, ""),
        ({"max_age": 1, "storage": "file", "max_bytes": 5}, ""),
        ({"max_age": 2, "storage": "file"}, "max_age is 2, wanted is 1"),
        ({"storage": "memory"}, "max_age is None, wanted is 1; storage is 'memory', wanted is 'file'"),
    ],
)
def test_differences_are_listed_and_other_settings_ignored(found: dict[str, object], told: str) -> None:
    assert differences(found, {"max_age": 1, "storage": "file"}) == told


def test_a_suitable_stream_is_accepted_with_any_size_replicas_and_description() -> None:
    wanted = stream_config("soorma")
    check_config("stream", wanted.evolve(max_bytes=10**9, num_replicas=3, description="ours"), wanted, "change it")


def test_a_stream_that_would_lose_events_is_refused_with_a_cure() -> None:
    wanted = stream_config("soorma")
    with pytest.raises(ConfigError) as told:
        check_config("stream 'soorma'", wanted.evolve(discard="old", max_msgs=10), wanted, "change it")
    assert str(told.value) == (
        "stream 'soorma' exists with another configuration: max_msgs is 10, wanted is -1; "
        "discard is 'old', wanted is 'new'; change it"
    )


def test_a_consumer_with_a_limit_of_deliveries_is_refused() -> None:
    wanted = consumer_config("soorma", "one")
    with pytest.raises(ConfigError, match="max_deliver is 3, wanted is -1"):
        check_config("consumer", wanted.evolve(max_deliver=3), wanted, "remove it")


@pytest.mark.parametrize("version", [(2, 10), (2, 15), (3, 0)])
def test_a_supported_server_is_accepted(version: tuple[int, int]) -> None:
    check_server(version, "nats://here")


@pytest.mark.parametrize("version", [(2, 9), (1, 99), (0, 0)])
def test_an_old_server_is_refused(version: tuple[int, int]) -> None:
    with pytest.raises(ConfigError, match=r"wanted is 2\.10 or later: upgrade it"):
        check_server(version, "nats://here")
