"""Access of commands: the store's file, read beside its owner and written through it, or a server."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from soorma_ai.adapters.prompts import PromptFiles
from soorma_ai.adapters.single_writer.lock import AlreadyOwned, owner_of
from soorma_ai.assembly import make_clock, make_store
from soorma_ai.clients.protocol import PlatformClient
from soorma_ai.errors import ConfigError, NotFound, StoreUnavailable
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.handling.process.signals import Signals
from soorma_ai.local_client import LocalClient as Client
from soorma_ai.platform import Platform
from soorma_ai.settings import is_postgres, read_settings, sqlite_path
from soorma_ai.surfaces.options import LOCAL_USER, Access, ServerOption

if TYPE_CHECKING:
    from soorma_ai.clients.asynchronous import AsyncClient
    from soorma_ai.clients.owner import OwnerClient
    from soorma_ai.surfaces.store_access import OwnerCalls

ANSWER_SECONDS = 30.0
MOST_TRIES = 100
PAUSE_SECONDS = 0.1
PURPOSE = "a soorma command"
SERVER_TRIES = 3

T = TypeVar("T")


@asynccontextmanager
async def read_only_client(access: Access) -> AsyncGenerator[Client]:
    """Open a client of the committed state; it needs no owner and disturbs none. Raise NotFound for no store."""
    if not is_postgres(access.store_url):
        _file(access)
    clock = await make_clock(access.store_url)
    store = make_store(access.store_url, read_only=True)
    await store.open(clock.now())
    try:
        prompts = PromptFiles(*access.prompts_dirs, *read_settings(access.store_url).prompts_dirs)
        services = Services(store, clock, prompts, Signals())
        yield Client(services, Person(access.tenant_id, LOCAL_USER))
    finally:
        await store.close()


@asynccontextmanager
async def server_client(server: ServerOption) -> AsyncGenerator["AsyncClient"]:
    """Open a client of a server, with few tries: a person waits at the terminal."""
    from soorma_ai.clients.asynchronous import AsyncClient

    async with AsyncClient(server.url, token=server.token, tries=SERVER_TRIES) as client:
        yield client


@asynccontextmanager
async def reading_client(access: Access) -> AsyncGenerator[PlatformClient]:
    """Open a client of the server, if one is named, else of the store."""
    if access.server is not None:
        async with server_client(access.server) as remote:
            yield remote
    else:
        async with read_only_client(access) as client:
            yield client


def look_up(access: Access, find: Callable[[PlatformClient], Awaitable[T]]) -> T:
    """Read the committed state by `find`. Raise NotFound for no store, ServerUnavailable for no server."""

    async def look() -> T:
        async with reading_client(access) as client:
            return await find(client)

    return asyncio.run(look())


def look_into_store(access: Access, find: Callable[[Client], Awaitable[T]]) -> T:
    """Read the store by `find`. Raise NotFound for no store."""

    async def look() -> T:
        async with read_only_client(access) as client:
            return await find(client)

    return asyncio.run(look())


class CommandRunner:
    """Body of `StoreAccess`: calls the server, or the owner of the file, or in this process when there is none."""

    def __init__(self, access: Access, person: Person | None = None) -> None:
        self._access = access
        self._person = person or Person(access.tenant_id, LOCAL_USER)
        self.has_owner = False

    def look_up(self, find: Callable[[PlatformClient], Awaitable[T]]) -> T:
        return look_up(self._access, find)

    def look_into_store(self, find: Callable[[Client], Awaitable[T]]) -> T:
        return look_into_store(self._access, find)

    def keep(self, do: "Callable[[OwnerCalls], Awaitable[T]]") -> T:
        """Make a call of the owner. Raise StoreUnavailable for an owner out of reach, and the call's errors."""
        return asyncio.run(self._run(do))

    def steer(self, do: Callable[[PlatformClient], Awaitable[T]]) -> T:
        """Make a call of the owner or of the server. Raise as `keep` does, and ServerUnavailable."""
        server = self._access.server
        return asyncio.run(self._run(do) if server is None else self._ask(server, do))

    def steer_beside(self, do: Callable[[Client, PlatformClient], Awaitable[T]]) -> T:
        """Make calls of the owner, beside a reading client. Raise as `keep` does."""

        async def read_beside(owner: PlatformClient) -> T:
            async with read_only_client(self._access) as reader:
                return await do(reader, owner)

        return asyncio.run(self._run(read_beside))

    async def _ask(self, server: ServerOption, do: Callable[[PlatformClient], Awaitable[T]]) -> T:
        self.has_owner = True
        async with server_client(server) as client:
            return await do(client)

    async def _run(self, do: "Callable[[Client | OwnerClient], Awaitable[T]]") -> T:
        """Look for the file's owner, again and again: an owner may end during the call, and another begin meanwhile. A
        database on a server has none."""
        if is_postgres(self._access.store_url):
            self.has_owner = True
            async with Platform(self._access.store_url, purpose=PURPOSE) as platform:
                return await do(Client(platform.services, self._person))
        reason: Exception | None = None
        path = _file(self._access)
        for _ in range(MOST_TRIES):
            # Where somebody has removed the file that names it, the owner shows when one wants to become it.
            owner = owner_of(path) or (reason.info if isinstance(reason, AlreadyOwned) else None)
            self.has_owner = owner is not None
            if owner is not None:
                from soorma_ai.clients.owner import OwnerGone, ask_owner

                try:
                    return await ask_owner(owner.socket, self._person, do, timeout=ANSWER_SECONDS)
                except OwnerGone as error:
                    reason = error
            else:
                try:
                    async with Platform(self._access.store_url, purpose=PURPOSE) as platform:
                        return await do(Client(platform.services, self._person))
                except AlreadyOwned as error:
                    reason = error
            await asyncio.sleep(PAUSE_SECONDS)
        seconds = MOST_TRIES * PAUSE_SECONDS
        raise StoreUnavailable(f"{path} has an unreachable owner, for {seconds:.0f} s now: {reason}") from reason


def _file(access: Access) -> Path:
    path = sqlite_path(access.store_url)
    if path is None:
        raise ConfigError(
            f"--store {access.store_url}: a store in memory has no data for another process; give sqlite:///FILE"
        )
    if not path.is_file():
        raise NotFound(f"there is no store at {path}: give --store URL, or run agents here once")
    return path
