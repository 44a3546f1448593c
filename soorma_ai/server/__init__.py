"""The platform over HTTP, for programs in any language: `server.app(platform)` is an ASGI application.

Needs the extra `[server]`.
"""

from soorma_ai.server.application import Options, app, stop
from soorma_ai.server.rates import Rate

__all__ = ["Options", "Rate", "app", "stop"]
