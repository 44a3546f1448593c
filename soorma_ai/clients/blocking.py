"""Blocking client of a platform, for programs without an event loop: the calls of `asynchronous`."""

from typing import TYPE_CHECKING, Self

from typing_extensions import Unpack

from soorma_ai.api.clients.address import address_of
from soorma_ai.api.clients.asynchronous import ClientOptions, bounds_of
from soorma_ai.api.clients.blocking_calls import BlockingCalls
from soorma_ai.api.clients.blocks import blocking
from soorma_ai.api.clients.transport import BlockingTransport
from soorma_ai.clients.asynchronous import AsyncClient, AsyncMemory
from soorma_ai.features.dead_letters.client import BlockingDeadLetters
from soorma_ai.features.human_tasks.client import BlockingInbox
from soorma_ai.features.knowledge.blocking import BlockingMemos
from soorma_ai.features.plan_memory.blocking import BlockingSessions, WorkingMemory
from soorma_ai.features.tracking.blocking import BlockingPlanReader, BlockingTracker
from soorma_ai.features.trials.cases.client import BlockingCases
from soorma_ai.features.trials.client import BlockingTrials
from soorma_ai.features.trials.forks.client import BlockingForks
from soorma_ai.features.trials.retirement.client import BlockingModels

if TYPE_CHECKING:
    import httpx


class Memory(WorkingMemory[AsyncMemory], BlockingMemos[AsyncMemory]):
    """Working memory of plans, and long-term memory. Every call about a plan raises NotFound for a plan invisible to
    its caller."""


class Client(
    BlockingCalls[AsyncClient],
    BlockingDeadLetters[AsyncClient],
    BlockingPlanReader[AsyncClient],
    BlockingSessions[AsyncClient],
    BlockingTrials[AsyncClient],
    BlockingCases[AsyncClient],
    BlockingForks[AsyncClient],
    BlockingModels[AsyncClient],
):
    """A platform that is served at a URL, as the holder of a token, for programs without an event loop.

    After a lost answer, only safe calls are sent again; see `AsyncClient`. Close it by `with`, or `close`.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        transport: "httpx.BaseTransport | None" = None,
        **options: Unpack[ClientOptions],
    ) -> None:
        """Read the address. Raise ConfigError.

        Args:
            url: URL of the server.
            token: bearer token; None for an open server on this machine.
            transport: another way than TCP, such as `httpx.HTTPTransport(uds=...)`.
            options: see `ClientOptions`.
        """
        address = address_of(url, token)
        super().__init__(AsyncClient.over(BlockingTransport(address, transport), address.url, bounds_of(options)))

    def __repr__(self) -> str:
        return repr(self.calls).removeprefix("Async")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    close = blocking(AsyncClient.aclose)

    @property
    def memory(self) -> Memory:
        """Calls of memory."""
        return Memory(self.calls.memory)

    @property
    def tracker(self) -> BlockingTracker:
        """Calls about the progress of plans."""
        return BlockingTracker(self.calls.tracker)

    @property
    def inbox(self) -> BlockingInbox:
        """Calls about questions, beside `answer`."""
        return BlockingInbox(self.calls.inbox)
