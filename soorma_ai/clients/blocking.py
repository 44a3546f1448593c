"""The same calls for programs without an event loop: each is that of `asynchronous`, over a line that blocks."""

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

if TYPE_CHECKING:
    import httpx


class Memory(WorkingMemory[AsyncMemory], BlockingMemos[AsyncMemory]):
    """The working memory of plans, and long-term memory. Every call about a plan raises NotFound for a plan that its
    caller does not see."""


class Client(
    BlockingCalls[AsyncClient],
    BlockingDeadLetters[AsyncClient],
    BlockingPlanReader[AsyncClient],
    BlockingSessions[AsyncClient],
):
    """A platform that is served at a URL, as the holder of a token, for programs without an event loop.

    Only safe calls are sent again when an answer is lost; see `AsyncClient`. Close it by `with`, or `close`.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        transport: "httpx.BaseTransport | None" = None,
        **options: Unpack[ClientOptions],
    ) -> None:
        """`transport` is another way than TCP, such as `httpx.HTTPTransport(uds=...)`. Raise ConfigError."""
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
        """Return the calls of memory."""
        return Memory(self.calls.memory)

    @property
    def tracker(self) -> BlockingTracker:
        """Return the calls that tell how far plans are."""
        return BlockingTracker(self.calls.tracker)

    @property
    def inbox(self) -> BlockingInbox:
        """Return the calls about questions beside answering them."""
        return BlockingInbox(self.calls.inbox)
