"""A2A, the Agent2Agent protocol: `A2AGateway` serves goals of this platform to foreign agents, and `A2AAgent` serves
the skills of a foreign agent as requests here.

The forms of the seed documents (`A2ATask` and its kin, `A2AGatewayHelper`) need nothing; all else needs the extra
`[a2a]`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from soorma_ai.errors import ConfigError
from soorma_ai.gateways.a2a.forms import (
    A2AAgentCard,
    A2AAuthentication,
    A2AAuthType,
    A2AGatewayHelper,
    A2AMessage,
    A2APart,
    A2ASkill,
    A2ATask,
    A2ATaskResponse,
    A2ATaskStatus,
)

if TYPE_CHECKING:
    from soorma_ai.gateways.a2a.gateway import A2AGateway
    from soorma_ai.gateways.a2a.remote import A2AAgent

__all__ = [
    "A2AAgent",
    "A2AAgentCard",
    "A2AAuthType",
    "A2AAuthentication",
    "A2AGateway",
    "A2AGatewayHelper",
    "A2AMessage",
    "A2APart",
    "A2ASkill",
    "A2ATask",
    "A2ATaskResponse",
    "A2ATaskStatus",
]

_HOMES = {"A2AGateway": "gateway", "A2AAgent": "remote"}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{home}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("a2a", "google", "starlette", "httpx"):
            raise ConfigError(f"{name} needs a2a-sdk: pip install 'soorma-ai[a2a]'") from error
        raise
