"""MCP, the Model Context Protocol: `McpServer` serves the tools of a server as requests here, and `McpGateway` serves
goals of this platform as tools to MCP clients. Both need the extra `[mcp]`: a server loads it at its first call, the
gateway at its import.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from soorma_ai.errors import ConfigError
from soorma_ai.gateways.mcp.server import McpServer

if TYPE_CHECKING:
    from soorma_ai.gateways.mcp.gateway import McpGateway

__all__ = ["McpGateway", "McpServer"]


def __getattr__(name: str) -> object:
    if name != "McpGateway":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.gateway"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("mcp", "mcp_types", "starlette"):
            raise ConfigError(f"{name} needs the package mcp: pip install 'soorma-ai[mcp,server]'") from error
        raise
