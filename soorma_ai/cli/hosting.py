"""Agents of this process and their platform, served over HTTP: what `serve` and `dev` share."""

import asyncio
import socket
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from msgspec import Struct

from soorma_ai.agents.agent import Agent
from soorma_ai.cli.options import Access
from soorma_ai.cli.running import open_platform
from soorma_ai.errors import ConfigError
from soorma_ai.platform import Platform
from soorma_ai.ports import Authenticator, Inlet
from soorma_ai.runtime.client.doors import Door
from soorma_ai.settings import place_of_store, read_sign_in

if TYPE_CHECKING:
    from soorma_ai.adapters.tokens.code_flow import CodeFlow

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8700

MakeAuthenticator = Callable[[Platform], Authenticator]
# What is done beside serving, from when calls are taken until they are not.
Beside = Callable[[Platform, str], Coroutine[None, None, None]]


class Hosted(Struct, frozen=True):
    """`roles` are those of local callers, `names` those by which the host is called, `sites` those whose pages may show
    queues. Without `make_authenticator`, only programs of this machine are served."""

    agents: Sequence[Agent]
    roles: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    make_authenticator: MakeAuthenticator | None = None
    sites: tuple[str, ...] = ()


async def host(access: Access, hosted: Hosted, listener: socket.socket, until: asyncio.Event, beside: Beside) -> None:
    """Run the agents and serve their platform until the event is set, or what is done beside it fails."""
    from soorma_ai.console import Console
    from soorma_ai.gateways.user_agent import UserAgent
    from soorma_ai.server import Options, app
    from soorma_ai.server.serving import serve, url_of

    agents, make, url = hosted.agents, hosted.make_authenticator, url_of(listener)
    async with AsyncExitStack() as stack:
        platform = await open_platform(stack, access, agents)
        await platform.start(*agents)
        inlets = [agent for agent in agents if isinstance(agent, Inlet)]
        doors = [agent for agent in agents if isinstance(agent, Door)]
        links = next((agent.links for agent in agents if isinstance(agent, UserAgent) and agent.links), None)
        secret = _secret(access, is_open=make is None)
        provider = _provider() if make else None
        site = Console(secret=secret, links=links, provider=provider, embed_in=hosted.sites)
        options = Options(roles=hosted.roles, inlets=inlets, doors=doors, site=site)
        if hosted.names:
            options["hosts"] = hosted.names
        served = app(platform, auth=make(platform) if make else None, **options)
        tasks: list[asyncio.Task[None]] = []

        def begin() -> None:
            task = asyncio.create_task(beside(platform, url))
            task.add_done_callback(lambda done: done.cancelled() or (done.exception() and until.set()))
            tasks.append(task)

        try:
            await serve(served, listener, until, begin)
        finally:
            await _end(tasks)


def _secret(access: Access, *, is_open: bool) -> str:
    """Return the secret of the console. Where nobody signs in, none need be kept."""
    from soorma_ai.console.secret import kept_secret

    try:
        return kept_secret(place_of_store(access.store_url))
    except ConfigError:
        if is_open:
            return kept_secret(None)
        raise


def _provider() -> "CodeFlow | None":
    """Return the provider that the environment names. Raise ConfigError."""
    said = read_sign_in()
    if said is None:
        return None
    from soorma_ai.adapters.tokens.code_flow import CodeFlow, Registration

    known = Registration(said.issuer, said.client_id, said.url, said.client_secret, said.scopes)
    return CodeFlow(known, names=said.names)


async def _end(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel what goes on, and raise what one of them failed with."""
    for task in tasks:
        task.cancel()
    for ended in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(ended, Exception):
            raise ended
