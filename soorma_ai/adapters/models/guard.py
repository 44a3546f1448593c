"""Permission to call a model: tests forbid it, and a cassette in place answers instead of the network."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from urllib.parse import urlsplit

from soorma_ai.errors import ConfigError

# An environment variable, so that processes started by a test are held to it too.
SWITCH, FORBIDDEN = "SOORMA_MODEL_CALLS", "forbidden"

_cassettes = 0


@contextmanager
def forbid_model_calls() -> Generator[None]:
    """Inside, a call that would leave this machine is a ConfigError, unless a cassette answers it."""
    before = os.environ.get(SWITCH)
    os.environ[SWITCH] = FORBIDDEN
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(SWITCH, None)
        else:
            os.environ[SWITCH] = before


@contextmanager
def cassette_in_place() -> Generator[None]:
    """Inside, no call reaches the network by itself: neither a key nor a permission is needed."""
    global _cassettes
    _cassettes += 1
    try:
        yield
    finally:
        _cassettes -= 1


def is_replayed() -> bool:
    return _cassettes > 0


def is_loopback(url: str | None) -> bool:
    try:
        host = urlsplit(url).hostname if url else None
    except ValueError:  # it is no address at all
        return False
    return host is not None and (host in {"localhost", "::1"} or host.startswith("127."))


def check_allowed(model: str, api_base: str | None) -> None:
    if os.environ.get(SWITCH) == FORBIDDEN and not is_replayed() and not is_loopback(api_base):
        raise ConfigError(
            f"real model calls are forbidden in tests; {model} would be called at {api_base or 'its provider'}. "
            "Script the answers with ScriptedReasoner, replay them with soorma_ai.testing.cassettes.cassette, "
            "or mark the test `live_model`"
        )
