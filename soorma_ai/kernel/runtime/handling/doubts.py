"""Finding out the outcome of a handler that must not run twice: ask its hook, ask a person."""

from collections.abc import Awaitable, Callable

from soorma_ai.kernel.domain.doubts import Finding, StillUnknown
from soorma_ai.kernel.domain.effects import InDoubt
from soorma_ai.kernel.domain.expectations import ExpectationStatus
from soorma_ai.kernel.rules.delivery.disposition import Disposal
from soorma_ai.kernel.rules.delivery.doubts import ask_what_happened, dispose_in_vain, finding_of
from soorma_ai.kernel.rules.schemas.inline import inline
from soorma_ai.kernel.runtime.handling.handling import Handling


async def find_out(handling: Handling, hook: Callable[[], Awaitable[Finding]] | None) -> Finding:
    """Return the finding of a person or the hook. A person's word counts first: they were asked because the hook did
    not know."""
    question = await handling.services.store.plans.expectation(handling.doubt_id)
    if question is not None:
        return finding_of(question)
    if hook is not None:
        return await hook()
    return StillUnknown("the process or the handler ended in the middle of it")


async def last_word(handling: Handling, disposal: Disposal) -> Disposal:
    """Return how the delivery ends. A question about this very doubt is asked once: its answer is the last word."""
    if not isinstance(disposal.disposition, InDoubt):
        return disposal
    question = await handling.services.store.plans.expectation(handling.doubt_id)
    if question is None or question.status is ExpectationStatus.OPEN:
        return disposal
    return dispose_in_vain(question, disposal.disposition.reason)


async def ask_people(handling: Handling, reason: str) -> None:
    if await handling.services.store.plans.expectation(handling.doubt_id) is not None:
        return
    definition = await handling.request_type(handling.event.type)
    owner = handling.delivery.owner
    result_schema = inline(definition.response_schema) if definition and definition.response_schema else {}
    handling.record(*ask_what_happened(handling.doubt_id, owner, reason, result_schema, handling.moment()))
