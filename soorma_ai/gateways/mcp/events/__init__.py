"""MCP Events, the extension `io.modelcontextprotocol/events` of SEP-3415: events of the log for MCP clients.

The package `mcp` has no types of it yet; these are the messages of its text.
"""
