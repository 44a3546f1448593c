"""Agents of this process and their platform, served over HTTP, for `serve` and `dev`."""

import asyncio
import socket
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from msgspec import Struct

from soorma_ai.agents.agent import Agent
from soorma_ai.agents.mounts import Door, Inlet
from soorma_ai.apps.cli.session import open_platform
from soorma_ai.errors import ConfigError
from soorma_ai.kernel.ports import Authenticator
from soorma_ai.platform import Platform
from soorma_ai.settings import place_of_store, read_bounds, read_sign_in
from soorma_ai.surfaces.options import Access

if TYPE_CHECKING:
    from soorma_ai.adapters.tokens.code_flow import CodeFlow
    from soorma_ai.api.server.connections import ConnectionBounds
    from soorma_ai.server import Options

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8700

MakeAuthenticator = Callable[[Platform], Authenticator]
# What is done beside serving, from when calls are taken until they are not.
Beside = Callable[[Platform, str], Coroutine[None, None, None]]


class HostOptions(Struct, frozen=True):
    """Options of the host. `roles` are those of local callers, `names` its host names, `sites` may show queues in their
    pages. Without `make_authenticator`, only programs of this machine have access."""

    agents: Sequence[Agent]
    roles: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    make_authenticator: MakeAuthenticator | None = None
    sites: tuple[str, ...] = ()


async def host(
    access: Access, hosted: HostOptions, listener: socket.socket, until: asyncio.Event, beside: Beside
) -> None:
    """Run the agents and serve their platform until the event is set, or until a task beside it fails."""
    from soorma_ai.api.server.serve import serve, url_of
    from soorma_ai.apps.console import Console
    from soorma_ai.gateways.user_agent import UserAgent
    from soorma_ai.server import Options, app

    bounds, options = _bounds()
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
        options |= Options(roles=hosted.roles, inlets=inlets, doors=doors, site=site)
        if hosted.names:
            options["hosts"] = hosted.names
        served = app(platform, auth=make(platform) if make else None, **options)
        tasks: list[asyncio.Task[None]] = []

        def begin() -> None:
            task = asyncio.create_task(beside(platform, url))
            task.add_done_callback(lambda done: done.cancelled() or (done.exception() and until.set()))
            tasks.append(task)

        try:
            await serve(served, listener, until, begin, bounds)
        finally:
            await _end(tasks)


def _bounds() -> "tuple[ConnectionBounds, Options]":
    """Return the limits of connections, and of the streams among them. Raise ConfigError."""
    from soorma_ai.api.server.connections import ConnectionBounds
    from soorma_ai.api.server.proxies import TrustedProxies
    from soorma_ai.api.server.rates import MOST_CALLS_OF_TENANT, MOST_STREAMS, MOST_STREAMS_EACH, MOST_STREAMS_OF_TENANT
    from soorma_ai.api.server.serve import most_connections
    from soorma_ai.server import Options

    given = read_bounds()
    most = most_connections(given.connections)
    # The other half is for calls.
    streams = max(1, min(MOST_STREAMS, most // 2))
    of_tenant = given.streams_of_tenant or min(MOST_STREAMS_OF_TENANT, most // 8)
    of_tenant = max(1, min(of_tenant, streams))
    bounds = ConnectionBounds(
        most,
        given.of_address or max(1, most // 2),
        given.header_seconds,
        given.idle_seconds,
        proxies=TrustedProxies(given.proxies),
    )
    return bounds, Options(
        most_streams=streams,
        most_streams_each=min(MOST_STREAMS_EACH, of_tenant),
        most_streams_of_tenant=of_tenant,
        most_calls_of_tenant=max(1, min(MOST_CALLS_OF_TENANT, most // 4)),
    )


def _secret(access: Access, *, is_open: bool) -> str:
    """Return the secret of the console; without sign-in, none need be kept."""
    from soorma_ai.surfaces.secret import secret_of_store

    try:
        return secret_of_store(place_of_store(access.store_url))
    except ConfigError:
        if is_open:
            return secret_of_store(None)
        raise


def _provider() -> "CodeFlow | None":
    """Return the provider that the environment names. Raise ConfigError."""
    said = read_sign_in()
    if said is None:
        return None
    from soorma_ai.adapters.tokens.code_flow import ClientRegistration, CodeFlow

    known = ClientRegistration(said.issuer, said.client_id, said.url, said.client_secret, said.scopes)
    return CodeFlow(known, names=said.names)


async def _end(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel the running tasks, and raise the error of a failed one."""
    for task in tasks:
        task.cancel()
    for ended in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(ended, Exception):
            raise ended
