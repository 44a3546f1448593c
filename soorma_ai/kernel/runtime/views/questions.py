"""Questions to models, read from stored rows, and their messages."""

from collections.abc import Sequence

from soorma_ai.kernel.domain.history import JournalEntry, Said, Sent, Step
from soorma_ai.kernel.domain.plans import PlanRecord
from soorma_ai.kernel.domain.values import Json
from soorma_ai.kernel.ports import Prompts
from soorma_ai.kernel.ports.stored_questions import StoredQuestions
from soorma_ai.kernel.rules.decisions.sent import retold_answer
from soorma_ai.kernel.rules.decisions.stored_question import StoredQuestion, make_inputs, parts_in, parts_of
from soorma_ai.kernel.rules.plans.joins import tell_results
from soorma_ai.kernel.rules.prompting.fence import fence_quotations


async def read_question(
    plans: StoredQuestions, plan: PlanRecord, entry: JournalEntry, steps: Sequence[Step] | None = None
) -> StoredQuestion:
    """Read the rows of the question's references, and no more. `steps` are those of the plan, if they are known."""
    sent, tenant_id = entry.sent, plan.lineage.tenant_id
    handled = await plans.journal(entry.key.agent, entry.key.cause_id)
    before = [one for one in handled if one.key.ordinal < entry.key.ordinal]
    if sent is None:
        return StoredQuestion(plan, entry, before)
    parts = await plans.prompt_parts(tenant_id, plan.plan_id, parts_of(entry))
    named = parts_in(parts.get(sent.frame, "{}"))
    if steps is None:
        steps = await plans.steps(plan.plan_id) if sent.made else ()
    return StoredQuestion(
        plan,
        entry,
        before,
        {**parts, **await plans.prompt_parts(tenant_id, plan.plan_id, named)},
        steps,
        await _results(plans, plan, sent),
    )


async def _results(plans: StoredQuestions, plan: PlanRecord, sent: Sent) -> Json:
    """Return the results of a trigger's join; None when they are no longer stored."""
    if sent.join_id is None:
        return None
    join = await plans.expectation(sent.join_id)
    state = await plans.state(plan.plan_id)
    fired = state.joins[sent.join_id].fired if state and sent.join_id in state.joins else None
    if join is None or fired is None:
        return None
    return [*tell_results(join, await plans.branches_that_came(plan.plan_id, join.id), fired)]


def messages_as_sent(prompts: Prompts, stored: StoredQuestion) -> tuple[Said, ...]:
    """Return the messages by the stored templates. Raise ConfigError and KeyError for missing parts."""
    entry, parts = stored.entry, stored.parts or {}
    if entry.sent is None:
        return ()
    blocks = prompts.fill(parts[entry.prompt_hash], make_inputs(stored))
    messages = [Said("system", blocks["system"]), Said("user", blocks["user"])]
    for one in retold_entries(stored):
        told = prompts.fill(parts[entry.sent.again], {"refusal": fence_quotations(one.refusal)})
        messages += [Said("assistant", retold_answer(one)), Said("user", told["user"])]
    return (*messages,)


def retold_entries(stored: StoredQuestion) -> list[JournalEntry]:
    """Return the refused answers that a question repeats. Raise KeyError for a missing one."""
    refused = {one.key.ordinal: one for one in stored.before}
    return [refused[ordinal] for ordinal in stored.entry.sent.after] if stored.entry.sent else []
