"""MCP, the Model Context Protocol: `McpServer` serves the tools of a server as requests here. It needs the extra
`[mcp]`, which is loaded at its first call."""

from soorma_ai.gateways.mcp.server import McpServer

__all__ = ["McpServer"]
