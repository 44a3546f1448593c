"""Async client of a platform, over HTTP."""

from soorma_ai.api.clients.asynchronous import AsyncKernelClient
from soorma_ai.features.dead_letters.client import AsyncDeadLetters
from soorma_ai.features.human_tasks.client import AsyncInbox
from soorma_ai.features.knowledge.client import AsyncMemos
from soorma_ai.features.plan_memory.client import AsyncSessions, AsyncWorkingMemory
from soorma_ai.features.tracking.client import AsyncPlanReader
from soorma_ai.features.tracking.rows import AsyncTracker
from soorma_ai.features.trials.cases.client import AsyncCases
from soorma_ai.features.trials.client import AsyncTrials
from soorma_ai.features.trials.forks.client import AsyncForks
from soorma_ai.features.trials.retirement.client import AsyncModels


class AsyncMemory(AsyncWorkingMemory, AsyncMemos):
    """Working memory of plans, and long-term memory (see AsyncMemos). Every call about a plan raises NotFound for a
    plan invisible to its caller."""


class AsyncClient(
    AsyncKernelClient,
    AsyncCases,
    AsyncDeadLetters,
    AsyncForks,
    AsyncModels,
    AsyncPlanReader,
    AsyncSessions,
    AsyncTrials,
):
    """A platform that is served at a URL, as the holder of a token: the calls of `PlatformClient`.

    After a lost answer, only safe calls are sent again: those without changes, and those with a key. `submit`,
    `request`, `ask`, `publish` and `answer` make a key if none is given. Close the client by `async with`, or `aclose`.
    """

    @property
    def memory(self) -> AsyncMemory:
        """Calls of memory."""
        return AsyncMemory(self._caller)

    @property
    def tracker(self) -> AsyncTracker:
        """Calls about the progress of plans."""
        return AsyncTracker(self._caller)

    @property
    def inbox(self) -> AsyncInbox:
        """Calls about questions, beside `answer`."""
        return AsyncInbox(self._caller)
