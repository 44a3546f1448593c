"""Prompts of decisions, rendered again from stored data and compared with the digest in the journal."""

from collections.abc import Sequence

from soorma_ai.errors import ConfigError, NotFound
from soorma_ai.kernel.domain.history import JournalEntry, Said, SentPrompt
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.rules.authority import SEE_PROMPT
from soorma_ai.kernel.rules.decisions.stored_question import find_faults
from soorma_ai.kernel.rules.prompting.digests import digest_messages
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.views.plans import own_plan
from soorma_ai.kernel.runtime.views.questions import messages_as_sent, read_question


async def prompt_of(services: Services, person: Person, plan_id: str, decision: int | None) -> SentPrompt:
    """Return the messages to the model for a decision of a plan, by default the last one. Raise NotFound."""
    plan = await own_plan(services, person, plan_id, SEE_PROMPT)
    number, entry, count = await decision_of(services, plan_id, decision)
    stored = await read_question(services.store.plans, plan, entry)
    faults = find_faults(stored)
    messages: tuple[Said, ...] = ()
    try:
        messages = messages_as_sent(services.prompts, stored)
    except (ConfigError, KeyError) as error:
        if not faults:
            faults.append(f"the template cannot be filled: {error}")
    if entry.sent and not faults and _digest(messages) != entry.sent.digest:
        faults.append("the whole of it has another digest, although no part has: another version of the code fills it")
    label, form = (entry.prompt_id, entry.prompt_version), (stored.parts or {}).get(entry.offer_digest, "")
    return SentPrompt(number, count, *label, entry.model, messages, form, (*faults,))


def _digest(messages: Sequence[Said]) -> str:
    return digest_messages((said.role, said.content) for said in messages)


async def decision_of(services: Services, plan_id: str, number: int | None) -> tuple[int, JournalEntry, int]:
    """Return a decision by its number, counted from 1, or the last one; with that number, and the number of all. Raise
    NotFound."""
    count = await services.store.plans.count_decisions(plan_id)
    wanted = count if number is None else number
    found = await services.store.plans.decisions(plan_id, wanted - 1, 1) if 1 <= wanted <= count else []
    if not found:
        has = f"it has 1 to {count}" if count else "no model was asked in this plan"
        raise NotFound(f"plan {plan_id} has no decision {wanted}; {has}")
    return wanted, found[0], count
