"""Access of commands to a store or a server. `apps.cli` gives the body."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

import click
from msgspec import Struct

from soorma_ai.errors import ConfigError

if TYPE_CHECKING:
    from soorma_ai.api.clients.owner import OwnerCalls
    from soorma_ai.api.clients.protocol import PlatformClient
    from soorma_ai.kernel.domain.people import Person
    from soorma_ai.kernel.runtime.client.client import Client
    from soorma_ai.surfaces.options import Access

T = TypeVar("T")


class StoreAccess(Protocol):
    """Calls of one command."""

    def look_up(self, find: "Callable[[PlatformClient], Awaitable[T]]") -> T:
        """Read the committed state. Raise NotFound for no store, ServerUnavailable for no server."""
        ...

    def look_into_store(self, find: "Callable[[Client], Awaitable[T]]") -> T:
        """Read the committed state of the store. Raise NotFound for no store."""
        ...

    def keep(self, do: "Callable[[OwnerCalls], Awaitable[T]]") -> T:
        """Make a call of the store's owner. Raise StoreUnavailable for an owner out of reach, and the call's errors."""
        ...

    def steer(self, do: "Callable[[PlatformClient], Awaitable[T]]") -> T:
        """Make a call of the owner or of the server. Raise as `keep` does, and ServerUnavailable."""
        ...


class OpenStore(Protocol):
    """Opens the access of one command, as a person: without one, as the local operator."""

    def __call__(self, access: "Access", person: "Person | None" = None) -> StoreAccess: ...


class CommandSetup(Struct, frozen=True):
    """Object of the click context. `load` imports and returns the body, since help and completion need none."""

    load: Callable[[], OpenStore]


def open_store(access: "Access", person: "Person | None" = None) -> StoreAccess:
    """Return the access of the command in progress. Raise ConfigError outside of the `soorma` program."""
    setup = click.get_current_context().find_object(CommandSetup)
    if setup is None:
        raise ConfigError("this command runs below `soorma` only: add it to the commands of apps.cli.main")
    return setup.load()(access, person)
