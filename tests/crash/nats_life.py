"""A life whose bus is on a NATS server: its clock, and how it is brought everything twice."""

from collections.abc import Awaitable, Callable, Sequence

from soorma_ai.adapters.nats import bus as nats
from soorma_ai.adapters.nats import configuration
from soorma_ai.kernel.ports import Brought, StoredEvent


class InsistentNats(nats.NatsBus):
    """Brings everything twice, as it may. `last` is the one that this process has opened last."""

    last: "InsistentNats"

    async def subscribe(self, receive: nats.Receive) -> None:
        async def twice(brought: Sequence[Brought]) -> None:
            await receive(brought)
            await receive(brought)

        self._receive: Callable[[Sequence[Brought]], Awaitable[None]] = twice
        InsistentNats.last = self
        await super().subscribe(twice)

    async def bring_again(self, rows: Sequence[StoredEvent]) -> None:
        """The server would carry none of it again, so soon."""
        await self._receive([Brought(row.event) for row in rows])


def begin(hurry: float) -> None:
    """Let what was in hand be brought again by the clock of the rest."""
    configuration.ACK_WAIT /= hurry
    configuration.DUPLICATES_KNOWN /= hurry
    nats.NatsBus = InsistentNats
