"""`soorma serve`: agents in this process, and all their platform can do over HTTP."""

import asyncio
import socket

import click

from soorma_ai.adapters.tokens import ApiKeys
from soorma_ai.apps.cli.follow.watch import Watch
from soorma_ai.apps.cli.host import DEFAULT_HOST, DEFAULT_PORT, HostOptions, MakeAuthenticator, host
from soorma_ai.apps.cli.loader import load_agents, load_authenticator
from soorma_ai.apps.cli.session import describe_agents, log_by
from soorma_ai.apps.cli.view.live import Manner, Voice
from soorma_ai.platform import Platform, stop_by_signal
from soorma_ai.surfaces.options import LOCAL_USER, Access, Sound, with_access, with_voice
from soorma_ai.surfaces.terminal.printing import BOLD

KEYS = "keys"


@click.command()
@click.argument("app", metavar="MODULE:APP")
@click.option("--host", "address", default=DEFAULT_HOST, show_default=True, help="The address to serve.")
@click.option(
    "--port", default=DEFAULT_PORT, show_default=True, type=click.IntRange(0, 65535), help="The port; 0 for a free one."
)
@click.option("--role", "roles", multiple=True, metavar="NAME", help="A role of local callers; repeatable.")
@click.option(
    "--auth",
    metavar="keys|MODULE:NAME",
    help="Authentication of tokens: API keys of `soorma keys`, or an Authenticator.",
)
@click.option("--name", "names", multiple=True, metavar="HOST", help="A host name of this server; repeatable.")
@click.option(
    "--embed-in", "sites", multiple=True, metavar="URL", help="A site with the right to embed queues; repeatable."
)
@with_voice
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
    sound: Sound,
) -> None:
    """Run agents, and serve their platform over HTTP until Ctrl-C or SIGTERM.

    APP is an Agent, a sequence of Agents, or a function that returns them; MODULE may lie in the current directory.
    Without --auth, only programs of this machine have access: as `local`, an operator with the roles of --role. A live
    log of events and questions is printed to a terminal; into a file or a pipe, with --verbose or --log-json.
    """
    voice = Voice(Manner(sound.is_quiet, sound.as_json, is_timed=True, is_brief=not sound.is_verbose), access)
    log_by(voice, sound.log_level)
    if auth is not None and roles:
        raise click.UsageError("--role is for callers without a token; with --auth the token has the roles")
    hosted = HostOptions(load_agents(app), roles, names, _authenticator(auth), sites)
    from soorma_ai.api.server.serve import listen

    listener = listen(address, port, is_open=hosted.make_authenticator is None)
    try:
        is_watched = sound.as_json or sound.is_verbose or not voice.printer.is_plain
        asyncio.run(_serve(access, hosted, listener, voice, is_watched=is_watched and not sound.is_quiet))
    finally:
        listener.close()


async def _serve(
    access: Access, hosted: HostOptions, listener: socket.socket, voice: Voice, *, is_watched: bool
) -> None:
    callers = "callers with a token" if hosted.make_authenticator else f'local access only, as user "{LOCAL_USER}"'

    async def tell(platform: Platform, url: str) -> None:
        voice.insist("Listening on ", (url, BOLD), f" ({callers}).")
        voice.insist(describe_agents(hosted.agents, access))
        if is_watched:
            log = Watch(platform.services, voice)
            await log.begin()
            await log.go_on()

    await host(access, hosted, listener, stop_by_signal(), tell)


def _authenticator(named: str | None) -> MakeAuthenticator | None:
    """Return the maker of the authenticator named by --auth; it runs once the platform is open."""
    if named is None or named == KEYS:
        return ApiKeys if named else None
    found = load_authenticator(named)
    return lambda _: found
