"""`soorma serve`: agents in this process, and all their platform can do over HTTP."""

import asyncio
import socket

import click

from soorma_ai.adapters.tokens import ApiKeys
from soorma_ai.apps.cli.host import DEFAULT_HOST, DEFAULT_PORT, HostOptions, MakeAuthenticator, host
from soorma_ai.apps.cli.loader import load_agents, load_authenticator
from soorma_ai.apps.cli.session import log_to_stderr
from soorma_ai.platform import Platform, stop_by_signal
from soorma_ai.settings import hide_password
from soorma_ai.surfaces.options import Access, with_access
from soorma_ai.surfaces.terminal.escapes import one_line
from soorma_ai.surfaces.terminal.printing import DIM, Printer

KEYS = "keys"


@click.command()
@click.argument("app", metavar="MODULE:APP")
@click.option("--host", "address", default=DEFAULT_HOST, show_default=True, help="The address to serve.")
@click.option("--port", default=DEFAULT_PORT, show_default=True, type=click.IntRange(0, 65535), help="0: a free one.")
@click.option("--role", "roles", multiple=True, metavar="NAME", help="A role that local callers have; again for more.")
@click.option(
    "--auth", metavar="keys|MODULE:NAME", help="Who a token stands for: a key of `soorma keys`, or an Authenticator."
)
@click.option("--name", "names", multiple=True, metavar="HOST", help="A name by which it is called; again for more.")
@click.option(
    "--embed-in", "sites", multiple=True, metavar="URL", help="A site whose pages may show queues; again for more."
)
@with_access
def serve(
    access: Access,
    app: str,
    *,
    address: str,
    port: int,
    roles: tuple[str, ...],
    auth: str | None,
    names: tuple[str, ...],
    sites: tuple[str, ...],
) -> None:
    """Run agents, and serve their platform over HTTP until Ctrl-C or SIGTERM.

    APP is an Agent, a sequence of Agents, or a function that returns them; MODULE may lie in the current directory.
    Without --auth only programs of this machine are served: as `local`, an operator with the roles that --role gives.
    """
    log_to_stderr()
    if auth is not None and roles:
        raise click.UsageError("--role is for callers without a token; with --auth the token says the roles")
    hosted = HostOptions(load_agents(app), roles, names, _authenticator(auth), sites)
    from soorma_ai.api.server.serve import listen

    listener = listen(address, port, is_open=hosted.make_authenticator is None)
    try:
        asyncio.run(_serve(access, hosted, listener))
    finally:
        listener.close()


async def _serve(access: Access, hosted: HostOptions, listener: socket.socket) -> None:
    running = ", ".join(one_line(agent.name) for agent in hosted.agents)
    whom = "whoever has a token" if hosted.make_authenticator else "programs of this machine, as local"

    async def tell(_: Platform, url: str) -> None:
        Printer(stderr=True).line(
            (f"{running} on {hide_password(access.store_url)}; {url} serves {whom}; Ctrl-C stops", DIM)
        )

    await host(access, hosted, listener, stop_by_signal(), tell)


def _authenticator(named: str | None) -> MakeAuthenticator | None:
    """Return what makes the authenticator that --auth names, once the platform is open."""
    if named is None or named == KEYS:
        return ApiKeys if named else None
    found = load_authenticator(named)
    return lambda _: found
