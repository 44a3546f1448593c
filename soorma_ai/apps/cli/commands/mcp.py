"""`soorma mcp`: the tools of MCP servers, and their confirmation."""

import asyncio
from collections.abc import Sequence

import click

from soorma_ai.apps.cli.loader import load_agents
from soorma_ai.errors import NotFound
from soorma_ai.gateways.mcp.server import McpServer
from soorma_ai.gateways.mcp.tools import ServerTool, Standing, standing_of
from soorma_ai.gateways.mcp.trust import read_trust, write_trust
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.printing import Printer

_WORDS = {Standing.CONFIRMED: "confirmed", Standing.NEW: "new", Standing.CHANGED: "CHANGED"}


@click.group()
def mcp() -> None:
    """Confirm the tools of MCP servers."""


@mcp.command()
@click.argument("app", metavar="MODULE:APP")
@click.argument("name")
@click.option("--check", is_flag=True, help="Confirm nothing; exit with 1 for a new or a changed tool.")
def confirm(app: str, name: str, *, check: bool) -> None:
    """Show the tools of the agent NAME, an McpServer, and confirm them.

    A changed tool is shown with its confirmed description and its new one. The confirmed tools are in the agent's trust
    file, for version control. Start the agent again afterwards.
    """
    server = _server_of(app, name)
    tools = asyncio.run(server.list_tools())
    confirmed = read_trust(server.trust).get(name, {})
    _show(server.prefix, tools, confirmed)
    if not check:
        write_trust(server.trust, name, tools)
        click.echo(f"Confirmed {len(tools)} tools of {name} in {server.trust}.")
    elif any(standing_of(one, confirmed) is not Standing.CONFIRMED for one in tools):
        raise click.exceptions.Exit(1)


def _server_of(app: str, name: str) -> McpServer:
    servers = [agent for agent in load_agents(app) if isinstance(agent, McpServer)]
    for server in servers:
        if server.name == name:
            return server
    known = ", ".join(one.name for one in servers) or "none"
    raise NotFound(f"{app} has no McpServer {name!r}; it has: {known}")


def _show(prefix: str, tools: Sequence[ServerTool], confirmed: dict[str, ServerTool]) -> None:
    rows: list[tuple[str, ...]] = []
    for tool in tools:
        standing = standing_of(tool, confirmed)
        if standing is Standing.CHANGED:
            rows.append(("before", f"{prefix}.{tool.name}", *_facts(confirmed[tool.name])))
        rows.append((_WORDS[standing], f"{prefix}.{tool.name}", *_facts(tool)))
    Printer().rows(rows)


def _facts(tool: ServerTool) -> tuple[str, str, str]:
    return ", ".join(_annotations(tool)), tool.digest[:12], one_line(tool.description)


def _annotations(tool: ServerTool) -> list[str]:
    """Return the annotations with a meaning: in the protocol, the others do not count for a read-only tool."""
    if tool.is_read_only:
        return ["read-only"]
    hints = {"destructive": tool.is_destructive, "idempotent": tool.is_idempotent}
    return [name for name, holds in hints.items() if holds]
