"""Prompts of decisions, rendered again from stored data and compared with the digest in the journal."""

from collections.abc import Sequence

from soorma_ai.errors import ConfigError, NotFound
from soorma_ai.features.tracking.questions import StoredQuestion, find_faults, make_inputs, parts_in, parts_of
from soorma_ai.kernel.domain.history import JournalEntry, Said, Sent, SentPrompt
from soorma_ai.kernel.domain.people import Person
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.values import Json
from soorma_ai.kernel.rules.authority import SEE_PROMPT
from soorma_ai.kernel.rules.decisions.sent import retold_answer
from soorma_ai.kernel.rules.plans.joins import tell_results
from soorma_ai.kernel.rules.prompting.digests import digest_messages
from soorma_ai.kernel.rules.prompting.fence import fence_quotations
from soorma_ai.kernel.runtime.handling.handling import Services
from soorma_ai.kernel.runtime.views.plans import own_plan


async def prompt_of(services: Services, person: Person, plan_id: str, decision: int | None) -> SentPrompt:
    """Return the messages to the model for a decision of a plan, by default the last one. Raise NotFound."""
    plan = await own_plan(services, person, plan_id, SEE_PROMPT)
    number, entry, count = await decision_of(services, plan_id, decision)
    handled = await services.store.plans.journal(entry.key.agent, entry.key.cause_id)
    stored = await _read(services, plan, entry, [one for one in handled if one.key.ordinal < entry.key.ordinal])
    faults = find_faults(stored)
    messages: tuple[Said, ...] = ()
    try:
        messages = _fill(services, stored)
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


async def _read(
    services: Services, plan: PlanRecord, entry: JournalEntry, before: Sequence[JournalEntry]
) -> StoredQuestion:
    """Read the rows of the question's references, and no more."""
    sent, plans, tenant_id = entry.sent, services.store.plans, plan.lineage.tenant_id
    if sent is None:
        return StoredQuestion(plan, entry)
    parts = await plans.prompt_parts(tenant_id, plan.plan_id, parts_of(entry))
    named = parts_in(parts.get(sent.frame, "{}"))
    return StoredQuestion(
        plan,
        entry,
        before,
        {**parts, **await plans.prompt_parts(tenant_id, plan.plan_id, named)},
        await plans.steps(plan.plan_id) if sent.made else (),
        await _results(services, plan, sent),
    )


async def _results(services: Services, plan: PlanRecord, sent: Sent) -> Json:
    """Return the results of a trigger's join; None when they are no longer stored."""
    plans = services.store.plans
    if sent.join_id is None:
        return None
    join = await plans.expectation(sent.join_id)
    state = await plans.state(plan.plan_id)
    fired = state.joins[sent.join_id].fired if state and sent.join_id in state.joins else None
    if join is None or fired is None:
        return None
    return [*tell_results(join, await plans.branches_that_came(plan.plan_id, join.id), fired)]


def _fill(services: Services, stored: StoredQuestion) -> tuple[Said, ...]:
    """Return the messages. Raise ConfigError and KeyError for missing parts."""
    entry, prompts, parts = stored.entry, services.prompts, stored.parts or {}
    if entry.sent is None:
        return ()
    blocks = prompts.fill(parts[entry.prompt_hash], make_inputs(stored))
    messages = [Said("system", blocks["system"]), Said("user", blocks["user"])]
    refused = {one.key.ordinal: one for one in stored.before}
    for one in (refused[ordinal] for ordinal in entry.sent.after):
        told = prompts.fill(parts[entry.sent.again], {"refusal": fence_quotations(one.refusal)})
        messages += [Said("assistant", retold_answer(one)), Said("user", told["user"])]
    return (*messages,)
