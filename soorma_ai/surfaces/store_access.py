"""Access of commands to a store or a server. `apps.cli` gives the body."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click
from msgspec import Struct

from soorma_ai.errors import ConfigError

if TYPE_CHECKING:
    from soorma_ai.kernel.domain.identity import ApiKey
    from soorma_ai.kernel.domain.people import Person
    from soorma_ai.kernel.domain.plans import PlanStatus
    from soorma_ai.kernel.ports import Forgotten, Pruned
    from soorma_ai.kernel.runtime.client.client import Client
    from soorma_ai.kernel.sql.storage import FeatureSet
    from soorma_ai.surfaces.options import Access

T = TypeVar("T")
ClientKind = TypeVar("ClientKind", covariant=True)


class KeyCalls(Protocol):
    """Changes of API keys."""

    async def add(self, key: "ApiKey") -> None: ...

    async def revoke(self, key_id: str) -> bool: ...


class OwnerCalls(Protocol):
    """Calls of the owner of a store, in its process or through its socket."""

    async def prune(
        self,
        older_than: timedelta,
        statuses: "Sequence[PlanStatus | str]",
        *,
        after: str | None = None,
        batches: int | None = None,
    ) -> "Pruned": ...

    async def forget(self, user_id: str, *, batches: int | None = None) -> "Forgotten": ...

    @property
    def keys(self) -> KeyCalls: ...


class StoreAccess(Protocol[ClientKind]):
    """Calls of one command. `ClientKind` has the calls of the command's features; that of the root has all."""

    @property
    def has_owner(self) -> bool:
        """Tell whether the last change was made by an owner or a server."""
        ...

    def look_up(self, find: "Callable[[ClientKind], Awaitable[T]]") -> T:
        """Read the committed state. Raise NotFound for no store, ServerUnavailable for no server."""
        ...

    def look_into_store(self, find: "Callable[[Client], Awaitable[T]]") -> T:
        """Read the committed state of the store. Raise NotFound for no store."""
        ...

    def keep(self, do: "Callable[[OwnerCalls], Awaitable[T]]") -> T:
        """Make a call of the store's owner. Raise StoreUnavailable for an owner out of reach, and the call's errors."""
        ...

    def steer(self, do: "Callable[[ClientKind], Awaitable[T]]") -> T:
        """Make a call of the owner or of the server. Raise as `keep` does, and ServerUnavailable."""
        ...

    def steer_beside(self, do: "Callable[[Client, ClientKind], Awaitable[T]]") -> T:
        """Make calls of the owner, beside a client that reads the committed state by the prompts of the command. Raise
        as `keep` does."""
        ...


class OpenStore(Protocol):
    """Opens the access of one command, as a person: without one, as the local operator."""

    def __call__(self, access: "Access", person: "Person | None" = None) -> StoreAccess[Any]: ...


class CommandSetup(Struct, frozen=True):
    """Object of the click context. `load` imports and returns the body, since help and completion need none."""

    load: Callable[[], OpenStore]
    load_features: "Callable[[], FeatureSet]"


def features_of_command() -> "FeatureSet":
    """Return the features of this installation. Raise ConfigError outside of the `soorma` program."""
    return _setup().load_features()


def _setup() -> CommandSetup:
    setup = click.get_current_context().find_object(CommandSetup)
    if setup is None:
        raise ConfigError("this command runs below `soorma` only: add it to the commands of apps.cli.main")
    return setup


def open_store(access: "Access", person: "Person | None" = None) -> StoreAccess[Any]:
    """Return the access of the command in progress. Raise ConfigError outside of the `soorma` program."""
    return _setup().load()(access, person)
