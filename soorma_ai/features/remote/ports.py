"""The part of a store for leases of agents in other processes."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

from msgspec import Struct

from soorma_ai.kernel.ports import Delivery, StoreKey

FEATURE = "remote"
MOST_LOANS = 2**29 - 1


class Borrower(Struct, frozen=True):
    """Remote process with a request for deliveries: its name, the number of this loan to it, and that of the last loan
    it got."""

    process: str
    loan: int
    last: int | None = None


class Leases(Protocol):
    """Leases that do not end with this process."""

    async def lend(
        self,
        agent: str,
        now: datetime,
        lease: timedelta,
        limit: int,
        held: Sequence[int] = (),
        borrower: Borrower | None = None,
    ) -> list[Delivery]:
        """Claim for an agent in another process; these leases outlive this one. A poison candidate comes by itself, if
        there is nothing else. Take back the deliveries lent to this `borrower` since the last loan it got, unless it
        holds them: its answer was lost, and this is no attempt."""
        ...

    async def find_leased(self, seq: int, fence: int) -> Delivery | None:
        """Return the delivery of this row, while it is leased under this fence."""
        ...

    async def outcome(self, agent: str, seq: int, fence: int) -> str | None:
        """Return the `outcome` of a delivery of this agent, committed under this fence; None without a commit, or
        without one."""
        ...

    async def has_work(self, agent: str, now: datetime) -> bool:
        """Tell whether something may be claimed for this agent, a suspect too."""
        ...


LEASES: StoreKey[Leases] = StoreKey("leases", feature=FEATURE)
