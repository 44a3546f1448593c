"""Calls that read a plan for people: its trace, its prompts, its progress."""

from typing import TYPE_CHECKING

from soorma_ai.features.tracking.tracker import Tracker
from soorma_ai.kernel.domain.calls import Act, CallTable
from soorma_ai.kernel.domain.history import SentPrompt
from soorma_ai.kernel.domain.parameters import Id, Ordinal
from soorma_ai.kernel.rules.authority import SEE_PROMPT
from soorma_ai.kernel.runtime.client.operator import OperatorCalls

if TYPE_CHECKING:
    from soorma_ai.features.tracking.trace import Trace

CALLS = CallTable()


class PlanReader(OperatorCalls):
    """Reads plans for people. `tracker` has the calls for their progress."""

    @CALLS("GET /plans/{plan_id}/prompt", SEE_PROMPT, "show_prompt")
    async def prompt(self, plan_id: Id, decision: Ordinal | None = None) -> SentPrompt:
        """Return the messages to the model for a `decision` of a plan, counted from 1; by default the last one. They
        are rendered again from stored data, with a mark at every difference from the original. Raise NotFound."""
        # Few programs look at prompts, and what makes them is large.
        from soorma_ai.features.tracking.prompts import prompt_of

        return await prompt_of(self.services, self.person, plan_id, decision)

    @CALLS.local(Act.SEE)
    async def trace(self, plan_id: Id) -> "Trace":
        """Return the causes of everything in a plan: each effect with its author, cause and time. Raise NotFound.

        `soorma_ai.features.tracking.story.print_trace` prints it.
        """
        from soorma_ai.features.tracking.plan_views import trace_of

        return await trace_of(self.services, self.person, plan_id)

    @property
    def tracker(self) -> Tracker:
        return Tracker(self.services, self.person)


def reader_of(client: OperatorCalls) -> PlanReader:
    """Return the reading calls of a client's person."""
    return PlanReader(client.services, client.person)
