"""The platform over HTTP, for programs in any language: `server.app(platform)` is an ASGI application.

Needs the extra `[server]`.
"""

from starlette.applications import Starlette
from typing_extensions import Unpack

from soorma_ai.api.server import application
from soorma_ai.api.server.application import Options, stop
from soorma_ai.api.server.rates import Rate
from soorma_ai.kernel.ports import Authenticator
from soorma_ai.kernel.runtime.client.client import Client
from soorma_ai.operations import OPERATIONS

__all__ = ["Options", "Rate", "app", "stop"]


def app(platform: Client, *, auth: Authenticator | None = None, **options: Unpack[Options]) -> Starlette:
    """Return the platform as an ASGI application, to be served or mounted into another. Keep the platform open while
    the application is in use.

    Without `auth` it serves programs of this machine only, all of them as `local`, an operator. Raise ConfigError for
    an unknown option, and for a value of another type.

    Args:
        platform: the open platform.
        auth: verification of bearer tokens; see `soorma_ai.adapters.tokens`.
        options: see `Options`.
    """
    return application.app(platform, OPERATIONS, auth=auth, **options)
