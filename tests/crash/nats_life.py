"""A life with its bus on a NATS server: its clock, and its repeated deliveries."""

from collections.abc import Awaitable, Callable, Sequence

from soorma_ai.adapters.nats import bus as nats
from soorma_ai.adapters.nats import configuration
from soorma_ai.kernel.ports import Brought, StoredEvent


class InsistentNats(nats.NatsBus):
    """Delivers every message twice. `last` is the newest bus of this process."""

    last: "InsistentNats"

    async def subscribe(self, receive: nats.Receive) -> None:
        async def receive_twice(brought: Sequence[Brought]) -> None:
            await receive(brought)
            await receive(brought)

        self._receive: Callable[[Sequence[Brought]], Awaitable[None]] = receive_twice
        InsistentNats.last = self
        await super().subscribe(receive_twice)

    async def bring_again(self, rows: Sequence[StoredEvent]) -> None:
        """Receive the rows again directly, since the server would not redeliver them so soon."""
        await self._receive([Brought(row.event) for row in rows])


def begin(hurry: float) -> None:
    """Shorten the redelivery of unacknowledged messages by the factor of the life's clock."""
    configuration.ACK_WAIT /= hurry
    configuration.DUPLICATES_KNOWN /= hurry
    nats.NatsBus = InsistentNats
