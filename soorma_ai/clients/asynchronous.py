"""The calls of a program outside, over HTTP."""

from soorma_ai.api.clients.asynchronous import AsyncKernelClient
from soorma_ai.api.clients.views import AsyncWorkingMemory
from soorma_ai.features.human_tasks.client import AsyncInbox
from soorma_ai.features.knowledge.client import AsyncMemos


class AsyncMemory(AsyncWorkingMemory, AsyncMemos):
    """The working memory of plans; every call raises NotFound for a plan that is not there for who calls. What outlives
    plans is explained by AsyncMemos."""


class AsyncClient(AsyncKernelClient):
    """A platform that is served at a URL, as the holder of a token: the calls of `PlatformClient`.

    Only what is safe is sent again when an answer is lost: what reads, and what has a key of its own, which `submit`,
    `request`, `ask`, `publish` and `answer` make where none is given. Close it by `async with`, or `aclose`.
    """

    @property
    def memory(self) -> AsyncMemory:
        """Return the calls that read and write the working memory of plans."""
        return AsyncMemory(self._caller)

    @property
    def inbox(self) -> AsyncInbox:
        """Return the calls that do something about questions, beside answering them."""
        return AsyncInbox(self._caller)
