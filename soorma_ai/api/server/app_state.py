"""State of one application, for all its calls: the platform, the newest events, and whether it is ending."""

import asyncio
from collections.abc import Coroutine
from contextlib import AbstractContextManager
from typing import TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from soorma_ai.api.operation import Form
from soorma_ai.api.server.tail import Tail, tree_key
from soorma_ai.api.server.tenant_stats import TenantCounts
from soorma_ai.errors import DeadlineExceeded, LocalProtocolError, StoreUnavailable
from soorma_ai.kernel.domain.identity import Caller
from soorma_ai.kernel.runtime.client.client import Client
from soorma_ai.kernel.runtime.handling.handling import Services

T = TypeVar("T")


class Call(Struct, frozen=True):
    """Call of an operation: the client of its caller, the fields `asked` in path and query and `sent` in the body, its
    idempotency key, and the place of the last event of its stream."""

    client: Client
    asked: Form
    sent: Form
    surroundings: "AppState"
    key: str | None = None
    last_event_id: int | None = None


class AppState:
    """State of an application. Trusted callers may name the root; their changes are not recorded, as with the owner's
    direct use of the store."""

    def __init__(self, platform: Client, *, trusts_callers: bool = False) -> None:
        self._platform = platform
        self._trusts_callers = trusts_callers
        self._ending = asyncio.Event()
        self.tail = Tail()
        self.counts = TenantCounts()
        self._kept: dict[type, object] = {}

    def keep(self, one: object) -> None:
        """Keep an object of a feature, by its type, for the calls of this application."""
        self._kept[type(one)] = one

    def find(self, kind: type[T]) -> T | None:
        """Return the object of this type; None without one."""
        return cast("T | None", self._kept.get(kind))

    @property
    def services(self) -> Services:
        """Raise StoreUnavailable while the platform is not open."""
        try:
            return self._platform.services
        except LocalProtocolError as error:
            raise StoreUnavailable("the platform is not open: try again later") from error

    def client_of(self, caller: Caller) -> Client:
        """Return the calls of this person; without trust in callers it is never the root, with any token."""
        services = self.services
        if self._trusts_callers:
            return Client(services, caller.person)
        person = replace(caller.person, roles=caller.person.roles or frozenset[str]())
        return self._platform.as_caller(replace(caller, person=person))

    @property
    def is_ending(self) -> bool:
        return self._ending.is_set()

    def end(self) -> None:
        """End the streams, and answer waiting calls."""
        self._ending.set()
        self.tail.wake_all()

    def follow_tree(self, root_plan_id: str) -> AbstractContextManager[asyncio.Event]:
        """An event that is set when something has come for a tree of plans."""
        return self.tail.follow(tree_key(root_plan_id), self.services)

    async def wait_for_end(self) -> None:
        """Wait until the server ends."""
        await self._ending.wait()

    async def wait_for(self, work: Coroutine[object, object, T], seconds: float) -> T:
        """Return the result of `work`; it raises DeadlineExceeded by itself after these seconds. Raise DeadlineExceeded
        when the server ends first."""
        if seconds <= 0:
            return await work
        working, ending = asyncio.ensure_future(work), asyncio.ensure_future(self._ending.wait())
        try:
            await asyncio.wait((working, ending), return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise DeadlineExceeded("the server is ending: ask again")
            return working.result()
        finally:
            ending.cancel()
            working.cancel()
