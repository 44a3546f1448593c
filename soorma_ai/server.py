"""The platform over HTTP, for programs in any language: `server.app(platform)` is an ASGI application.

Needs the extra `[server]`.
"""

from soorma_ai.api.server.application import Options, app, stop
from soorma_ai.api.server.rates import Rate

__all__ = ["Options", "Rate", "app", "stop"]
