"""What commands look at and change: the store's file, read beside its owner and written through it, or a server. And
what an id on the command line means."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from soorma_ai.adapters.prompts import PromptFiles
from soorma_ai.adapters.single_writer.lock import AlreadyOwned, owner_of
from soorma_ai.api.clients.calls import KernelCalls
from soorma_ai.assembly import make_clock, make_store
from soorma_ai.clients.protocol import PlatformClient
from soorma_ai.errors import ConfigError, NotFound, StoreUnavailable
from soorma_ai.kernel.domain.dead_letters import Letter
from soorma_ai.kernel.domain.expectations import ExpectationStatus
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.runtime.client.client import Client
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.handling.process.signals import Signals
from soorma_ai.kernel.runtime.views.plans import ACTIVE
from soorma_ai.platform import Platform
from soorma_ai.settings import is_postgres, sqlite_path
from soorma_ai.surfaces.options import LOCAL_USER, SHORTEST_PREFIX, Access, Server

if TYPE_CHECKING:
    from soorma_ai.clients.asynchronous import AsyncClient
    from soorma_ai.clients.owner import OwnerCalls, OwnerClient

ANSWER_SECONDS = 30.0
MOST_TRIES = 100
PAUSE_SECONDS = 0.1
PURPOSE = "a soorma command"
MOST_PLANS = 1_000_000
MOST_QUESTIONS = 1_000
MOST_LETTERS = 1_000_000
LONGEST_NUMBER = 18
MOST_OVER_HTTP = 1_000
SERVER_TRIES = 3
PAGE = 500

T = TypeVar("T")


@asynccontextmanager
async def read_only_client(access: Access) -> AsyncGenerator[Client]:
    """Open a client that sees what is committed; it needs no owner and disturbs none. Raise NotFound for no store."""
    if not is_postgres(access.store_url):
        _file(access)
    clock = await make_clock(access.store_url)
    store = make_store(access.store_url, read_only=True)
    await store.open(clock.now())
    try:
        yield Client(Services(store, clock, PromptFiles(), Signals()), Person(access.tenant_id, LOCAL_USER))
    finally:
        await store.close()


@asynccontextmanager
async def server_client(server: Server) -> AsyncGenerator["AsyncClient"]:
    """Open a client of a server, which does not try for long: somebody waits before a terminal."""
    from soorma_ai.clients.asynchronous import AsyncClient

    async with AsyncClient(server.url, token=server.token, tries=SERVER_TRIES) as client:
        yield client


@asynccontextmanager
async def reading_client(access: Access) -> AsyncGenerator[PlatformClient]:
    """Open a client of the server, where one is to be asked, else of the store."""
    if access.server is not None:
        async with server_client(access.server) as remote:
            yield remote
    else:
        async with read_only_client(access) as client:
            yield client


def look_up(access: Access, find: Callable[[PlatformClient], Awaitable[T]]) -> T:
    """Return what `find` finds in what is committed. Raise NotFound where there is no store, ServerUnavailable where
    there is no server."""

    async def look() -> T:
        async with reading_client(access) as client:
            return await find(client)

    return asyncio.run(look())


def look_into_store(access: Access, find: Callable[[Client], Awaitable[T]]) -> T:
    """Return what `find` finds in the store. Raise NotFound where there is none."""

    async def look() -> T:
        async with read_only_client(access) as client:
            return await find(client)

    return asyncio.run(look())


class CommandRunner:
    """Makes calls of the server, or of the owner of the file, or in this process when there is none."""

    def __init__(self, access: Access, person: Person | None = None) -> None:
        self._access = access
        self._person = person or Person(access.tenant_id, LOCAL_USER)
        self.has_owner = False

    def keep(self, do: "Callable[[OwnerCalls], Awaitable[T]]") -> T:
        """Return what a call of the owner comes to. Raise StoreUnavailable for one out of reach, and what it raised."""
        return asyncio.run(self._run(do))

    def steer(self, do: Callable[[PlatformClient], Awaitable[T]]) -> T:
        """Return what a call comes to, be it of a server. Raise as `keep` does, and ServerUnavailable."""
        server = self._access.server
        return asyncio.run(self._run(do) if server is None else self._ask(server, do))

    async def _ask(self, server: Server, do: Callable[[PlatformClient], Awaitable[T]]) -> T:
        self.has_owner = True
        async with server_client(server) as client:
            return await do(client)

    async def _run(self, do: "Callable[[Client | OwnerClient], Awaitable[T]]") -> T:
        """Look who owns the file, again and again: an owner may end while it is asked, and another begin meanwhile. A
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
        raise StoreUnavailable(
            f"{path} has an owner that cannot be reached, for {seconds:.0f} s now: {reason}"
        ) from reason


