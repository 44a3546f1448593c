"""Client of a store's owner process on this machine, through its control socket."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from soorma_ai.api.clients.messages import post
from soorma_ai.api.clients.sender import Sender
from soorma_ai.api.clients.transport import timed_out, way_by
from soorma_ai.api.tokens import name_token
from soorma_ai.clients.asynchronous import AsyncClient
from soorma_ai.errors import ConfigError, ServerUnavailable, StoreUnavailable
from soorma_ai.features.trials.owner_ledger import OwnerTrialLedger
from soorma_ai.kernel.domain.identity import ApiKey
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.plans import PlanStatus
from soorma_ai.kernel.ports import Forgotten, Pruned

# Nobody looks the name up: what is asked goes to the socket.
_URL = "http://localhost"

T = TypeVar("T")


class OwnerGone(StoreUnavailable):
    """No answer on this socket any more; look up the owner of the file again."""

    code = "owner_gone"


class OwnerClient(AsyncClient):
    """Calls of a person to the owner behind a socket. The owner trusts its own user with the person's name."""

    def __init__(self, socket: Path, person: Person, *, timeout: float) -> None:
        # By what a call ends is looked at, before it is made again.
        super().__init__(_URL, token=name_token(person), transport=way_by(socket), timeout=timeout, tries=1)

    async def prune(
        self,
        older_than: timedelta,
        statuses: Sequence[PlanStatus | str],
        *,
        after: str | None = None,
        batches: int | None = None,
    ) -> Pruned:
        """Remove this number of batches of ended work, by default one, behind the place `after`."""
        body = {"older_than": older_than, "statuses": statuses, "batches": batches or 1, "after": after}
        return await self._caller.read(post("prune", body=body), Pruned)

    async def forget(self, user_id: str, *, batches: int | None = None) -> Forgotten:
        """Remove this number of batches of a user's data, by default one."""
        return await self._caller.read(post("forget", body={"user_id": user_id, "batches": batches or 1}), Forgotten)

    @property
    def keys(self) -> "OwnerKeys":
        return OwnerKeys(self._caller)

    @property
    def trial_ledger(self) -> OwnerTrialLedger:
        return OwnerTrialLedger(self._caller)


class OwnerKeys:
    def __init__(self, caller: Sender) -> None:
        self._caller = caller

    async def add(self, key: ApiKey) -> None:
        await self._caller.ask(post("keys", body={"key": key}))

    async def revoke(self, key_id: str) -> bool:
        """End a key. False for a revoked one. Raise NotFound."""
        return await self._caller.read_key(post("keys", key_id, "revoke", body={}), "revoked", bool)


async def ask_owner(socket: Path, person: Person, do: Callable[[OwnerClient], Awaitable[T]], *, timeout: float) -> T:
    """Return the result of `do`. Raise the owner's error, as the class it had there; OwnerGone without an answer;
    ConfigError for the socket of another user; StoreUnavailable for a call longer than `timeout` seconds."""
    try:
        async with OwnerClient(socket, person, timeout=timeout) as client:
            return await do(client)
    except ServerUnavailable as error:
        if timed_out(error):
            said = f"the owner behind {socket} gave no answer in {timeout} s: try again later"
            raise StoreUnavailable(said) from error
        if _was_refused(error):
            raise ConfigError(
                f"{socket} belongs to another user: run this as the user who started the owner"
            ) from error
        raise OwnerGone(f"the owner behind {socket} is gone ({error}): look again who owns the file") from error


def _was_refused(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, PermissionError):
            return True
        error = error.__cause__ or error.__context__
    return False
