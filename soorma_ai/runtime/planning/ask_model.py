"""Ask a model for one thing, judge what it says, and write every answer down before anything is done about it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from soorma_ai.core.deciding.prompt import estimate_tokens, fence
from soorma_ai.domain.history import JournalEntry, JournalKey, Verdict
from soorma_ai.domain.limits import Charge
from soorma_ai.domain.values import UNSTORABLE, Json, JsonObject, is_storable
from soorma_ai.errors import ConfigError, ContentFiltered, DecisionError, LimitExceeded, ModelRefused
from soorma_ai.ports import Message, ModelAnswer, ModelQuestion, Prompt, Reasoner
from soorma_ai.runtime.handling.execute import patiently
from soorma_ai.runtime.handling.handling import Handling

MAX_REASKS = 2

T = TypeVar("T")
_Refusal = DecisionError | LimitExceeded | ModelRefused | ContentFiltered


@dataclass(frozen=True)
class Inquiry(Generic[T]):
    """Question to a model. `judge` makes it of the JSON that was found, or of what kept it from being JSON; the
    DecisionError that it raises is told to the model by the prompt `again`. `digest` names the offer."""

    prompt: Prompt
    again: str
    schema: JsonObject
    digest: str
    judge: Callable[[Json, str], Awaitable[T]]


async def ask_model(handling: Handling, reasoner: Reasoner, inquiry: Inquiry[T]) -> T:
    """Ask with at most `MAX_REASKS` re-asks, each told precisely what was wrong with the answer before.

    Raises the last DecisionError, ModelRefused, ContentFiltered, LimitExceeded, or what the model's transport raises.
    """
    asked = [Message("system", inquiry.prompt.parts["system"]), Message("user", inquiry.prompt.parts["user"])]
    journal = await handling.services.store.plans.journal(handling.agent, handling.event.id)
    written = {entry.key: entry for entry in journal}
    fault = DecisionError("the model was not asked")
    for _ in range(MAX_REASKS + 1):
        key = JournalKey(handling.agent, handling.event.id, handling.next_call())
        if entry := written.get(key):
            judged = _declined(entry) or await _judge(inquiry, entry.value, entry.fault)
        else:
            entry, judged = await _ask(handling, reasoner, inquiry, key, asked)
        if isinstance(judged, LimitExceeded | ModelRefused | ContentFiltered):
            raise judged
        if not isinstance(judged, DecisionError):
            return judged
        fault = judged
        refusal = handling.services.prompts.render(inquiry.again, {"refusal": fence(str(fault))})
        asked += [Message("assistant", entry.raw or "(nothing)"), Message("user", refusal.parts["user"])]
    raise fault


async def _ask(
    handling: Handling, reasoner: Reasoner, inquiry: Inquiry[T], key: JournalKey, messages: Sequence[Message]
) -> tuple[JournalEntry, T | _Refusal]:
    """Charged on disk before it is sent; judged, settled and journalled, together, when the answer is there."""
    plan, store = handling.plan, handling.services.store
    prompt, most = estimate_tokens([message.content for message in messages]), reasoner.max_output_tokens
    cost = reasoner.cost_of(prompt, most)
    if cost is None and plan.limits.max_cost_usd is not None:
        raise ConfigError(f"the tree's budget is in US dollars, and the price of {reasoner.model} is not known")
    reserved = Charge(plan.root_plan_id, 1, prompt + most, cost or 0.0)
    await store.plans.reserve(reserved, plan.limits)
    try:
        answer = _storable(await reasoner.ask(ModelQuestion(tuple(messages), inquiry.schema)))
    except (ModelRefused, ContentFiltered) as declined:
        nothing = ModelAnswer("", None, declined.code, reasoner.model, 0, 0, None, 0.0)
        entry = _entry(handling, inquiry.prompt, inquiry.digest, key, nothing)
        entry = replace(entry, verdict=Verdict.DECLINED, refusal=str(declined))
        await store.plans.settle(reserved, replace(reserved, tokens=0, cost_usd=0.0), entry)
        return entry, declined
    except Exception:
        await store.plans.settle(reserved, replace(reserved, tokens=0, cost_usd=0.0), None)
        raise
    judged = await _judge(inquiry, answer.value, answer.fault)
    entry = _entry(handling, inquiry.prompt, inquiry.digest, key, answer)
    if isinstance(judged, DecisionError | LimitExceeded):
        entry = replace(entry, verdict=Verdict.REFUSED, refusal=str(judged))
    paid = reserved.cost_usd if answer.cost_usd is None else answer.cost_usd
    used = Charge(plan.root_plan_id, 1, answer.prompt_tokens + answer.completion_tokens, paid)
    # With its entry it can be written twice: the journal has room for one. Without, it would be given back twice.
    await patiently(handling.services.clock, lambda: store.plans.settle(reserved, used, entry))
    return entry, judged


def _entry(handling: Handling, prompt: Prompt, digest: str, key: JournalKey, answer: ModelAnswer) -> JournalEntry:
    return JournalEntry(
        key=key,
        plan_id=handling.plan.plan_id,
        root_plan_id=handling.plan.root_plan_id,
        prompt_id=prompt.prompt_id,
        prompt_version=prompt.version,
        prompt_hash=prompt.hash,
        offer_digest=digest,
        model=answer.model,
        raw=answer.text,
        value=answer.value,
        fault=answer.fault,
        verdict=Verdict.ACCEPTED,
        refusal="",
        prompt_tokens=answer.prompt_tokens,
        completion_tokens=answer.completion_tokens,
        cost_usd=answer.cost_usd,
        latency_ms=answer.latency_ms,
        at=handling.services.clock.now(),
    )


async def _judge(inquiry: Inquiry[T], value: Json, fault: str) -> T | DecisionError | LimitExceeded:
    try:
        return await inquiry.judge(value, fault)
    except (DecisionError, LimitExceeded) as refusal:
        return refusal


def _declined(entry: JournalEntry) -> ModelRefused | ContentFiltered | None:
    if entry.verdict is not Verdict.DECLINED:
        return None
    return ContentFiltered(entry.refusal) if entry.fault == ContentFiltered.code else ModelRefused(entry.refusal)


def _storable(answer: ModelAnswer) -> ModelAnswer:
    """The answer as the journal can hold it: one that cannot be written down cannot be used."""
    text = answer.text.encode("utf-8", "backslashreplace").decode()
    if is_storable(answer.value):
        return replace(answer, text=text)
    return replace(answer, text=text, value=None, fault=f"the answer cannot be used: {UNSTORABLE}")
