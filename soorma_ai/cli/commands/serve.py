"""`soorma serve`: agents in this process, and all their platform can do over HTTP."""

import asyncio
import socket
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack

import click

from soorma_ai.adapters.tokens import ApiKeys
from soorma_ai.agents.agent import Agent
from soorma_ai.cli.loading import load_agents, load_authenticator
from soorma_ai.cli.options import Access, with_access
from soorma_ai.cli.running import log_to_stderr, open_platform
from soorma_ai.platform import Platform, stop_by_signal
from soorma_ai.ports import Authenticator, Inlet
from soorma_ai.runtime.client.doors import Door
from soorma_ai.settings import hide_password
from soorma_ai.terminal.escapes import one_line
from soorma_ai.terminal.printing import DIM, Printer

DEFAULT_PORT = 8700
KEYS = "keys"

MakeAuthenticator = Callable[[Platform], Authenticator]


@click.command()
@click.argument("app", metavar="MODULE:APP")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to serve.")
@click.option("--port", default=DEFAULT_PORT, show_default=True, type=click.IntRange(0, 65535), help="0: a free one.")
@click.option("--role", "roles", multiple=True, metavar="NAME", help="A role that local callers have; again for more.")
@click.option(
    "--auth", metavar="keys|MODULE:NAME", help="Who a token stands for: a key of `soorma keys`, or an Authenticator."
)
@click.option("--name", "names", multiple=True, metavar="HOST", help="A name by which it is called; again for more.")
@with_access
def serve(
    access: Access, app: str, *, host: str, port: int, roles: tuple[str, ...], auth: str | None, names: tuple[str, ...]
) -> None:
    """Run agents, and serve their platform over HTTP until Ctrl-C or SIGTERM.

    APP is an Agent, a sequence of Agents, or a function that returns them; MODULE may lie in the current directory.
    Without --auth only programs of this machine are served: as `local`, an operator with the roles that --role gives.
    """
    log_to_stderr()
    if auth is not None and roles:
        raise click.UsageError("--role is for callers without a token; with --auth the token says the roles")
    agents, find_out = load_agents(app), _authenticator(auth)
    from soorma_ai.server.serving import listen

    listener = listen(host, port, is_open=find_out is None)
    try:
        asyncio.run(_serve(access, agents, find_out, listener, (roles, names)))
    finally:
        listener.close()


async def _serve(
    access: Access,
    agents: Sequence[Agent],
    find_out: MakeAuthenticator | None,
    listener: socket.socket,
    called: tuple[tuple[str, ...], tuple[str, ...]],
) -> None:
    from soorma_ai.server import Options, app
    from soorma_ai.server.serving import serve as serve_http
    from soorma_ai.server.serving import url_of

    stop, (roles, names), url = stop_by_signal(), called, url_of(listener)
    async with AsyncExitStack() as stack:
        platform = await open_platform(stack, access, agents)
        await platform.start(*agents)
        inlets = [agent for agent in agents if isinstance(agent, Inlet)]
        doors = [agent for agent in agents if isinstance(agent, Door)]
        options, auth = Options(roles=roles, inlets=inlets, doors=doors), find_out(platform) if find_out else None
        if names:
            options["hosts"] = names
        running = ", ".join(one_line(agent.name) for agent in agents)
        whom = "whoever has a token" if auth else "programs of this machine, as local"

        def say() -> None:
            Printer(stderr=True).line(
                (f"{running} on {hide_password(access.store_url)}; {url} serves {whom}; Ctrl-C stops", DIM)
            )

        await serve_http(app(platform, auth=auth, **options), listener, stop, say)


def _authenticator(named: str | None) -> MakeAuthenticator | None:
    """Return what makes the authenticator that --auth names, once the platform is open."""
    if named is None or named == KEYS:
        return ApiKeys if named else None
    found = load_authenticator(named)
    return lambda _: found
