"""The console: pages for people, served beside the API. `server.app(platform, site=Console())` shows it at `/`."""

from soorma_ai.apps.console.app import Console

__all__ = ["Console"]