async def find_plan(client: KernelCalls, beginning: str) -> str:
    """Return the id of the one plan that begins so. Raise NotFound for none, and for several."""
    with suppress(NotFound):
        return (await client.follow(beginning)).plan_id
    ids = [plan.plan_id for plan in await client.plans(limit=MOST_PLANS)]
    return only_one("plan", _whose(client), beginning, ids)


async def find_wait(client: KernelCalls, beginning: str) -> str:
    """Return the id of the one open question that begins so, else of the one closed question, which a server finds by
    its whole id only. Raise NotFound."""
    with suppress(NotFound):
        return (await client.wait(beginning)).wait_id
    if not isinstance(client, Client):
        ids = [wait.wait_id for wait in await client.waits(limit=MOST_QUESTIONS)]
        return only_one("open question", _whose(client), beginning, ids)
    store, tenant_id = client.services.store, client.person.tenant_id
    asked = await store.plans.questions_beginning(tenant_id, beginning, MOST_QUESTIONS)
    open_now = [one.id for one in asked if one.status is ExpectationStatus.OPEN]
    what = "open question" if open_now else "question"
    return only_one(what, _whose(client), beginning, open_now or [one.id for one in asked])


async def goals_of(client: KernelCalls, plan_ids: Collection[str]) -> dict[str, str]:
    """Return the goals of plans that go on, by their ids."""
    if isinstance(client, Client):
        found = [await client.services.store.plans.plan(plan_id) for plan_id in plan_ids]
    else:
        found = await client.plans(status=ACTIVE, limit=MOST_OVER_HTTP) if plan_ids else []
    return {plan.plan_id: plan.goal_event for plan in found if plan and plan.plan_id in plan_ids}


async def types_of(client: KernelCalls, plan_id: str, event_ids: Iterable[str]) -> dict[str, str]:
    """Return the types of events that came for a plan, by their ids; a server tells those of its tree."""
    if isinstance(client, Client):
        found = [await client.services.store.events.event(event_id) for event_id in event_ids]
        return {event.id: event.type for event in found if event}
    wanted, types, after, is_end = set(event_ids), dict[str, str](), 0, False
    while not is_end and wanted - types.keys():
        page = await client.events(after=after, limit=PAGE, plan_id=plan_id)
        types |= {row.event.id: row.event.type for row in page.events if row.event.id in wanted}
        after, is_end = page.after, page.is_end
    return types


async def find_letter(client: KernelCalls, named: str) -> Letter:
    """Return the letter of this number, whatever became of it, or the one dead letter whose event's id begins so.

    Raise NotFound for none, and for several.
    """
    found: dict[int, Letter] = {}
    if named.isascii() and named.isdigit() and len(named) <= LONGEST_NUMBER:
        with suppress(NotFound):
            one = await client.dead_letter(int(named))
            found[one.letter_id] = one
    if len(named) >= SHORTEST_PREFIX:
        dead = await client.dead_letters(limit=MOST_LETTERS)
        found |= {one.letter_id: one for one in dead if one.event.id.startswith(named)}
    if not found:
        raise NotFound(
            f"no dead letter{_whose(client)} has the number {named!r}, "
            f"nor an event whose id begins so with {SHORTEST_PREFIX} characters or more"
        )
    if len(found) > 1:
        ids = [str(letter_id) for letter_id in sorted(found)]
        some = ", ".join(ids[:3]) + (", …" if len(ids) > 3 else "")
        raise NotFound(f"{named!r} may mean {len(ids)} dead letters; give the number of one: {some}")
    return next(iter(found.values()))


def only_one(what: str, whose: str, beginning: str, ids: Iterable[str]) -> str:
    """Return the one id that begins so. Raise NotFound for none, and for several."""
    found = sorted({id for id in ids if id.startswith(beginning)})
    if not found:
        raise NotFound(f"no {what}{whose} begins with {beginning!r}")
    if len(found) > 1:
        some = ", ".join(found[:3]) + (", …" if len(found) > 3 else "")
        raise NotFound(f"{len(found)} {what}s begin with {beginning!r} ({some}); give more of the id")
    return found[0]


def _whose(client: KernelCalls) -> str:
    """Return the tenant in words; a server says nothing of it."""
    return f" of tenant {client.person.tenant_id!r}" if isinstance(client, Client) else ""


def _file(access: Access) -> Path:
    path = sqlite_path(access.store_url)
    if path is None:
        raise ConfigError(f"--store {access.store_url}: a store in memory has nothing to look at; give sqlite:///FILE")
    if not path.is_file():
        raise NotFound(f"there is no store at {path}: give --store URL, or run agents here once")
    return path
