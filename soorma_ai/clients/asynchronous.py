"""The calls of a program outside, over HTTP."""

from soorma_ai.api.clients.asynchronous import AsyncKernelClient
from soorma_ai.features.dead_letters.client import AsyncDeadLetters
from soorma_ai.features.human_tasks.client import AsyncInbox
from soorma_ai.features.knowledge.client import AsyncMemos
from soorma_ai.features.plan_memory.client import AsyncSessions, AsyncWorkingMemory
from soorma_ai.features.tracking.client import AsyncPlanReader
from soorma_ai.features.tracking.rows import AsyncTracker


class AsyncMemory(AsyncWorkingMemory, AsyncMemos):
    """The working memory of plans, and long-term memory (see AsyncMemos). Every call about a plan raises NotFound for a
    plan that its caller does not see."""


class AsyncClient(AsyncKernelClient, AsyncDeadLetters, AsyncPlanReader, AsyncSessions):
    """A platform that is served at a URL, as the holder of a token: the calls of `PlatformClient`.

    When an answer is lost, only safe calls are sent again: those that read, and those with a key. `submit`, `request`,
    `ask`, `publish` and `answer` make a key where none is given. Close the client by `async with`, or `aclose`.
    """

    @property
    def memory(self) -> AsyncMemory:
        """Return the calls of memory."""
        return AsyncMemory(self._caller)

    @property
    def tracker(self) -> AsyncTracker:
        """Return the calls that tell how far plans are."""
        return AsyncTracker(self._caller)

    @property
    def inbox(self) -> AsyncInbox:
        """Return the calls about questions beside answering them."""
        return AsyncInbox(self._caller)
